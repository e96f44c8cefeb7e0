"""Rules that compare a worker with everybody else in the study."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import mean, median

from analysis.quality_control.work import Answered, Finding
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
        self._answers: dict[tuple[str, str, str], dict[str, tuple[float, bool]]] = defaultdict(dict)

    def add(self, worker: str, answers: Iterable[Answered]) -> None:
        """The answers to questions about items. Texts and answers without a scale are left out."""
        for answer in answers:
            if answer.item and answer.share is not None:
                question_key = answer.item, answer.question, answer.target
                self._answers[question_key].setdefault(worker, (answer.share, answer.level == "nominal"))

    def distances(self) -> dict[str, Distance]:
        """The distance of each worker with enough answers to compare; for a nominal answer, the share who disagree."""
        distances: dict[str, list[float]] = defaultdict(list)
        for answers in self._answers.values():
            if len(answers) <= LEAST_OTHERS:
                continue
            total = sum(share for share, _ in answers.values())
            for worker, (share, nominal) in answers.items():
                other_count = len(answers) - 1
                if nominal:
                    same = sum(other_share == share for other_share, _ in answers.values()) - 1
                    distances[worker].append(1 - same / other_count)
                else:
                    distances[worker].append(abs(share - (total - share) / other_count))
        return {
            worker: Distance(mean(worker_distances), len(worker_distances))
            for worker, worker_distances in distances.items()
            if len(worker_distances) >= LEAST_COMPARED
        }


def far_from_others(distances: Mapping[str, Distance], threshold: float) -> dict[str, Finding]:
    """A finding for each worker whose distance is far above everybody's, by the modified z-score.

    z = 0.6745 (d − median) / MAD; Iglewicz & Hoaglin 1993 call values above 3.5 outliers. Needs five workers.
    """
    if len(distances) < LEAST_WORKERS:
        return {}
    middle = median(distance.value for distance in distances.values())
    spread = max(LEAST_SPREAD, median(abs(distance.value - middle) for distance in distances.values()))
    findings = {}
    for worker, distance in distances.items():
        z = NORMAL * (distance.value - middle) / spread
        if z > threshold:
            detail = (
                f"On average {distance.value:.0%} of the scale away from the others over "
                f"{counted(distance.n, 'answer')}; the median worker is {middle:.0%} away."
            )
            findings[worker] = Finding("far_from_others", detail, z, threshold)
    return findings
