"""Stories in turns, with two models that suggest every second line (Clark 2021, ch. 4)."""

from annotation.task_types.cyoa.cyoa import Cyoa

TYPES = (Cyoa,)
