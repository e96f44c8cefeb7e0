"""A date."""

from annotation.task_types.kinds.date.date import DateQuestion

KIND = DateQuestion
__all__ = ["KIND", "DateQuestion"]
