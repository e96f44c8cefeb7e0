"""Preferences between two things: counts, shares with intervals, tests, majorities. Docs: docs/statistics.md."""

from analysis.preference.choices import (
    Choices,
    Majorities,
    binomial_test,
    count_choices,
    majorities,
    preference_share,
    win_share,
)

__all__ = [
    "Choices",
    "Majorities",
    "binomial_test",
    "count_choices",
    "majorities",
    "preference_share",
    "win_share",
]
