"""Several rows, each with a scale of its own."""

from annotation.task_types.kinds.matrix.matrix import MatrixQuestion

KIND = MatrixQuestion
__all__ = ["KIND", "MatrixQuestion"]
