"""How far texts for the same context differ, by people and by models. Docs: docs/statistics-writing.md."""

from analysis.variability.distance_matrices import KINDS, Productions, embedded, matrices
from analysis.variability.distances import cosine_matrix, ngram_distance, ngram_matrix
from analysis.variability.fit import Fit, control_fit, cross_distances, fit, self_distances, split_by_writer
from analysis.variability.views import (
    CONTROL,
    DecoderDifference,
    corpus_view,
    decoder_differences,
    fit_table,
    within_and_between,
    worst_fit,
)

__all__ = [
    "CONTROL",
    "KINDS",
    "DecoderDifference",
    "Fit",
    "Productions",
    "control_fit",
    "corpus_view",
    "cosine_matrix",
    "cross_distances",
    "decoder_differences",
    "embedded",
    "fit",
    "fit_table",
    "matrices",
    "ngram_distance",
    "ngram_matrix",
    "self_distances",
    "split_by_writer",
    "within_and_between",
    "worst_fit",
]
