"""A study as the code that shows and scores it needs it: type, config, texts and items put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from annotation.models import Assignment, HitItem, Item, Study
from annotation.task_types.base import ItemData, Json, Shown, StepSpec, TaskType
from annotation.task_types.registry import get_type


@dataclass(frozen=True, slots=True)
class Instrument:
    """The task type with one study's config and texts."""

    task: TaskType
    config: Json
    texts: dict[str, str]

    @classmethod
    def of(cls, study: Study) -> Instrument:
        task = get_type(study.task_type)
        worded = {name: text for name, text in study.texts.items() if text.strip()}
        return cls(task, study.config, task.default_texts(study.config) | worded)

    def shown(self, items: Sequence[ItemData], order: Json) -> Shown:
        return Shown(items, self.config, order)

    def steps(self, shown: Shown) -> list[StepSpec]:
        return self.task.steps(shown, self.texts)


def item_data(item: Item) -> ItemData:
    return ItemData(item.external_id, item.payload)


@lru_cache(maxsize=4096)
def hit_items(hit_id: int) -> tuple[tuple[int, ItemData], ...]:
    """Database id and data of a hit's items, in order.

    Cached per process: hits are planned when a study goes live, and from then on neither they nor their items change.
    """
    places = HitItem.objects.filter(hit_id=hit_id).select_related("item").order_by("position")
    return tuple((place.item_id, item_data(place.item)) for place in places)


def shown_to(assignment: Assignment, instrument: Instrument) -> Shown:
    """What this assignment shows, in its recorded order."""
    return instrument.shown([data for _, data in hit_items(assignment.hit_id)], assignment.order)
