"""Accuracy of groups of answers, such as models, domains and arms: against chance, and against each other.

The figures are about new texts and new workers (`analysis.inference`): texts differ in how hard they are, and workers
in how well they judge. p values carry Holm's correction over the family that the caller tests together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analysis.detection.judgements import Judgements, dimensions
from analysis.estimate import Estimate
from analysis.inference import Figures, holm, ratios


@dataclass(frozen=True, slots=True)
class AgainstChance:
    """The accuracy of a group, and p of the hypothesis that it is one half; ``corrected`` by Holm over all groups."""

    group: tuple[str, ...]
    accuracy: Estimate
    p: float
    corrected: float


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """The accuracy of the first group minus that of the second; ``corrected`` by Holm over all pairs of groups."""

    first: str
    second: str
    difference: Estimate
    p: float
    corrected: float


def against_chance(judgements: Judgements, by: Sequence[str] = (), *, level: float = 0.95) -> list[AgainstChance]:
    """Each combination of values in the columns ``by`` (none: all answers), in order of first appearance.

    ValueError: no judgement. KeyError: no such column.
    """
    keys, accuracies = _by_group(judgements, by, level)
    p = [accuracies.p(index, null=0.5, bounds=(0, 1)) for index in range(len(keys))]
    return [
        AgainstChance(key, accuracies.estimate(index, bounds=(0, 1)), p[index], float(corrected))
        for index, (key, corrected) in enumerate(zip(keys, holm(p), strict=True))
    ]


def differences(judgements: Judgements, by: str, *, level: float = 0.95) -> list[GroupDifference]:
    """All pairs of groups by the column ``by``, in order of first appearance; empty if there is one group.

    Answers with an empty value are left out. ValueError: no judgement. KeyError: no such column.
    """
    keys, accuracies = _by_group(judgements.where(judgements.frame[by] != ""), [by], level)
    pairs = list(combinations(range(len(keys)), 2))
    p = [accuracies.p_difference(first, second, bounds=(-1, 1)) for first, second in pairs]
    return [
        GroupDifference(
            keys[first][0],
            keys[second][0],
            accuracies.difference(first, second, bounds=(-1, 1)),
            p[index],
            float(corrected),
        )
        for index, ((first, second), corrected) in enumerate(zip(pairs, holm(p), strict=True))
    ]


def _by_group(judgements: Judgements, by: Sequence[str], level: float) -> tuple[list[tuple[str, ...]], Figures]:
    """The groups, and the accuracy of each."""
    frame = judgements.frame
    if frame.empty:
        raise ValueError("there is no judgement")
    rows = [tuple(map(str, row)) for row in frame[list(by)].itertuples(index=False, name=None)] if by else []
    keys = list(dict.fromkeys(rows)) or [()]
    index_of_group = {key: index for index, key in enumerate(keys)}
    below = np.eye(len(keys))[[index_of_group[row] for row in rows] if by else np.zeros(len(frame), dtype=int)]
    right = frame["right"].to_numpy(dtype=float)[:, None]
    return keys, ratios(right * below, below, dimensions(judgements), level=level)
