"""What a task type plans: which items are shown together, in which arm, and how often."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from annotation.task_types.items import ItemData, Json


@dataclass(frozen=True, slots=True)
class ArmPlan:
    """One arm as the planner sees it: its whole config, and how many participants it should have (None: any number)."""

    name: str
    config: Json
    wanted: int | None = None


@dataclass(frozen=True, slots=True)
class Design:
    """The researcher's design of the study. There is at least one arm; a study without arms has one without a name."""

    arms: Sequence[ArmPlan]
    items_per_hit: int = 1
    ratings_per_item: int = 1


@dataclass(frozen=True, slots=True)
class PlannedHit:
    """A bundle of items (their external ids, in order) for one arm. ``reward`` None: the arm's reward."""

    items: Sequence[str]
    wanted: int
    arm: str = ""
    reward: Decimal | None = None


class Plans:
    """How a type divides items into hits. Part of `annotation.task_types.base.TaskType`."""

    def plan(self, items: Sequence[ItemData], design: Design, rng: random.Random) -> list[PlannedHit]:
        """The hits, in the order in which workers get them. Default: items are shuffled, then divided in order. Every
        arm has the same bundles."""
        ids = [item.external_id for item in items]
        rng.shuffle(ids)
        size = design.items_per_hit
        bundles = [ids[start : start + size] for start in range(0, len(ids), size)]
        return [PlannedHit(bundle, design.ratings_per_item, arm.name) for bundle in bundles for arm in design.arms]

    def left_out(self, items: Sequence[ItemData], design: Design) -> Mapping[str, Collection[str]]:
        """The main items that no arm asks for, which the plan leaves out: their external ids by why, in words that
        follow “2 items”, such as “of other domains”. All others must be in a hit. Default: none."""
        return {}
