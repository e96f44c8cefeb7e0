"""The shared input checks of all tests of scores against labels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from analysis.diversity.association import Bools, Floats
from analysis.estimate import LARGEST
from analysis.inference import orders_alike

CONSTANT_SCORES = "all scores are the same, so they have no correlation with anything"


class LabelError(ValueError):
    """The labels, not the scores, make the test impossible."""


def paired_columns(scores: ArrayLike, labels: ArrayLike, name: str = "label") -> tuple[Floats, Floats]:
    """Both as finite float vectors (n,), n of 3 or more; ValueError otherwise."""
    x, y = np.asarray(scores, dtype=float), np.asarray(labels, dtype=float)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"needs one score and one {name} each, not shapes {x.shape} and {y.shape}")
    if len(x) < 3:
        raise ValueError(f"needs at least 3 scores, not {len(x)}")
    for values, what in ((x, "score"), (y, name)):
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise ValueError(f"{len(bad)} of {len(x)} {what}s are missing or infinite, the first at position {bad[0]}")
    return x, y


def without_noise(values: Floats) -> Floats:
    """Values rounded at the twelfth digit of the largest, so that 0.6 − 0.9 and 0.3 − 0.6 tie.

    For differences and means: otherwise the last bits, which depend on the order of a sum, would decide ranks.
    """
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    if not largest:
        return values
    digits = 11 - math.floor(math.log10(largest))
    return np.round(values, digits) if -290 < digits < 290 else values


def high_class(labels: Floats) -> Bools:
    """Which labels are the larger of the two classes, (n,); LabelError unless there are exactly two classes."""
    classes = np.unique(labels)
    if len(classes) == 1:
        raise LabelError(f"all labels are {classes[0]:g}: two classes are needed")
    if len(classes) > 2:
        span = f"{classes[0]:g} to {classes[-1]:g}"
        raise LabelError(f"labels must hold two classes, not {len(classes)} values from {span}")
    return np.asarray(labels == classes[1])


def is_constant(values: Floats) -> bool:
    return bool((values == values[0]).all())


def note_on_ranks(scores: Floats, labels: Floats) -> str:
    """What a reader of ρ must know: there is none, or it is the largest possible. Otherwise nothing."""
    if is_constant(scores):
        return CONSTANT_SCORES
    return LARGEST if orders_alike(scores, labels) else ""
