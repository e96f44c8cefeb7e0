"""Human or machine? Accuracy, tests between models, domains and arms, signal detection, coded comments.

Docs: docs/statistics.md.
"""

from analysis.detection.coding import (
    Coded,
    LevelShare,
    ShareDifference,
    adjudicated_shares,
    final_labels,
    in_categories,
    label_agreement,
    shares_by_level,
)
from analysis.detection.crossed import OVERALL, Cell, Crossed, DomainTest, LevelPair, crossed
from analysis.detection.groups import AgainstChance, GroupDifference, against_chance, differences
from analysis.detection.judgements import (
    Judgements,
    Measures,
    breakdown,
    judgements_from_arrays,
    measures,
    score_counts,
    worker_scores,
)
from analysis.detection.published_tests import (
    Anova,
    MeanTest,
    TukeyPair,
    anova,
    mean_against,
    mean_difference,
    tukey,
)
from analysis.detection.signal import ForcedChoice, Sensitivity, forced_choice, sensitivity

__all__ = [
    "OVERALL",
    "AgainstChance",
    "Anova",
    "Cell",
    "Coded",
    "Crossed",
    "DomainTest",
    "ForcedChoice",
    "GroupDifference",
    "Judgements",
    "LevelPair",
    "LevelShare",
    "MeanTest",
    "Measures",
    "Sensitivity",
    "ShareDifference",
    "TukeyPair",
    "adjudicated_shares",
    "against_chance",
    "anova",
    "breakdown",
    "crossed",
    "differences",
    "final_labels",
    "forced_choice",
    "in_categories",
    "judgements_from_arrays",
    "label_agreement",
    "mean_against",
    "mean_difference",
    "measures",
    "score_counts",
    "sensitivity",
    "shares_by_level",
    "tukey",
    "worker_scores",
]
