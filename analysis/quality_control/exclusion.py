"""Rules that exclude submissions from the analysis. A study fixes them at its launch, before there are any data.

The console, the report, the exports and the API all call `excluded_by`. It does not look at a person's decisions: a
rule that was fixed in advance has no exceptions afterwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.quality_control.rules import RULE


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Which submissions to exclude: all of a worker whose share of right gold answers is below ``gold_share_below``;
    those with a flag in ``flags``; those with at least ``different_flags`` different flags of any rule."""

    gold_share_below: float | None = None
    flags: tuple[str, ...] = ()
    different_flags: int | None = None

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Exclusion:
        return cls(stored.get("gold_share_below"), tuple(stored.get("flags") or ()), stored.get("different_flags"))

    def __bool__(self) -> bool:
        return bool(self.gold_share_below is not None or self.flags or self.different_flags)

    def in_words(self) -> list[tuple[str, str]]:
        """Each rule by its key, in words."""
        rules: list[tuple[str, str]] = []
        if self.gold_share_below is not None:
            rules.append(
                ("gold_share_below", f"Fewer than {self.gold_share_below:.0%} of the worker's gold answers right")
            )
        rules += [(f"flags.{name}", f"Flag: {label_of(name)}") for name in self.flags]
        if self.different_flags:
            rules.append(("different_flags", f"At least {self.different_flags} different flags"))
        return rules


def label_of(reason: str) -> str:
    """A rule in words, such as “too fast”; the name itself if it is not a rule."""
    return RULE[reason].label.lower() if reason in RULE else reason.replace("_", " ")


def excluded_by(
    rules: Exclusion,
    *,
    worker_of: Mapping[int, str],
    flags: Iterable[tuple[int, str]],
    gold: Mapping[str, tuple[int, int]],
) -> dict[int, list[str]]:
    """By submission, the keys of the rules that exclude it, in the order of `Exclusion.in_words`.

    ``worker_of`` has every submission. ``gold`` has the right answers and all answers to gold items, by worker; a
    worker without any is not excluded for them.
    """
    reasons: dict[int, set[str]] = defaultdict(set)
    for submission, reason in flags:
        reasons[submission].add(reason)
    below = rules.gold_share_below
    poor_workers = {worker for worker, (right, n) in gold.items() if below is not None and n and right / n < below}
    excluded: dict[int, list[str]] = {}
    for submission, worker in worker_of.items():
        flagged = reasons.get(submission, set())
        keys = ["gold_share_below"] if worker in poor_workers else []
        keys += [f"flags.{name}" for name in rules.flags if name in flagged]
        if rules.different_flags and len(flagged) >= rules.different_flags:
            keys.append("different_flags")
        if keys:
            excluded[submission] = keys
    return excluded
