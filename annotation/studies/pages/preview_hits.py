"""Which hit a preview shows: the one that contains an item, as it is or will be planned."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from annotation.instrument import item_data, shown_items
from annotation.models import Arm, Hit, Item, Study
from annotation.studies import launching
from annotation.task_types.base import PlannedHit
from annotation.task_types.items import ItemData
from common.problems import Refused

#: A draft with more items is not planned again for every page of its preview.
MOST_PLANNED = 2_000


@dataclass(frozen=True, slots=True)
class PreviewedHit:
    """The items of a hit, and its number among all hits of the arm. Without a number, it is only an example."""

    items: Sequence[ItemData]
    number: int | None = None
    total: int = 0

    def place_of(self, item: Item | None) -> int | None:
        """Where the item is in the hit, from 0."""
        names = [item.external_id for item in self.items]
        return names.index(item.external_id) if item and item.external_id in names else None


def hit_with(study: Study, arm: Arm | None, item: Item | None) -> PreviewedHit | None:
    """The first hit of the arm, or the first one with ``item``. None if the study has no items.

    For an item that no hit contains, and where nothing can be planned yet, it has consecutive items.
    """
    if study.status == Study.Status.DRAFT:
        items = list(Item.objects.filter(study=study).order_by("position")[: MOST_PLANNED + 1])
        named = {item.external_id: item_data(item) for item in items}
        planned: list[PlannedHit] = []
        if 0 < len(items) <= MOST_PLANNED:
            with suppress(Refused):
                planned = launching.plan(
                    study, list(study.arms.order_by("position")), list(named.values()), seed=study.seed
                )
        bundles = [hit.items for hit in planned if hit.arm == (arm.name if arm else "")]
        for number, names in enumerate(bundles, start=1):
            if item is None or item.external_id in names:
                return PreviewedHit([named[name] for name in names], number, len(bundles))
    else:
        hits = Hit.objects.filter(study=study, arm=arm).order_by("position")
        hit = (hits.filter(places__item=item) if item else hits).first()
        if hit is not None:
            return PreviewedHit(shown_items(hit.pk), hits.filter(position__lte=hit.position).count(), hits.count())
    following = Item.objects.filter(study=study, position__gte=item.position if item else 0).order_by("position")
    example = [item_data(item) for item in following[: study.items_per_hit]]
    return PreviewedHit(example) if example else None
