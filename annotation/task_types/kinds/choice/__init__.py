"""One of several options without an order."""

from annotation.task_types.kinds.choice.choice import ChoiceQuestion

KIND = ChoiceQuestion
__all__ = ["KIND", "ChoiceQuestion"]
