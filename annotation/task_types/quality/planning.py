"""The tasks of a quality study: texts of one context by different systems, as `analysis.planning` balances them."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

from annotation.task_types.base import Design, PlannedHit
from annotation.task_types.items import ItemData
from common.problems import invalid
from common.words import counted

Bundles = list[list[str]]


def plan_quality(items: Sequence[ItemData], design: Design, rng: random.Random) -> list[PlannedHit]:
    """Every arm has the same bundles. An exam is one bundle. Texts of a single system are divided within contexts.

    Raises Invalid if a context has fewer systems than a hit has items, or some text would be in no task.
    """
    config = design.arms[0].config
    exam = [item.external_id for item in items if item.role == "exam"]
    main = [item for item in items if item.role == "main"]
    if exam and not main:
        bundles, wanted = [exam], design.ratings_per_item
    elif len({_system(item) for item in main}) < 2:
        bundles, wanted = _by_context(main, design.items_per_hit, rng), design.ratings_per_item
    else:
        wanted = config["raters_per_task"]
        tasks = config["tasks"] or _tasks(len(main), design, wanted)
        key = tuple((item.external_id, item.payload["context"], _system(item)) for item in main)
        bundles = _balanced(key, design.items_per_hit, tasks, rng.random())
    return [PlannedHit(bundle, wanted, arm.name) for bundle in bundles for arm in design.arms]


def _system(item: ItemData) -> str:
    return str(item.payload["system"]).strip()


def _tasks(items: int, design: Design, raters: int) -> int:
    return max(1, math.ceil(items * design.ratings_per_item / (design.items_per_hit * raters)))


def _by_context(items: Sequence[ItemData], size: int, rng: random.Random) -> Bundles:
    """Texts of one context together, in random order."""
    contexts: dict[str, list[str]] = defaultdict(list)
    for item in items:
        contexts[item.payload["context"]].append(item.external_id)
    bundles = []
    for names in contexts.values():
        rng.shuffle(names)
        bundles += [names[start : start + size] for start in range(0, len(names), size)]
    rng.shuffle(bundles)
    return bundles


@lru_cache(maxsize=8)
def _plan(items: tuple[tuple[str, str, str], ...], size: int, tasks: int, seed: float) -> tuple[tuple[str, ...], ...]:
    """Cached, because a plan of thousands of tasks takes seconds and the console shows it on several pages."""
    from analysis.planning import PlanError, Sample, plan_blocks

    try:
        plan = plan_blocks([Sample(*item) for item in items], size=size, tasks=tasks, seed=str(seed))
    except PlanError as error:
        raise invalid("items", str(error), "") from None
    if plan.unrated:
        what = (
            f"{counted(tasks, 'task')} of {size} leave {counted(len(plan.unrated), 'text')} of {len(items):,} without "
            "a rating."
        )
        fewest = math.ceil(len(items) / size)
        raise invalid("config.tasks", what, f"Plan more tasks. At least {fewest:,} are needed to show every text once.")
    return tuple(block.samples for block in plan.blocks)


def _balanced(items: tuple[tuple[str, str, str], ...], size: int, tasks: int, seed: float) -> Bundles:
    return [list(bundle) for bundle in _plan(items, size, tasks, seed)]
