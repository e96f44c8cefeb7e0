"""Who passes the exam: workers label texts whose labels are known (Zhang et al. 2020, app. A).

The rule is data, and its result is a pure function of the labels. The type only declares the rule;
``recruiting.qualifications`` grants qualifications to those who pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from annotation.task_types.items import Json


@dataclass(frozen=True, slots=True)
class ExamRule:
    """To pass, at most ``most_wrong`` labels may be wrong, and each by at most ``most_levels`` points of the scale."""

    most_wrong: int = 1
    most_levels: float = 1.0

    @classmethod
    def of(cls, config: Json) -> ExamRule:
        return cls(config["exam_most_wrong"], float(config["exam_most_levels"]))


@dataclass(frozen=True, slots=True)
class ExamResult:
    """Of ``n`` labels, ``right`` are right; ``furthest`` is how many points the worst one is off."""

    n: int
    right: int
    furthest: float
    passed: bool


def judge(rule: ExamRule, labels: Mapping[str, float], known_labels: Mapping[str, float]) -> ExamResult | None:
    """The result of the labels ``labels`` by item. An item without a given label is wrong by more than any rule allows.
    None if no label is known: then there was no exam."""
    if not known_labels:
        return None
    distances = [abs(labels[name] - label) if name in labels else float("inf") for name, label in known_labels.items()]
    wrong = sum(distance > 0 for distance in distances)
    passed = wrong <= rule.most_wrong and max(distances) <= rule.most_levels
    return ExamResult(len(known_labels), len(known_labels) - wrong, max(distances), passed)
