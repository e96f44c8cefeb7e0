"""Gold and attention items at the launch: which hits get them, and what is wrong with the rules that use them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from annotation.models import Item, Study
from annotation.task_types.base import PlannedHit
from annotation.task_types.checks import ROLES as CHECK_ROLES
from annotation.task_types.items import ItemData
from annotation.work.quality_rules import rules_of
from common.problems import Problem
from common.words import counted

__all__ = ["CHECK_ROLES", "rule_problems", "with_checks"]


def with_checks(
    planned: Sequence[PlannedHit], items: Sequence[ItemData], settings: Mapping[str, Any], rng: random.Random
) -> list[PlannedHit]:
    """The hits with ``gold_per_hit`` gold and ``attention_per_hit`` attention items at random places.

    Each role's items are used in turn, in random order, so all are shown about equally often and no hit has one twice.
    """
    hits = list(planned)
    for role in CHECK_ROLES:
        names = [item.external_id for item in items if item.role == role]
        count = min(int(settings[f"{role}_per_hit"]), len(names))
        if not count:
            continue
        rng.shuffle(names)
        for number, hit in enumerate(hits):
            bundle = list(hit.items)
            for k in range(number * count, (number + 1) * count):
                bundle.insert(rng.randint(0, len(bundle)), names[k % len(names)])
            hits[number] = replace(hit, items=bundle)
    return hits


def rule_problems(study: Study) -> list[Problem]:
    """Rules that could exclude nobody, or everybody, whatever workers do."""
    quality, rules = rules_of(study)
    roles_present = set(
        Item.objects.filter(study=study, role__in=CHECK_ROLES).values_list("role", flat=True).distinct()
    )
    needs = {
        "gold": rules["gold_share_below"] is not None or "gold_wrong" in rules["flags"],
        "attention": "attention_failed" in rules["flags"],
    }
    problems = []
    for role, needed in needs.items():
        if not needed:
            continue
        if role not in roles_present:
            what = f"An exclusion rule needs an item with the role {role}, but the study has none."
            fix = f"Import items with a column {role}:TOPIC, or remove the rule."
            problems.append(Problem("exclude", what, fix))
        elif not quality[f"{role}_per_hit"]:
            what = f"An exclusion rule needs an item with the role {role}, but no hit gets one."
            problems.append(Problem("exclude", what, f"Set quality_control.{role}_per_hit to 1 or more."))
    # A hit has at least one question per item.
    seconds = quality["too_fast"]
    limit = study.time_limit_minutes * 60
    if "too_fast" in rules["flags"] and seconds is not None and seconds * study.items_per_hit >= limit:
        least = counted(study.items_per_hit, "question")
        what = (
            f"The rule too_fast would exclude everybody: {seconds:g} seconds for {least} or more are not less than the "
            f"time limit of {counted(study.time_limit_minutes, 'minute')}."
        )
        problems.append(Problem("exclude.flags", what, "Lower quality_control.too_fast, or raise the time limit."))
    return problems
