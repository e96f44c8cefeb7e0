"""Rules that compare a worker with everybody else in the study."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import mean, median

from analysis.quality_control.work import Answered, Found
from common.words import counted

#: A worker is compared on at least this many answers, each with at least two answers by others.
LEAST_COMPARED, LEAST_OTHERS, LEAST_WORKERS = 10, 2, 5
#: Scales the median absolute deviation to the standard deviation of a normal distribution.
NORMAL = 0.6745
#: The spread between careful workers is taken to be at least this share of the scale.
LEAST_SPREAD = 0.01


@dataclass(frozen=True, slots=True)
class Distance:
    """How far a worker's answers are from those of the others: the mean, as a share of the scale, over ``n``."""

    value: float
    n: int


class Crowd:
    """Collects everybody's answers to the same questions, one worker's answer to each counted once."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str, str], dict[str, tuple[float, bool]]] = defaultdict(dict)

    def add(self, worker: str, answers: Iterable[Answered]) -> None:
        """The answers to questions about items. Texts and answers without a scale are left out."""
        for each in answers:
            if each.item and each.share is not None:
                unit = each.item, each.question, each.target
                self._given[unit].setdefault(worker, (each.share, each.level == "nominal"))

    def distances(self) -> dict[str, Distance]:
        """The distance of each worker with enough answers to compare; for a nominal answer, the share who disagree."""
        apart: dict[str, list[float]] = defaultdict(list)
        for given in self._given.values():
            if len(given) <= LEAST_OTHERS:
                continue
            total = sum(share for share, _ in given.values())
            for worker, (share, nominal) in given.items():
                others = len(given) - 1
                if nominal:
                    same = sum(other == share for other, _ in given.values()) - 1
                    apart[worker].append(1 - same / others)
                else:
                    apart[worker].append(abs(share - (total - share) / others))
        return {
            worker: Distance(mean(each), len(each)) for worker, each in apart.items() if len(each) >= LEAST_COMPARED
        }


def far_from_others(distances: Mapping[str, Distance], threshold: float) -> dict[str, Found]:
    """A finding for each worker whose distance is far above everybody's, by the modified z-score.

    z = 0.6745 (d − median) / MAD; Iglewicz & Hoaglin 1993 call values above 3.5 outliers. Needs five workers.
    """
    if len(distances) < LEAST_WORKERS:
        return {}
    middle = median(each.value for each in distances.values())
    spread = max(LEAST_SPREAD, median(abs(each.value - middle) for each in distances.values()))
    found = {}
    for worker, each in distances.items():
        z = NORMAL * (each.value - middle) / spread
        if z > threshold:
            detail = (
                f"On average {each.value:.0%} of the scale away from the others over {counted(each.n, 'answer')}; the "
                f"median worker is {middle:.0%} away."
            )
            found[worker] = Found("far_from_others", detail, z, threshold)
    return found
