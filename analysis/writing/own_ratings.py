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
    own_ratings: ArrayLike,
    writers: ArrayLike,
    texts: ArrayLike,
    other_ratings: ArrayLike,
    workers: ArrayLike,
    *,
    level: float = 0.95,
) -> Estimate:
    """Pearson's r of the writer's own rating and the others' mean rating of each text, in [−1, 1].

    ``own_ratings`` and ``writers`` (n,): a text's rating by its writer, who may have written several. ``other_ratings``
    (N,): all other ratings, of ``texts`` (positions 0 … n−1) by ``workers``. The interval is about new writers and new
    workers. Undefined, with the reason in the note: fewer than three texts, or equal ratings on one side. ValueError:
    a text without another's rating.
    """
    own_values, names = np.asarray(own_ratings, dtype=float), pd.factorize(np.asarray(writers))[0]
    if len(own_values) < 3:
        note = "a correlation needs three texts or more"
        return Estimate(math.nan, n=len(own_values), n_of="texts", level=level, note=note)
    of_text = np.asarray(texts, dtype=np.int64)
    dimensions = Dimensions.of(writers=names[of_text], workers=workers)
    return mean_correlation(own_values, of_text, other_ratings, dimensions, kind="pearson", level=level)
