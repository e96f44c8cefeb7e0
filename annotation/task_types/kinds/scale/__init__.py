"""One point of a scale."""

from annotation.task_types.kinds.scale.scale import ScaleQuestion

KIND = ScaleQuestion
__all__ = ["KIND", "ScaleQuestion"]
