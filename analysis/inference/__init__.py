"""Intervals and tests for figures about new items and new workers: one core for every page, command and export."""

from analysis.inference.correlation import mean_correlation
from analysis.inference.crossed import LEAST_CLUSTERS, Bounds, Dimensions, Figures, figures_from_influence, ratios
from analysis.inference.means import mean_estimate, median_estimate, sd_estimate
from analysis.inference.ranks import Ranking, holm, ranked_figures, ranking_of

__all__ = [
    "LEAST_CLUSTERS",
    "Bounds",
    "Dimensions",
    "Figures",
    "Ranking",
    "figures_from_influence",
    "holm",
    "mean_correlation",
    "mean_estimate",
    "median_estimate",
    "ranked_figures",
    "ranking_of",
    "ratios",
    "sd_estimate",
]
