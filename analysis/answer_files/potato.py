"""Potato's annotations: a person's ``annotated_instances.jsonl`` or ``user_state.json``, the table of all people
(``annotated_instances.csv`` or ``.tsv``), and the folder with one folder for each person.

Source: potato, docs/data-export/export_formats.md; example-projects/…/annotated_instances.jsonl; columns
``schema:::label`` of the table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.answer_files.elsewhere import Elsewhere, ForeignAnswer, finished
from analysis.input_errors import InputError, number_in

TOOL = "Potato"
SEPARATOR = ":::"
TABLE = ("user", "instance_id")
LINES, STATE = "annotated_instances.jsonl", "user_state.json"
_YES = ("true", "True", True, 1, "1")
_NO = ("false", "False", False, None, "", 0, "0")
_TIME = re.compile(r"(\d+)d (\d+)h (\d+)m (\d+)s")
#: Pages around the study, such as consent: no items.
_PAGE = re.compile(r"\.html$")
_TEXT_LABELS = ("text_box", "textbox", "text")


def is_table(columns: Sequence[str]) -> bool:
    """Whether these are the columns of the table of all people."""
    return set(TABLE) <= set(columns) and any(SEPARATOR in name for name in columns)


def is_lines(record: Mapping[str, Any]) -> bool:
    """Whether this is a line of ``annotated_instances.jsonl``."""
    return isinstance(record.get("label_annotations"), dict)


def is_state(content: Any) -> bool:
    """Whether this is a ``user_state.json``."""
    return isinstance(content, dict) and "instance_id_to_label_to_value" in content


def is_folder(path: Path) -> bool:
    """Whether this is an output folder, with a folder for each person."""
    return any(path.glob(f"*/{LINES}")) or any(path.glob(f"*/{STATE}"))


def read_folder(path: Path) -> Elsewhere:
    """Everybody's annotations. InputError: a file has another shape."""
    answers = Elsewhere(TOOL)
    for folder in sorted(child for child in path.iterdir() if child.is_dir()):
        if (state := folder / STATE).is_file():
            add_state(answers, str(state), _json_of(state, state.read_text(encoding="utf-8")), folder.name)
        elif (folder / LINES).is_file():
            lines = (folder / LINES).read_text(encoding="utf-8").splitlines()
            add_lines(answers, [_json_of(folder / LINES, line) for line in lines if line.strip()], folder.name)
    return finished(str(path), answers)


def read_lines(path: str, records: Sequence[Mapping[str, Any]]) -> Elsewhere:
    """One person's file. The person is the name of its folder unless the lines say."""
    answers = Elsewhere(TOOL)
    add_lines(answers, records, Path(path).resolve().parent.name)
    return finished(path, answers)


def read_state(path: str, content: Mapping[str, Any]) -> Elsewhere:
    """One person's state."""
    answers = Elsewhere(TOOL)
    add_state(answers, path, content, Path(path).resolve().parent.name)
    return finished(path, answers)


def read_table(path: str, records: Sequence[Mapping[str, Any]]) -> Elsewhere:
    """The table of all people."""
    answers = Elsewhere(TOOL)
    for record in records:
        schemes: dict[str, dict[str, Any]] = {}
        for name, value in record.items():
            scheme, separator, label = name.partition(SEPARATOR)
            if separator:
                schemes.setdefault(scheme, {})[label] = value
        data = {name: value for name, value in record.items() if name not in TABLE and SEPARATOR not in name}
        _add_item(answers, str(record["instance_id"]), data, schemes, {"worker": str(record["user"])})
    return finished(path, answers)


def add_lines(answers: Elsewhere, records: Sequence[Mapping[str, Any]], person: str) -> None:
    for record in records:
        item = str(record.get("instance_id", record.get("id")))
        of_answer = {"worker": str(record.get("user_id", person)), "seconds": _seconds(record.get("behavioral_data"))}
        answers.left_out["span"] += len(record.get("span_annotations") or ())
        _add_item(answers, item, {"text": record.get("displayed_text", "")}, record["label_annotations"], of_answer)
    answers.left_out += type(answers.left_out)()  # without those that are zero


def add_state(answers: Elsewhere, path: str, content: Any, person: str) -> None:
    if not is_state(content):
        raise InputError(path, "", "this is no user_state.json of Potato", "name the output folder of the project")
    worker = str(content.get("user_id", person))
    for item, of_item in content["instance_id_to_label_to_value"].items():
        schemes = {scheme: of_scheme.get("labels", of_scheme) for scheme, of_scheme in of_item.items()}
        _add_item(answers, item, {}, schemes, {"worker": worker})
    for of_item in (content.get("instance_id_to_span_to_value") or {}).values():
        spans = sum(len(of_scheme) for of_scheme in of_item.values())
        if spans:
            answers.left_out["span"] += spans


def _add_item(
    answers: Elsewhere,
    item: str,
    columns: Mapping[str, Any],
    schemes: Mapping[str, Mapping[str, Any]],
    of_person: Mapping[str, Any],
) -> None:
    if _PAGE.search(item):
        answers.left_out["page of the survey around the study"] += 1
        return
    answers.add_item(item, columns)
    for scheme, labels in schemes.items():
        _add_scheme(answers, labels, {**of_person, "item": item, "question": scheme})


def _add_scheme(answers: Elsewhere, labels: Mapping[str, Any], of_answer: Mapping[str, Any]) -> None:
    """The answer to one scheme. A label of a choice is true, or has itself, its column or its number as its value; a
    text box has the text."""
    scheme = of_answer["question"]
    marked = {label: value for label, value in labels.items() if value not in _NO}
    texts = {label: value for label, value in marked.items() if _is_text(scheme, label, value)}
    for label, value in texts.items():
        question = scheme if len(texts) == 1 else f"{scheme}: {label}"
        answers.answers.append(ForeignAnswer(kind="text", text=str(value), **{**of_answer, "question": question}))
    chosen = {label: value for label, value in marked.items() if label not in texts}
    if len(chosen) == 1:
        ((label, value),) = chosen.items()
        number = None if value in _YES else number_in(str(value))
        if number is not None:
            answers.answers.append(ForeignAnswer(kind="number", number=number, label=label, **of_answer))
        else:
            answers.answers.append(ForeignAnswer(kind="choice", label=label, **of_answer))
    elif chosen:
        answers.add_several(chosen, **of_answer)


def _is_text(scheme: str, label: str, value: Any) -> bool:
    if label in _TEXT_LABELS:
        return True
    is_mark = value in _YES or str(value) in (label, f"{scheme}{SEPARATOR}{label}")
    return not is_mark and number_in(str(value)) is None


def _seconds(behavior: Any) -> float | None:
    if not isinstance(behavior, dict):
        return None
    match = _TIME.search(str(behavior.get("time_string", "")))
    if match:
        days, hours, minutes, seconds = map(int, match.groups())
        return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    return number_in(str(behavior.get("time_spent", "")))


def _json_of(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(path, "", f"this is not JSON ({error})", "copy the file again") from None
