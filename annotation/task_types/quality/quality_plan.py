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

#: Items (their external ids) of each hit.
Bundles = Sequence[Sequence[str]]
_SET = "Set “Items per hit” (items_per_hit)"


def plan_quality(items: Sequence[ItemData], design: Design, rng: random.Random) -> list[PlannedHit]:
    """Every arm has the same bundles. An exam is one bundle. Texts of a single system are divided within contexts.

    Raises Invalid if a context has fewer systems than a hit has items, or some text would be in no task.
    """
    config = design.arms[0].config
    exam = [item.external_id for item in items if item.role == "exam"]
    main = [item for item in items if item.role == "main"]
    if exam and not main:
        bundles: Bundles = [exam]
        raters = design.ratings_per_item
    elif len({_system(item) for item in main}) < 2:
        bundles = _by_context(main, design.items_per_hit, rng)
        raters = design.ratings_per_item
    else:
        _refuse_if_nothing_compares(main, design.items_per_hit)
        raters = config["raters_per_task"]
        ratings = len(main) * design.ratings_per_item
        tasks = config["tasks"] or max(1, math.ceil(ratings / (design.items_per_hit * raters)))
        key = tuple((item.external_id, item.payload["context"], _system(item)) for item in main)
        bundles, unrated = _plan(key, design.items_per_hit, tasks, rng.random())
        if unrated:
            size, left = design.items_per_hit, counted(unrated, "text")
            what = f"{counted(tasks, 'task')} of {size} leave {left} of {len(main):,} without a rating."
            if config["tasks"]:
                least = math.ceil(len(main) / size)
                fix = f"Set “Number of tasks” (tasks) higher: at least {least:,} show every text once."
                raise invalid("config.tasks", what, fix)
            fix = f"Set “Ratings wanted per item” (ratings_per_item) to {design.ratings_per_item + 1} or more."
            raise invalid("ratings_per_item", what, fix)
    return [PlannedHit(bundle, raters, arm.name) for bundle in bundles for arm in design.arms]


def _system(item: ItemData) -> str:
    return str(item.payload["system"]).strip()


def _refuse_if_nothing_compares(items: Sequence[ItemData], size: int) -> None:
    """Raises Invalid unless every context has texts by at least ``size`` systems, and a hit shows several."""
    systems: dict[str, set[str]] = defaultdict(set)
    for item in items:
        systems[item.payload["context"]].add(_system(item))
    context, few = min(systems.items(), key=lambda pair: len(pair[1]))
    where = f"The context “{context[:60]}” has texts by"
    if len(few) == 1:
        what = f"{where} one system alone, and a hit compares different systems."
        raise invalid("items", what, "Add texts by other systems, or leave this context out.")
    if size == 1:
        what = "A hit with one text compares nothing, and these texts are by several systems."
        most = max(map(len, systems.values()))
        raise invalid("items_per_hit", what, f"{_SET} to a number from 2 to {most}; the published study has 5.")
    if len(few) < size:
        what = f"A hit shows texts by {size} different systems. {where} only {len(few)}."
        raise invalid("items_per_hit", what, f"{_SET} to {len(few)} or fewer, or add texts by other systems.")


def _by_context(items: Sequence[ItemData], size: int, rng: random.Random) -> Bundles:
    """Texts of one context together, in random order."""
    contexts: dict[str, list[str]] = defaultdict(list)
    for item in items:
        contexts[item.payload["context"]].append(item.external_id)
    bundles: list[list[str]] = []
    for names in contexts.values():
        rng.shuffle(names)
        bundles += [names[start : start + size] for start in range(0, len(names), size)]
    rng.shuffle(bundles)
    return bundles


@lru_cache(maxsize=8)
def _plan(
    items: tuple[tuple[str, str, str], ...], size: int, tasks: int, seed: float
) -> tuple[tuple[tuple[str, ...], ...], int]:
    """The bundles, and how many texts are in none.

    Cached, because a plan of thousands of tasks takes seconds and the console shows it on several pages.
    """
    from analysis.planning import PlanError, Sample, plan_blocks

    try:
        plan = plan_blocks([Sample(*item) for item in items], size=size, tasks=tasks, seed=str(seed))
    except PlanError as error:
        raise invalid("items", str(error), "") from None
    return tuple(block.samples for block in plan.blocks), len(plan.unrated)
