"""Label Studio's exports: JSON (whole tasks), JSON-MIN and CSV (one annotation per record).

Sources: Label Studio documentation, “Label Studio Task Format” and “Export annotations”; for JSON-MIN and CSV, the
converter of label-studio-sdk (``convert_to_json_min``, ``prettify_result``, ``csv2.prepare_annotation``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.answer_files.elsewhere import Elsewhere, ForeignAnswer, as_cell, finished
from analysis.input_errors import InputError, number_in

TOOL = "Label Studio"
#: Fields of a record of JSON-MIN or CSV that are neither data nor answers.
ABOUT = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "history")
#: A record with all of these is one of JSON-MIN or CSV.
MARKS = ("annotator", "annotation_id", "lead_time")
_SPAN_KEYS = ("start", "startOffset", "labels", "hypertextlabels", "paragraphlabels")


def is_tasks(records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these are tasks of the JSON export."""
    first = records[0]
    return "data" in first and ("annotations" in first or "completions" in first)


def is_flat(columns: Sequence[str]) -> bool:
    """Whether these are the columns of JSON-MIN or CSV."""
    return set(MARKS) <= set(columns)


def read_tasks(path: str, tasks: Sequence[Mapping[str, Any]]) -> Elsewhere:
    """Whole tasks. Cancelled (skipped) annotations are left out. InputError: a task has another shape."""
    answers = Elsewhere(TOOL)
    for number, task in enumerate(tasks, start=1):
        data, annotations = task.get("data"), task.get("annotations", task.get("completions"))
        if not isinstance(data, dict) or not isinstance(annotations, list):
            raise InputError(path, f"task {number}", "it has no data or annotations", "export the project as JSON")
        item = str(task.get("id", number))
        answers.add_item(item, data)
        for annotation in annotations:
            if annotation.get("was_cancelled") or annotation.get("skipped"):
                answers.left_out["skipped annotation"] += 1
                continue
            of_annotation = _about(annotation, annotation.get("completed_by"), item)
            for result in annotation.get("result", []):
                value = result.get("value")
                if "from_name" in result and isinstance(value, dict):
                    _add(answers, value, {**of_annotation, "question": str(result["from_name"])})
                else:
                    answers.left_out[str(result.get("type", "result without a name"))] += 1
    return finished(path, answers)


def read_flat(path: str, records: Sequence[Mapping[str, Any]]) -> Elsewhere:
    """Records of one annotation each. InputError: it is not clear which columns are answers."""
    questions = _questions(records)
    if not questions:
        what = "it is not clear which columns are answers: nobody answered about the same task as another"
        raise InputError(path, "", what, "export the project as JSON instead")
    answers = Elsewhere(TOOL)
    for number, record in enumerate(records, start=1):
        item = str(record.get("id") or number)
        answers.add_item(
            item, {name: value for name, value in record.items() if name not in ABOUT and name not in questions}
        )
        of_annotation = _about(record, record.get("annotator"), item)
        for question in questions:
            for value in _unpacked(record.get(question)):
                _add(answers, value, {**of_annotation, "question": question})
    return finished(path, answers)


def _questions(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns that are answers: those with values in Label Studio's form, and those in which annotations of one
    task differ. The data of a task are the same in all of its records."""
    columns = list(dict.fromkeys(name for record in records for name in record if name not in ABOUT))
    first_of: dict[tuple[str, str], Any] = {}
    questions: dict[str, None] = {}
    for record in records:
        for name in columns:
            value = record.get(name)
            has_form = any(isinstance(part, dict) and _form(part) for part in _unpacked(value))
            if has_form or first_of.setdefault((str(record.get("id")), name), value) != value:
                questions[name] = None
    return [name for name in columns if name in questions]


def _unpacked(value: Any) -> list[Any]:
    """The single values of a cell, which is JSON in a CSV file unless it is one choice or text."""
    if isinstance(value, str) and value[:1] in "[{" and value:
        try:
            value = json.loads(value)
        except ValueError:
            return [value]
    values = value if isinstance(value, list) else [value]
    return [part for part in values if part not in (None, "")]


def _about(annotation: Mapping[str, Any], who: Any, item: str) -> dict[str, Any]:
    if isinstance(who, dict):
        who = who.get("email") or who.get("username") or who.get("id")
    seconds = number_in(as_cell(annotation.get("lead_time")))
    at = as_cell(annotation.get("updated_at") or annotation.get("created_at"))
    return {"worker": "unknown" if who in (None, "") else str(who), "item": item, "seconds": seconds, "at": at}


def _form(value: Mapping[str, Any]) -> str:
    """What kind of value this is; empty if it is none of Label Studio's."""
    if any(key in value for key in _SPAN_KEYS):
        return "span"
    forms = ("choices", "rating", "number", "text", "taxonomy", "selected", "datetime", "ranker")
    if form := next((key for key in forms if key in value), ""):
        return form
    return "region" if "x" in value or "points" in value or "rle" in value else ""


def _add(answers: Elsewhere, value: Any, of_answer: Mapping[str, Any]) -> None:
    """One value as an answer, or counted among those that are left out."""
    add = answers.answers.append
    if not isinstance(value, dict):
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
        if number is not None:
            add(ForeignAnswer(kind="number", number=float(number), **of_answer))
        else:
            add(ForeignAnswer(kind="choice", label=as_cell(value), **of_answer))
        return
    form = _form(value)
    if form == "choices" and len(value["choices"]) == 1:
        add(ForeignAnswer(kind="choice", label=str(value["choices"][0]), **of_answer))
    elif form == "choices":
        answers.add_several(map(str, value["choices"]), **of_answer)
    elif form == "taxonomy":
        answers.add_several((" > ".join(map(str, path)) for path in value["taxonomy"]), **of_answer)
    elif form in ("rating", "number"):
        add(ForeignAnswer(kind="number", number=float(value[form]), **of_answer))
    elif form == "selected":
        add(ForeignAnswer(kind="choice", label=str(value["selected"]), **of_answer))
    elif form in ("text", "datetime"):
        text = value[form] if isinstance(value[form], list) else [value[form]]
        add(ForeignAnswer(kind="text", text="\n".join(map(str, text)), **of_answer))
    else:
        answers.left_out[form or "value of an unknown kind"] += 1
