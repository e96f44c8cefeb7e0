"""Krippendorff's α with every character of every text as a unit, at the nominal level.

A character's value for one worker is the set of what its marks have in common with ``same`` (such as their severities);
unmarked characters have the empty set. What is missing is one more unit after the text. This is not the unitizing α of
Krippendorff 1995, which weighs stretches by their length: it treats all characters alike, as the character-level
figures of Blain et al. 2023 (§3.2) do. Texts with fewer than two workers do not count. Sums are those of
`analysis.agreement.krippendorff`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from analysis.estimate import Estimate
from analysis.inference.cluster_sums import Floats
from analysis.inference.left_out import LeftOut, interval_from_left_out
from analysis.spans.marks import Span
from analysis.spans.pooled import LEVEL, Place, method_of, too_few


def character_alpha(
    answers: Mapping[Place, Sequence[tuple[str, Sequence[Span]]]],
    lengths: Mapping[Place, int],
    same: Callable[[Span], object],
) -> Estimate:
    """α over all texts together; NaN if nothing is marked, or all of everything in the same way.

    ``answers``: by (item, part), the workers with their spans; ``lengths``: the texts' characters. The interval comes
    from the figure without each item, each worker and each answer (`analysis.inference.left_out`).
    """
    shared = {place: marks for place, marks in answers.items() if len(marks) > 1}
    values = list(dict.fromkeys([frozenset(), *(value for place in shared for value in _sets(shared[place], same))]))
    numbers = {value: number for number, value in enumerate(values)}
    items: dict[Hashable, Floats] = {}
    workers: dict[str, Floats] = {}
    without_answers: list[Floats] = []
    total = np.zeros(len(values) + 1)
    for place, marks in shared.items():
        codes = np.stack([_codes(spans, lengths[place], same, numbers) for _, spans in marks])
        sums = _sums(codes, len(values))
        total += sums
        items[place[0]] = items.get(place[0], 0) + sums
        for number, (worker, _) in enumerate(marks):
            lost = sums - _sums(np.delete(codes, number, axis=0), len(values))
            workers[worker] = workers.get(worker, 0) + lost
            without_answers.append(lost)
    n = len(shared)
    value = float(_figure(total[None])[0])
    if math.isnan(value):
        note = "everything is marked in the same way, so that α is undefined" if n else "no text has two markers"
        return Estimate(math.nan, n=n, n_of="texts", note=note)
    if note := too_few(len(items), len(workers)):
        return Estimate(value, n=n, n_of="texts", note=note)
    left = [
        LeftOut(_figure(total - np.stack(list(parts))), np.ones(len(parts)))
        for parts in (list(items.values()), list(workers.values()), without_answers)
    ]
    low, high = interval_from_left_out(value, *left, ends=(-math.inf, 1.0), level=LEVEL)
    return Estimate(value, low, high, n, "texts", method=method_of("α"))


def _sets(marks: Sequence[tuple[str, Sequence[Span]]], same: Callable[[Span], object]) -> list[frozenset[object]]:
    """All values that characters of this text can have."""
    sets: list[frozenset[object]] = []
    for _, spans in marks:
        ends = sorted({place for span in spans for place in (span.start, span.end)})
        for start in ends:
            sets.append(frozenset(same(span) for span in spans if not span.missing and span.start <= start < span.end))
        sets.append(frozenset(same(span) for span in spans if span.missing))
    return sets


def _codes(
    spans: Sequence[Span], length: int, same: Callable[[Span], object], numbers: Mapping[frozenset[object], int]
) -> np.ndarray:
    """The value's number of each character, and of the place after the text."""
    codes = np.zeros(length + 1, dtype=np.int64)
    ends = sorted({0, length, *(place for span in spans for place in (span.start, span.end))})
    for start, end in pairwise(ends):
        over = frozenset(same(span) for span in spans if not span.missing and span.start <= start < span.end)
        codes[start:end] = numbers[over]
    codes[length] = numbers[frozenset(same(span) for span in spans if span.missing)]
    return codes


def _sums(codes: np.ndarray, values: int) -> Floats:
    """Disagreement, then how many times each value is there (1 + V,), of one text's codes: workers × characters."""
    sums = np.zeros(values + 1)
    workers = len(codes)
    if workers < 2:
        return sums
    present = np.unique(codes)
    counts = np.stack([(codes == value).sum(axis=0) for value in present]).astype(float)
    sums[0] = float((workers**2 - (counts**2).sum(axis=0)).sum()) / (workers - 1)
    sums[1 + present] = counts.sum(axis=1)
    return sums


def _figure(sums: Floats) -> Floats:
    """α by rows of sums (R, 1 + V)."""
    margins = sums[:, 1:]
    n = margins.sum(axis=1)
    expected = n**2 - (margins**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 1e-9, 1 - sums[:, 0] * (n - 1) / expected, np.nan)
