"""The columns of the export ``long``: their names, and the cells of items under names of their own."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.answer_files.columns import (
    ANSWER,
    ARM_FACTOR,
    ITEM,
    PART,
    PART_TEXT_2,
    RESERVED,
    SUBMISSION,
    USE,
    WHO,
    WORKER,
    WORKER_FACTOR,
    named_apart,
)
from analysis.description import Factor, arm_level
from annotation.models import Arm, Item, Study
from annotation.results.answers_around_tasks import worker_factors
from annotation.results.exports.items import merged_columns
from annotation.studies.provenance import Origin, provenance_columns
from annotation.task_types.base import TaskType
from annotation.task_types.items import Json
from annotation.task_types.placements import Placements
from annotation.task_types.registry import UnknownTaskType, get_type

#: Payloads that are read at once to find the names of their columns.
BATCH = 500
#: Cells that are no words: numbers, times, and what is always one of a few words of ours.
_NO_WORDS = (
    *("submission", "synthetic", "role", "about", "item_position", "part_position", "side", "scale_level", "scale_low"),
    *("scale_high", "value", "seconds", "included", "confirmation"),
    *("submitted_at", "submission_seconds", "place", "hit", "slot", "ordinal", "attempt", "order"),
)


class LongColumns:
    """The columns of one study's file, and the cells of its items and arms in their order."""

    def __init__(self, study: Study, arms: Sequence[Arm], *, with_worker_ids: bool) -> None:
        self.task = type_of(study)
        #: What answers with an item are about: the item, or what their worker wrote for it.
        self.about = "own" if self.task.own_work else "item"
        self._origins = provenance_columns(study)
        levels = arm_factors(study, arms)
        factors = list(levels)
        #: Questions around the tasks whose answers are levels of the worker.
        self.worker_questions = worker_factors(study)
        self.arm_cells = {arm.pk: [arm.name, *(of_arm[arm.pk] for of_arm in levels.values())] for arm in arms}
        payloads = Item.objects.filter(study=study).order_by("position").values_list("payload", flat=True)
        self._item_columns = merged_columns(self.task.export_columns(payload) for payload in payloads.iterator(BATCH))
        self._origin_columns = sorted({name for origin in self._origins.values() for name in origin})
        own_names = named_apart(self._item_columns, {*RESERVED, *(f"{ARM_FACTOR}{factor}" for factor in factors)})
        part_text_2 = [PART_TEXT_2] if self.task.part_texts > 1 else []
        text = PART.index("part_text") + 1
        self.names = [
            *WHO,
            *(f"{ARM_FACTOR}{factor}" for factor in factors),
            *(f"{WORKER_FACTOR}{question.topic}" for question in self.worker_questions),
            *(*ITEM, *own_names, *self._origin_columns),
            *(*PART[:text], *part_text_2, *PART[text:]),
            *(*ANSWER, *USE, *SUBMISSION),
            *(WORKER if with_worker_ids else ()),
        ]
        self.words = [index for index, name in enumerate(self.names) if name not in _NO_WORDS]
        #: For an answer about no item.
        self.no_item = [""] * (len(ITEM) + len(own_names) + len(self._origin_columns))

    def item_cells(self, pk: int, name: str, role: str, payload: Json) -> list[str]:
        """An item's id, role, own columns and provenance."""
        cells = self.task.export_columns(payload)
        origin: Origin = self._origins.get(pk, {})
        return [
            *(name, role),
            *(cells.get(column, "") for column in self._item_columns),
            *(origin.get(column, "") for column in self._origin_columns),
        ]


class MissingType(Placements):
    """What is known of items and answers if the study's type is not installed: its data can be exported anyway."""

    own_work = False

    def factors(self, config: Json) -> Sequence[Factor]:
        return ()

    def export_columns(self, payload: Json) -> dict[str, str]:
        """The item as columns, if the general reader made its payload."""
        cells = {name: str(payload.get(name, "")) for name in payload.get("columns", ())}
        return cells | {str(name): str(cell) for name, cell in payload.get("extra", ())}


def type_of(study: Study) -> TaskType | MissingType:
    try:
        return get_type(study.task_type)
    except UnknownTaskType:
        return MissingType()


def arm_factors(study: Study, arms: Sequence[Arm]) -> dict[str, dict[int, str]]:
    """By factor, the level of every arm by its number: factors that arms name, then what the type says arms differ in,
    if they do."""
    named = dict.fromkeys(name for arm in arms for name in sorted(arm.factors))
    offered = [factor.name for factor in type_of(study).factors(study.config) if factor.of == "arm"]
    levels = {
        name: {arm.pk: arm_level(name, arm.factors, {**study.config, **arm.config}) for arm in arms}
        for name in dict.fromkeys([*named, *offered])
    }
    return {name: of_arm for name, of_arm in levels.items() if name in named or len({*of_arm.values()} - {""}) > 1}
