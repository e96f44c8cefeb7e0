"""γ of Mathet, Widlöcher & Métivier 2015, "The unified and holistic method gamma (γ) for inter-annotator agreement".

A mark is a unit with a category on a continuum. Two units differ by

    d(u, v) = ((|s_u − s_v| + |e_u − e_v|) / (length of u + length of v))² + (0 if the categories are the same, else 1)

(§4.2 with α = β = 1 and Δ∅ = 1); a unit that is aligned with none costs 1. The disorder of two markers is the cost of
their best alignment divided by their mean number of units (§4.3), and γ = 1 − observed / expected disorder (§5). The
expected disorder is the mean of sampled pairs: the marks of two markers, each any of the two, moved along the continuum
by a random amount and around its end, with at least half a mean unit between the two (§5.2).

Here markers are compared in pairs, because an alignment of two is exact and fast; with two markers this is the paper's
γ. Each pair's continuum is all texts that both marked, one after the other; only marks of one text are aligned with
each other. Over pairs, observed and expected costs are summed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from analysis.estimate import Estimate
from analysis.inference.cluster_sums import Floats
from analysis.spans.marks import Span
from analysis.spans.pooled import PairSums, Place

#: Sampled pairs for the expected disorder of two markers (§5.3 begins with 30).
SAMPLES = 30
#: What a unit without a partner costs.
ALONE = 1.0


@dataclass(frozen=True, slots=True)
class Units:
    """Marks as arrays (N,): first and last place on the continuum, and a category's number."""

    starts: Floats
    ends: Floats
    codes: Floats

    def __len__(self) -> int:
        return len(self.starts)

    def moved(self, by: float, length: float) -> Units:
        """All of them further by this amount, and around the end of a continuum of this length."""
        around = np.where(self.starts + by >= length, by - length, by)
        return Units(self.starts + around, self.ends + around, self.codes)


def joined_units(parts: Sequence[Units]) -> Units:
    return Units(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("starts", "ends", "codes")))


def alignment_cost(first: Units, second: Units) -> float:
    """The cost of the best alignment. Two units that cost more together than alone are both alone."""
    if not len(first) or not len(second):
        return ALONE * (len(first) + len(second))
    away = np.abs(first.starts[:, None] - second.starts) + np.abs(first.ends[:, None] - second.ends)
    lengths = (first.ends - first.starts)[:, None] + (second.ends - second.starts)
    costs = (away / lengths) ** 2 + (first.codes[:, None] != second.codes)
    costs = np.minimum(costs, 2 * ALONE)
    rows, columns = scipy.optimize.linear_sum_assignment(costs)
    return float(costs[rows, columns].sum()) + ALONE * abs(len(first) - len(second))


def disorder(first: Units, second: Units) -> float:
    return alignment_cost(first, second) / ((len(first) + len(second)) / 2)


def expected_disorder(first: Units, second: Units, length: float, rng: np.random.Generator) -> float:
    """The mean disorder of sampled pairs. At least one of the two has units."""
    both = [first, second]
    apart = float(np.mean(np.concatenate([units.ends - units.starts for units in both]))) / 2
    sampled: list[float] = []
    while len(sampled) < SAMPLES:
        one, other = (both[number] for number in rng.integers(2, size=2))
        if not len(one) and not len(other):
            continue
        shift, distance = rng.integers(int(length)), rng.uniform(apart, max(apart, length - apart))
        moved = other.moved(float((shift + int(distance)) % length), length)
        sampled.append(disorder(one.moved(float(shift), length), moved))
    return float(np.mean(sampled))


def gamma(
    answers: Mapping[Place, Sequence[tuple[str, Sequence[Span]]]],
    lengths: Mapping[Place, int],
    same: Callable[[Span], object],
    *,
    seed: int = 1,
) -> Estimate:
    """γ over all pairs of workers who marked the same texts; NaN if nobody marked anything.

    ``answers``: by (item, part), the workers with their spans; ``lengths``: the texts' characters; ``same``: the
    category of a mark. What is missing is one place after the text. The interval is that of `PairSums`, with each
    pair's expected disorder as it is in all texts.
    """
    rng = np.random.default_rng(seed)
    codes: dict[object, int] = {}
    pairs = PairSums()
    common: dict[tuple[str, str], list[tuple[int, float, Units, Units]]] = {}
    for place, marks in answers.items():
        units = [(worker, _units(spans, same, codes)) for worker, spans in sorted(marks)]
        for number, (one, of_one) in enumerate(units):
            for other, of_other in units[number + 1 :]:
                row = pairs.add(place, one, other)
                common.setdefault((one, other), []).append((row, lengths[place] + 1.0, of_one, of_other))
    for texts in common.values():
        _add_pair(pairs, texts, rng)
    return pairs.estimate("γ", lambda share: 1 - share, ends=(-np.inf, 1.0))


def _add_pair(pairs: PairSums, texts: Sequence[tuple[int, float, Units, Units]], rng: np.random.Generator) -> None:
    """Observed and expected cost of one pair in each of its texts."""
    starts = np.concatenate([[0.0], np.cumsum([length for _, length, _, _ in texts])])
    first, second = (
        joined_units(
            [
                Units(part.starts + start, part.ends + start, part.codes)
                for start, part in zip(starts[:-1], parts, strict=True)
            ]
        )
        for parts in ([text[2] for text in texts], [text[3] for text in texts])
    )
    if not len(first) and not len(second):
        return
    chance = expected_disorder(first, second, float(starts[-1]), rng)
    for row, _, of_one, of_other in texts:
        pairs.above[row] = alignment_cost(of_one, of_other)
        pairs.below[row] = chance * (len(of_one) + len(of_other)) / 2


def _units(spans: Sequence[Span], same: Callable[[Span], object], codes: dict[object, int]) -> Units:
    return Units(
        np.array([span.start for span in spans], dtype=float),
        np.array([span.end + span.missing for span in spans], dtype=float),
        np.array([codes.setdefault(same(span), len(codes)) for span in spans], dtype=float),
    )
