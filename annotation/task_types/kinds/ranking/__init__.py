"""All options in order."""

from annotation.task_types.kinds.ranking.ranking import RankingQuestion

KIND = RankingQuestion
__all__ = ["KIND", "RankingQuestion"]
