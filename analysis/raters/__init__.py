"""What models of ratings say about each rater: how often right, how often guessing, how severe, how consistent.

These are diagnostics. Nothing here weighs ratings, or leaves any out.
"""

from analysis.raters.accuracy import modelled_accuracy
from analysis.raters.mace import Mace, competences, mace
from analysis.raters.severity import RaterSeverity, Severities, severities

__all__ = [
    "Mace",
    "RaterSeverity",
    "Severities",
    "competences",
    "mace",
    "modelled_accuracy",
    "severities",
]
