"""Preferences: forced choices, systems whose samples were shown together, strengths, agreement, quality and diversity.

Docs: docs/statistics.md.
"""

from analysis.preference.bradley_terry import Strengths, bradley_terry
from analysis.preference.comparisons import (
    Comparisons,
    SystemScores,
    comparison_dimensions,
    comparisons_from_choices,
    comparisons_from_ratings,
    outcome_table,
    ranked,
    system_scores,
)
from analysis.preference.forced_choices import (
    Choices,
    Majorities,
    Preference,
    binomial_test,
    count_choices,
    majorities,
    preference,
    win_share,
)
from analysis.preference.likelihood_trap import Bin, Quadratic, TwoLines, binned_means, quadratic_turn, two_lines
from analysis.preference.pair_agreement import pair_cohen, pair_fleiss
from analysis.preference.style_control import StyleControl, relative_differences, style_control
from analysis.preference.tradeoff import Tradeoff, quality_diversity, system_entropy

__all__ = [
    "Bin",
    "Choices",
    "Comparisons",
    "Majorities",
    "Preference",
    "Quadratic",
    "Strengths",
    "StyleControl",
    "SystemScores",
    "Tradeoff",
    "TwoLines",
    "binned_means",
    "binomial_test",
    "bradley_terry",
    "comparison_dimensions",
    "comparisons_from_choices",
    "comparisons_from_ratings",
    "count_choices",
    "majorities",
    "outcome_table",
    "pair_cohen",
    "pair_fleiss",
    "preference",
    "quadratic_turn",
    "quality_diversity",
    "ranked",
    "relative_differences",
    "style_control",
    "system_entropy",
    "system_scores",
    "two_lines",
    "win_share",
]
