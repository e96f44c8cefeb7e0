"""Errors or other stretches marked in a text."""

from annotation.task_types.kinds.spans.spans import SpansQuestion

KIND = SpansQuestion
__all__ = ["KIND", "SpansQuestion"]
