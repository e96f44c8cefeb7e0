"""Slogans, with suggestions at the press of a button (Clark 2021, §2.5)."""

from annotation.task_types.slogan.slogan import Slogan

TYPES = (Slogan,)
