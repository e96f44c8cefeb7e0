"""Agreement of several markers over all texts, with an interval about new items and new workers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations

import numpy as np

from analysis.estimate import Estimate
from analysis.inference.cluster_sums import Floats
from analysis.inference.left_out import LeftOut, interval_from_left_out
from analysis.spans.agreement import Count
from analysis.spans.marks import Span

#: With fewer items or workers there is no interval.
FEWEST = 5
LEVEL = 0.95


def pooled_f1(answers: Mapping[tuple[Hashable, str], Sequence[tuple[str, Sequence[Span]]]], count: Count) -> Estimate:
    """F1 over all pairs of workers who marked the same text, all texts together; NaN if nobody marked anything.

    ``answers``: by (item, part), the workers with their spans. ``count``: `analysis.spans.agreement.characters` or
    ``whole``, perhaps with what must be the same. The interval comes from the figure without each item, each worker and
    each answer (`analysis.inference.left_out`); none with fewer than five items or workers.
    """
    units, first, second, both, marked = [], [], [], [], []
    items: list[Hashable] = []
    workers: dict[str, int] = {}
    for (item, _), marks in answers.items():
        for (one, of_one), (other, of_other) in combinations(marks, 2):
            sums = count(of_one, of_other)
            units.append(len(items))
            first.append(workers.setdefault(one, len(workers)))
            second.append(workers.setdefault(other, len(workers)))
            both.append(2 * sums.both)
            marked.append(sums.one + sums.other)
        if len(marks) > 1:
            items.append(item)
    n = len(items)
    if not units or not sum(marked):
        return Estimate(
            math.nan, n=n, n_of="texts", note="nobody marked anything" if units else "no text has two markers"
        )
    twice, total = np.array(both, dtype=float), np.array(marked, dtype=float)
    value = float(twice.sum() / total.sum())
    codes = {name: number for number, name in enumerate(dict.fromkeys(items))}
    of_item = np.array([codes[items[unit]] for unit in units])
    pair = (np.array(first), np.array(second))
    if len(codes) < FEWEST or len(workers) < FEWEST:
        few = f"{len(codes)} items" if len(codes) < FEWEST else f"{len(workers)} workers"
        return Estimate(value, n=n, n_of="texts", note=f"based on {few} only, and an interval needs at least {FEWEST}")
    without_items = _without([of_item], twice, total)
    without_workers = _without(pair, twice, total)
    answer_codes = [np.array(units) * len(workers) + worker for worker in pair]
    low, high = interval_from_left_out(
        value, without_items, without_workers, _without(answer_codes, twice, total), ends=(0.0, 1.0), level=LEVEL
    )
    method = "F1 without each item, each worker and each answer"
    return Estimate(value, low, high, n, "texts", method=method)


def _without(codes: Sequence[np.ndarray], twice: Floats, total: Floats) -> LeftOut:
    """F1 without all pairs that have each code in one of the places."""
    _, flat = np.unique(np.concatenate(codes), return_inverse=True)
    length, places = flat.max() + 1, len(codes)
    left_twice = np.bincount(flat, np.tile(twice, places), length)
    left_total = np.bincount(flat, np.tile(total, places), length)
    with np.errstate(divide="ignore", invalid="ignore"):
        figures = (twice.sum() - left_twice) / (total.sum() - left_total)
    return LeftOut(figures, np.ones(length))
