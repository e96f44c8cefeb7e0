"""From ratings to findings: levels of factors compared on a criterion. Docs: docs/comparisons.md."""

from analysis.findings.answers import Answers, level_codes
from analysis.findings.comparison import (
    MOST_LEVELS,
    Comparison,
    Difference,
    LevelResult,
    compare_levels,
)

__all__ = [
    "MOST_LEVELS",
    "Answers",
    "Comparison",
    "Difference",
    "LevelResult",
    "compare_levels",
    "level_codes",
]
