"""How many gold and attention items a study adds to each hit, and the time that they take."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count

from annotation.models import Item, Study
from annotation.services.checking import rules_of
from annotation.task_types.checks import ROLES
from common.words import counted


@dataclass(frozen=True, slots=True)
class CheckItems:
    """Gold or attention items: how many the study has, and how many each hit gets."""

    role: str
    n: int
    per_hit: int

    @property
    def title(self) -> str:
        return {"gold": "Gold items", "attention": "Attention items"}[self.role]

    @property
    def in_a_hit(self) -> str:
        return counted(self.per_hit, f"{self.role} item")


def check_items_of(study: Study) -> list[CheckItems]:
    """One entry for each role of which the study has items. One query."""
    rows = Item.objects.filter(study=study, role__in=ROLES).order_by().values_list("role").annotate(n=Count("pk"))
    counts = dict(rows)
    wanted, _ = rules_of(study)
    return [
        CheckItems(role, counts[role], min(int(wanted[f"{role}_per_hit"]), counts[role]))
        for role in ROLES
        if role in counts
    ]


def checks_per_hit(study: Study) -> int:
    return sum(each.per_hit for each in check_items_of(study))
