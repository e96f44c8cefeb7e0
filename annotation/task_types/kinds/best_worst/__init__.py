"""The best and the worst of several texts or options."""

from annotation.task_types.kinds.best_worst.best_worst import BestWorstQuestion

KIND = BestWorstQuestion
__all__ = ["KIND", "BestWorstQuestion"]
