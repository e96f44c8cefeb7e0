"""A study as the code that shows and scores it needs it: type, config, texts and items put together.

What is cached here, per process, is what never changes once a study is live: config, texts, hits and items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from annotation.models import Assignment, Item, Study
from annotation.services import sql
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


@lru_cache(maxsize=256)
def live_instrument(study_id: int) -> Instrument:
    """The instrument of a study that has gone live; never call this for a draft, which may still change."""
    return Instrument.of(Study.objects.get(pk=study_id))


def item_data(item: Item) -> ItemData:
    return ItemData(item.external_id, item.payload)


_HIT_ITEMS = """
SELECT i.id, i.external_id, i.payload FROM annotation_hititem p JOIN annotation_item i ON i.id = p.item_id
WHERE p.hit_id = %s ORDER BY p.position
"""


@lru_cache(maxsize=20_000)
def hit_items(hit_id: int) -> tuple[tuple[int, ItemData], ...]:
    """Database id and data of a hit's items, in order. Hits are planned when a study goes live."""
    return tuple(
        (pk, ItemData(external_id, sql.from_json(Item, "payload", payload)))
        for pk, external_id, payload in sql.fetch_all(_HIT_ITEMS, hit_id)
    )


def shown_items(hit_id: int) -> list[ItemData]:
    return [data for _, data in hit_items(hit_id)]


def shown_to(assignment: Assignment, instrument: Instrument) -> Shown:
    """What this assignment shows, in its recorded order."""
    return instrument.shown(shown_items(assignment.hit_id), assignment.order)


def clear_caches() -> None:
    """Forget everything; for tests, whose databases come and go within one process."""
    live_instrument.cache_clear()
    hit_items.cache_clear()
