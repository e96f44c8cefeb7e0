"""An answer in the worker's own words."""

from annotation.task_types.kinds.text.text import TextQuestion

KIND = TextQuestion
__all__ = ["KIND", "TextQuestion"]
