"""How long suggestions take, how long writers wait for them, and where the texts come from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

#: Where a text comes from: written in time, asked again, from the pool, none at all.
SOURCES = ("live", "second_try", "pool", "none")


@dataclass(frozen=True, slots=True)
class Waits:
    """``n`` suggestions: ``shares`` by source (in the order of SOURCES), and seconds at two percentiles.

    ``latency_50`` and ``latency_95``: from asking to the text, over the suggestions with a text.
    ``waited_50`` and ``waited_95``: from asking until the page showed it, over all. NaN without a value.
    """

    n: int
    counts: dict[str, int]
    shares: dict[str, float]
    latency_50: float
    latency_95: float
    waited_50: float
    waited_95: float


def waits(sources: Sequence[str], latency: ArrayLike, waited: ArrayLike) -> Waits:
    """Summarise suggestions, each with its source and its seconds (NaN if unknown), all (n,).

    Percentiles are linear between values (NumPy's default). ValueError: a source that is not in SOURCES, or lists of
    different lengths.
    """
    unknown = next((source for source in sources if source not in SOURCES), None)
    if unknown is not None:
        raise ValueError(f"“{unknown}” is not a source of suggestions; there are {', '.join(SOURCES)}")
    seconds = [np.asarray(values, dtype=float) for values in (latency, waited)]
    if any(len(values) != len(sources) for values in seconds):
        raise ValueError("sources, latency and waited must have the same length")
    counts = {name: sum(source == name for source in sources) for name in SOURCES}
    n = len(sources)
    shares = {name: count / n if n else math.nan for name, count in counts.items()}
    percentiles: list[float] = []
    for values in seconds:
        finite = values[~np.isnan(values)]
        percentiles += np.quantile(finite, (0.5, 0.95)).tolist() if len(finite) else [math.nan, math.nan]
    return Waits(n, counts, shares, *percentiles)
