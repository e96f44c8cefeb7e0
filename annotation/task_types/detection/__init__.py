"""Human or machine? Texts by people and by one model, one at a time (Clark 2021, ch. 6)."""

from annotation.task_types.detection.detection import Detection

TYPES = (Detection,)
