"""Writers' ratings of their own texts against other people's ratings of the same texts.

Source: Clark 2021, §2.6.4–5: Pearson's r, for each scale.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.estimate import Estimate
from analysis.inference import Dimensions, mean_correlation


def own_against_others(
    own: ArrayLike,
    writers: ArrayLike,
    texts: ArrayLike,
    others: ArrayLike,
    workers: ArrayLike,
    *,
    level: float = 0.95,
) -> Estimate:
    """Pearson's r of the writer's own rating and the others' mean rating of each text, in [−1, 1].

    ``own`` and ``writers`` (n,): a text's rating by its writer, who may have written several. ``others`` (N,): all
    other ratings, of ``texts`` (positions 0 … n−1) by ``workers``. The interval is about new writers and new workers.
    Undefined, with the reason in the note: fewer than three texts, or equal ratings on one side. ValueError: a text
    without another's rating.
    """
    mine, names = np.asarray(own, dtype=float), pd.factorize(np.asarray(writers))[0]
    if len(mine) < 3:
        note = "a correlation needs three texts or more"
        return Estimate(math.nan, n=len(mine), n_of="texts", level=level, note=note)
    of_text = np.asarray(texts, dtype=np.int64)
    dimensions = Dimensions.of(writers=names[of_text], workers=workers)
    return mean_correlation(mine, of_text, others, dimensions, kind="pearson", level=level)
