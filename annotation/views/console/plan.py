"""What going live would start: the hits, their price, and what is still missing."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from annotation.models import Item, Study
from annotation.services.planning import reasons_not_to_publish
from annotation.task_types.registry import get_type

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at before going live. ``level`` is good, warn or bad; bad is in the way."""

    level: str
    text: str
    url_name: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The figures of the page, and ``version``, which tells whether the study is still what the page showed."""

    n_items: int
    n_hits: int
    ratings_per_item: int
    n_submissions: int
    reward: Decimal
    cost: Decimal
    least_workers: int
    checks: list[Check]
    version: str

    @property
    def blocked(self) -> bool:
        return any(check.level == "bad" for check in self.checks)


def fingerprint(study: Study) -> str:
    """Changes with anything that a form of the study shows; tells an editor that somebody else was faster."""
    shown = [
        *(str(getattr(study, field.attname)) for field in study._meta.concrete_fields if field.name not in _INNER),
        json.dumps([study.config, study.texts], sort_keys=True),
    ]
    return hashlib.sha256("\n".join(shown).encode()).hexdigest()[:16]


_INNER = ("config", "texts", "created_at", "live_at", "closed_at")


def plan_of(study: Study) -> Plan:
    ids = list(Item.objects.filter(study=study).order_by("position").values_list("external_id", flat=True))
    n_hits = _count_hits(study, ids)
    n_submissions = n_hits * study.ratings_per_item
    marker = Item.objects.filter(study=study).order_by("-pk").values_list("pk", flat=True).first()
    return Plan(
        n_items=len(ids),
        n_hits=n_hits,
        ratings_per_item=study.ratings_per_item,
        n_submissions=n_submissions,
        reward=study.reward,
        cost=(n_submissions * study.reward).quantize(CENT, ROUND_HALF_UP),
        least_workers=_least_workers(study, n_submissions),
        checks=_checks(study, len(ids)),
        version=f"{fingerprint(study)}-{len(ids)}-{marker}",
    )


def _count_hits(study: Study, ids: list[str]) -> int:
    """By the plan that going live would make: a type may bundle items in a way of its own."""
    if not ids:
        return 0
    rng = random.Random(study.seed)  # noqa: S311 - a plan, not a secret
    task = get_type(study.task_type)
    return len(task.plan(ids, items_per_hit=study.items_per_hit, config=study.config, rng=rng))


def _least_workers(study: Study, n_submissions: int) -> int:
    """Nobody does the same hit twice, nor more hits than the study allows."""
    if not n_submissions:
        return 0
    by_limit = -(-n_submissions // study.hits_per_worker) if study.hits_per_worker else 0
    return max(study.ratings_per_item, by_limit)


def _checks(study: Study, n_items: int) -> list[Check]:
    checks = [
        Check("bad", f"{found.what} {found.mend}", _place(found.field)) for found in reasons_not_to_publish(study)
    ]
    if n_items:
        checks.append(Check("good", f"{n_items:,} item{'s' if n_items != 1 else ''} imported"))
    checks.append(
        Check("good", "Workers read a consent text first")
        if study.consent.strip()
        else Check("warn", "No consent text: workers start without being asked.", "console_settings")
    )
    checks.append(
        Check("good", f"Workers can write to {study.contact}")
        if study.contact.strip()
        else Check("warn", "No contact: workers have nobody to write to.", "console_settings")
    )
    if not study.reward:
        checks.append(Check("warn", "The reward is zero: workers are not paid.", "console_settings"))
    return checks


def _place(field: str) -> str:
    """The page where a field can be mended."""
    return {"items": "console_upload", "task_type": "console_type"}.get(field, "console_settings")
