"""One token drawn from one distribution, with its exact log-probabilities: the reference for sampling.

Written independently, in NumPy and row by row: the end of text barred, temperature, truncation, renormalisation, then
the inverse of the cumulative distribution in the order of token numbers. Where tokens tie with the last one kept, all
of them are kept, so that the distribution does not depend on the order of a sort.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from generation.decoding.decoders import Decoder

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
# What is sorted first of a vocabulary; it grows eightfold until the mass is reached.
FIRST_SORTED = 256


def draw(
    logits: Floats, decoder: Decoder, uniform: float, *, barred: Collection[int] = ()
) -> tuple[int, float, float | None]:
    """The token that ``uniform`` in [0, 1) decides, its log p and its log q (None for greedy).

    ``logits``: one float32 for each token, as the model gives them. ``barred``: tokens that cannot be drawn.
    """
    highest = logits.max()
    log_sum = float(highest) + float(np.log(np.exp(logits - highest).sum(dtype=np.float64)))
    scores = logits
    if barred:
        scores = logits.copy()
        scores[list(barred)] = -np.inf
    if not decoder.samples:
        token = int(scores.argmax())
        return token, float(logits[token]) - log_sum, None
    if decoder.temperature != 1.0:
        scores = scores / np.float32(decoder.temperature)
    weights = np.exp(scores - scores.max())
    weights[~_kept(scores, weights, decoder)] = 0.0
    cumulative = np.cumsum(weights, dtype=np.float64)
    total = float(cumulative[-1])
    token = int(np.searchsorted(cumulative, min(uniform * total, total * (1 - 1e-12)), side="right"))
    log_q = float(scores[token] - scores.max()) - float(np.log(total))
    return token, float(logits[token]) - log_sum, log_q


def _kept(scores: Floats, weights: Floats, decoder: Decoder) -> Bools:
    possible: Bools
    if decoder.top_k is not None and decoder.top_k < scores.size:
        possible = scores >= np.partition(scores, -decoder.top_k)[-decoder.top_k]
        if decoder.top_p is not None:  # of what top_k keeps
            rest = np.where(possible, weights, np.float32(0))
            possible = rest >= -_at_mass(-rest, rest, decoder.top_p)
    elif decoder.min_p is not None:
        possible = weights >= np.float32(decoder.min_p) * weights.max()
    elif decoder.top_p is not None and decoder.top_p < 1:
        possible = weights >= -_at_mass(-weights, weights, decoder.top_p)
    elif decoder.typical is not None and decoder.typical < 1:
        total = weights.sum(dtype=np.float64)
        surprise = np.float32(np.log(total)) - (scores - scores.max())
        entropy = float(np.sum(weights * np.where(weights > 0, surprise, 0), dtype=np.float64) / total)
        distance = np.abs(surprise - np.float32(entropy))
        possible = distance <= _at_mass(distance, weights, decoder.typical)
    else:
        possible = np.isfinite(scores)
    return possible


def _at_mass(order: Floats, weights: Floats, mass: float) -> float:
    """The value in ``order`` (sorted from its smallest) of the first token with which the weights reach their share."""
    needed = mass * weights.sum(dtype=np.float64)
    count = min(FIRST_SORTED, order.size)
    while True:
        first = np.argpartition(order, count - 1)[:count] if count < order.size else np.arange(order.size)
        first = first[np.argsort(order[first], kind="stable")]
        summed = np.cumsum(weights[first], dtype=np.float64)
        if summed[-1] >= needed or count == order.size:
            return float(order[first[min(int((summed < needed).sum()), count - 1)]])
        count = min(8 * count, order.size)
