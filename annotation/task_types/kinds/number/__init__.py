"""A number that people type."""

from annotation.task_types.kinds.number.number import NumberQuestion

KIND = NumberQuestion
__all__ = ["KIND", "NumberQuestion"]
