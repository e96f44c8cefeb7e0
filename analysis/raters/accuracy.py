"""How often each rater gives the class that Dawid & Skene's model takes for the true one."""

from __future__ import annotations

import numpy as np

from analysis.agreement.dawid_skene import dawid_skene
from analysis.agreement.ratings import Data, FloatArray, Ratings, as_ratings
from analysis.estimate import SEED, Estimate
from analysis.raters.without_units import GROUPS, shares_without_units

#: Added to every cell of the confusions, so that a few ratings do not make a rater certain.
SMOOTHING = 0.1


def modelled_accuracy(
    data: Data, *, groups: int = GROUPS, seed: int = SEED, confidence: float = 0.95, smoothing: float = SMOOTHING
) -> dict[object, Estimate]:
    """For each rater, the mean probability that an answer is the true class of its unit, by `dawid_skene`.

    Nominal values. A rater's own answers count in the classes, as in the model. Errors as in `dawid_skene`.
    """
    ratings = as_ratings(data)

    def accuracies(part: Ratings) -> FloatArray:
        posterior = dawid_skene(part, smoothing=smoothing).posterior
        right = posterior[part.unit, part.code]
        sizes = np.bincount(part.rater, minlength=len(part.raters)).astype(np.float64)
        sizes[sizes == 0] = np.nan
        return np.asarray(np.bincount(part.rater, weights=right, minlength=len(part.raters)) / sizes)

    estimates = shares_without_units(
        ratings, accuracies, name="Dawid and Skene’s model", groups=groups, seed=seed, confidence=confidence
    )
    return dict(zip(ratings.raters.tolist(), estimates, strict=True))
