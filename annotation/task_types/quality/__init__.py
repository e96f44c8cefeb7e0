"""How good is a continuation? Five texts of one context by five systems (Zhang et al. 2020, §4.1)."""

from annotation.task_types.quality.quality import Quality

TYPES = (Quality,)
