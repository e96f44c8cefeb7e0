"""Quality against diversity: each system's score beside the entropy of its samples. Source: Zhang et al. 2020, §3–4."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from analysis.estimate import Estimate
from analysis.inference import Dimensions, mean_estimate


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """Scores by entropy: ``points`` (system, score, entropy) with rising entropy; ``spearman`` is ρ, no interval."""

    points: list[tuple[str, Estimate, Estimate]]
    spearman: Estimate


def system_entropy(
    systems: ArrayLike, contexts: ArrayLike, log_q: ArrayLike, *, level: float = 0.95
) -> dict[str, Estimate]:
    """The conditional entropy of each system in nats: −mean log q at each context, averaged over contexts.

    All (N,), one row per sample: ``log_q`` is its log-probability under the system's own distribution (truncated and
    renormalised), NaN if missing and then left out. Contexts count alike, and the interval is about new contexts. A
    system without any log q is left out. ValueError: lengths differ.
    """
    columns = {"system": np.asarray(systems).astype(str), "context": np.asarray(contexts).astype(str)}
    frame = pd.DataFrame(columns | {"log_q": np.asarray(log_q, dtype=float)}).dropna()
    means = frame.groupby(["system", "context"], sort=True)["log_q"].mean().reset_index()
    return {
        str(name): replace(
            mean_estimate(-rows["log_q"], Dimensions.of(contexts=rows["context"]), level=level), n_of="contexts"
        )
        for name, rows in means.groupby("system", sort=True)
    }


def quality_diversity(scores: Mapping[str, Estimate], entropies: Mapping[str, Estimate]) -> Tradeoff:
    """Systems that have both a score and an entropy, and Spearman's ρ between the two.

    ρ is NaN with fewer than 3 systems or if either side has one value only; systems are few and chosen by the
    researcher, so it has no interval. ValueError: no system has both.
    """
    systems = [name for name in scores if name in entropies]
    if not systems:
        raise ValueError("no system has both a score and an entropy")
    systems.sort(key=lambda name: (entropies[name].value, name))
    points = [(name, scores[name], entropies[name]) for name in systems]
    x = [entropy.value for _, _, entropy in points]
    y = [score.value for _, score, _ in points]
    if len(systems) < 3 or len(set(x)) < 2 or len(set(y)) < 2:
        rho = Estimate(math.nan, n=len(systems), n_of="systems", note="ρ needs 3 systems or more that differ")
    else:
        value = float(scipy.stats.spearmanr(x, y).statistic)
        rho = Estimate(value, n=len(systems), n_of="systems", method="Spearman’s ρ over systems, no interval")
    return Tradeoff(points, rho)
