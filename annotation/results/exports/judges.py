"""The export of judges: one row per answer of a language model, with the item's own columns.

`python -m analysis judges` reads it beside people's answers. No other export has a row of a judge.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from analysis.answer_files.columns import named_apart
from annotation.instrument import Instrument
from annotation.models import Item, JudgeAnswer, JudgeRating, Study
from annotation.record_writers import Record, Sheet
from annotation.results.exports.items import merged_columns
from annotation.results.exports.request import ExportError, Request
from annotation.results.row_pages import pages_by_pk
from annotation.studies.provenance import provenance_columns
from annotation.task_types.registry import get_type

BATCH = 2_000
BEFORE = ("study", "judge", "model", "method", "arm", "item")
AFTER = ("sample", "criterion", "part", "scale", "value", "label", "answer_text", "side", "chance", "chances")
_TEXTS = ("study", "judge", "model", "method", "arm", "item", "criterion", "part", "scale", "label", "answer_text")
_FIELDS = (
    *("pk", "judge__name", "judge__model__name", "judge__method", "judge__arm__name", "item_id", "place__sample"),
    *("question", "target", "scale", "value", "text", "side", "chance", "chances"),
)


def has_judges(study: Study) -> bool:
    """Whether a judge of the study has answered anything."""
    return JudgeAnswer.objects.filter(place__judge__study=study).exists()


def judges_sheet(request: Request) -> Sheet:
    """In the order in which the answers were given. Raises ExportError if no judge has answered."""
    study = request.study
    if not has_judges(study):
        raise ExportError("No judge has answered in this study. Start one with: manage.py study judge")
    task, origins = get_type(study.task_type), provenance_columns(study)
    cells: dict[int, tuple[str, dict[str, str]]] = {}
    rows = Item.objects.filter(judge_ratings__judge__study=study).distinct().order_by("position")
    for pk, name, payload in rows.values_list("pk", "external_id", "payload"):
        cells[pk] = name, {**task.export_columns(payload), **origins.get(pk, {})}
    own = merged_columns(columns for _, columns in cells.values())
    names = [*BEFORE, *named_apart(own, (*BEFORE, *AFTER)), *AFTER]
    words = [index for index, column in enumerate(names) if column in _TEXTS or column not in (*BEFORE, *AFTER)]

    def batches() -> Iterator[list[Record]]:
        instrument = Instrument.of(study)
        described = instrument.task.describe_questions(instrument.config, instrument.texts)
        labels = {
            (question.topic, point.value): point.label
            for question in described
            for point in question.ratings_scale.points
        }
        ratings = JudgeRating.objects.filter(judge__study=study).order_by("pk").values_list(*_FIELDS)
        for page in pages_by_pk(ratings, BATCH):
            records: list[Record] = []
            for _, judge, model, method, arm, item, sample, question, target, scale, value, text, side, *stated in page:
                name, columns = cells.get(item, ("", {}))
                chance, chances = stated
                label = "" if value is None else labels.get((question, value), "")
                before = [study.slug, judge, model, method, arm, name, *(columns.get(column, "") for column in own)]
                after = [sample, question, target, scale, value, label, text, side, chance]
                records.append([*before, *after, json.dumps(chances) if chances else ""])
            yield records

    return Sheet(names, words, batches())
