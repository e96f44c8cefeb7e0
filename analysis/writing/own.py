"""Writers' ratings of their own texts against other people's ratings of the same texts.

Source: Clark 2021, §2.6.4–5: Pearson's r, for each scale.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from analysis.diversity.association import Floats, pearson_draws
from analysis.diversity.resampling import Bootstrap, bootstrap_estimate
from analysis.estimate import Estimate


def own_against_others(own: ArrayLike, others: ArrayLike, writers: ArrayLike, *, plan: Bootstrap) -> Estimate:
    """Pearson's r of the writer's own rating and the others' mean rating of each text, all (n,), in [−1, 1].

    The interval resamples writers with all their texts. Texts without both ratings (NaN) are left out. Undefined, with
    the reason in the note: fewer than three texts, or equal ratings on one side. ValueError: shapes differ.
    """
    left, right, names = (np.asarray(each) for each in (own, others, writers))
    if not left.shape == right.shape == names.shape or left.ndim != 1:
        raise ValueError(f"needs three lists of one length, not {left.shape}, {right.shape} and {names.shape}")
    left, right = left.astype(float), right.astype(float)
    kept = ~(np.isnan(left) | np.isnan(right))
    left, right, names = left[kept], right[kept], names[kept]
    n = len(left)
    if n < 3:
        return Estimate(math.nan, n=n, n_of="texts", level=plan.level, note="a correlation needs three texts or more")

    def r(weights: Floats) -> Floats:
        return pearson_draws(left, right, weights)

    value = float(r(np.ones((1, n)))[0])
    if math.isnan(value):
        return Estimate(math.nan, n=n, n_of="texts", level=plan.level, note="the ratings on one side are all equal")
    several = len(set(names.astype(str).tolist()))
    if several < 2:
        note = "no interval from a single writer"
        return Estimate(value, n=n, n_of="texts", level=plan.level, note=note)
    found = bootstrap_estimate(value, r, n, plan, groups=names)
    method = f"percentile bootstrap over {several:,} writers, {plan.draws} resamples" if plan.draws else found.method
    return replace(found, n_of="texts", method=method)
