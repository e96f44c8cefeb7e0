"""One text, several statements on one scale (Clark 2021, §2.6.2)."""

from annotation.task_types.likert.types import Likert

TYPES = (Likert,)
