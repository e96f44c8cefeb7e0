"""A recording, and how much of it was played."""

from annotation.task_types.kinds.playing.playing import PlayingQuestion

KIND = PlayingQuestion
__all__ = ["KIND", "PlayingQuestion"]
