"""One text, several statements on one scale (Clark 2021, §2.6.2)."""

from annotation.task_types.likert.likert import Likert

TYPES = (Likert,)
