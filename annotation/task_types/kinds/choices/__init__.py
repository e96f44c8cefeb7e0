"""Any number of options."""

from annotation.task_types.kinds.choices.choices import ChoicesQuestion

KIND = ChoicesQuestion
__all__ = ["KIND", "ChoicesQuestion"]
