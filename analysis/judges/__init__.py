"""Judges, such as language models, beside people: how well they agree with them, and estimates that use both."""

from analysis.judges.alignment import AlternativeTest, alternative_annotator_test, with_the_others, with_the_people
from analysis.judges.powered import PoweredLevel, PoweredLevels, powered_levels

__all__ = [
    "AlternativeTest",
    "PoweredLevel",
    "PoweredLevels",
    "alternative_annotator_test",
    "powered_levels",
    "with_the_others",
    "with_the_people",
]
