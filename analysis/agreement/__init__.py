"""Agreement between raters: coefficients, reliability of means, workers. Docs: docs/statistics.md."""

from analysis.agreement.cohen import cohen_kappa, mean_cohen_kappa
from analysis.agreement.dawid_skene import DawidSkene, class_shares, dawid_skene
from analysis.agreement.gwet import gwet_ac1, gwet_ac2
from analysis.agreement.icc import icc
from analysis.agreement.kappa import fleiss_kappa, percent_agreement
from analysis.agreement.krippendorff import krippendorff_alpha
from analysis.agreement.ratings import (
    Counts,
    Data,
    Ratings,
    counts_from_table,
    ratings_from_arrays,
    ratings_from_frame,
    ratings_from_matrix,
)
from analysis.agreement.reliability import ceiling_of_means, noise_ceiling, spearman_brown, split_half
from analysis.agreement.votes import accuracy, majority_vote
from analysis.agreement.workers import worker_diagnostics

__all__ = [
    "Counts",
    "Data",
    "DawidSkene",
    "Ratings",
    "accuracy",
    "ceiling_of_means",
    "class_shares",
    "cohen_kappa",
    "counts_from_table",
    "dawid_skene",
    "fleiss_kappa",
    "gwet_ac1",
    "gwet_ac2",
    "icc",
    "krippendorff_alpha",
    "majority_vote",
    "mean_cohen_kappa",
    "noise_ceiling",
    "percent_agreement",
    "ratings_from_arrays",
    "ratings_from_frame",
    "ratings_from_matrix",
    "spearman_brown",
    "split_half",
    "worker_diagnostics",
]
