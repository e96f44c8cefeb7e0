"""McDiv nuggets: the sets on which distinct-n cannot separate the classes.

Source: Tevet & Berant 2021, McDiv nuggets. Shapes: one score and one class label per set, both (n,).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from analysis.diversity.association import Ints
from analysis.diversity.checks import high_class, paired_columns
from analysis.estimate import SEED


def nuggets(scores: ArrayLike, labels: ArrayLike, *, group_size: int = 40, seed: int = SEED) -> Ints:
    """Positions of the chosen sets, ascending, (m,), with equal numbers of both classes.

    All sets are sorted by ``scores`` (distinct-n; equal scores keep their order) and cut into groups of ``group_size``,
    the last of which may be smaller. Each group contributes equal numbers of both classes, as many as the rarer class
    has, drawn without replacement. The same seed gives the same sets. A group with only one class contributes none.

    Raises ValueError for fewer than 3 sets, unequal lengths, NaN or infinity, not exactly two classes, or a
    ``group_size`` below 2.
    """
    if group_size < 2:
        raise ValueError(f"a group needs 2 sets or more to hold both classes, not {group_size}")
    x, y = paired_columns(scores, labels)
    high = high_class(y)
    rng = np.random.default_rng(seed)
    order = np.argsort(x, kind="stable")
    chosen = [np.empty(0, dtype=np.int64)]
    for start in range(0, len(order), group_size):
        group = order[start : start + group_size]
        classes = group[high[group]], group[~high[group]]
        size = min(len(members) for members in classes)
        chosen.extend(rng.choice(members, size, replace=False) for members in classes)
    return np.sort(np.concatenate(chosen)).astype(np.int64)
