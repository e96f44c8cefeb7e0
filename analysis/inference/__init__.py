"""Intervals and tests for figures about new items and new workers: one core for every page, command and export."""

from analysis.inference.contrasts import LEAST_CLUSTERS, Bounds, Contrasts, bounds_of_difference
from analysis.inference.correlation import mean_correlation, orders_alike
from analysis.inference.crossed import Figures, figures_from_influence, ratios
from analysis.inference.dimensions import Dimensions
from analysis.inference.level_design import LevelDesign
from analysis.inference.level_figures import LevelFigures
from analysis.inference.means import mean_estimate, median_estimate, sd_estimate
from analysis.inference.ranks import Ranking, holm, ranked_figures, ranking_of

__all__ = [
    "LEAST_CLUSTERS",
    "Bounds",
    "Contrasts",
    "Dimensions",
    "Figures",
    "LevelDesign",
    "LevelFigures",
    "Ranking",
    "bounds_of_difference",
    "figures_from_influence",
    "holm",
    "mean_correlation",
    "mean_estimate",
    "median_estimate",
    "orders_alike",
    "ranked_figures",
    "ranking_of",
    "ratios",
    "sd_estimate",
]
