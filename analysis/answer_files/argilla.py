"""Argilla's records: nested, as ``to_json`` writes them, or flat, as ``to_datasets`` and the Hub have them.

Source: argilla (Apache-2.0), ``records/_resource.py`` (``Record.to_dict``) and ``records/_io/_generic.py``
(``GenericIO``): nested ``responses: {question: [{value, user_id}]}``; flat ``question.responses``,
``question.responses.users`` and ``question.responses.status``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.answer_files.elsewhere import Elsewhere, ForeignAnswer, finished
from analysis.input_errors import InputError

TOOL = "Argilla"
_RESPONSES, _USERS, _STATUS = ".responses", ".responses.users", ".responses.status"
_OURS = (_RESPONSES, _USERS, _STATUS, ".suggestion", ".suggestion.score", ".suggestion.agent")
_ABOUT = ("id", "status", "inserted_at", "updated_at", "_server_id")
#: Responses with another status were not handed in.
_SUBMITTED = ("submitted", None)


def is_records(records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these are Argilla's records, nested or flat."""
    first = records[0]
    nested = isinstance(first.get("fields"), dict) and isinstance(first.get("responses"), dict)
    return nested or any(name.endswith(_USERS) for name in first)


def read_records(path: str, records: Sequence[Mapping[str, Any]]) -> Elsewhere:
    """InputError: a record has another shape, or no response was submitted."""
    answers = Elsewhere(TOOL)
    for number, record in enumerate(records, start=1):
        item = str(record.get("id") or record.get("_server_id") or number)
        if isinstance(record.get("responses"), dict):
            columns, responses = {**record["fields"], **(record.get("metadata") or {})}, _nested(record)
        else:
            columns = {name: cell for name, cell in record.items() if name not in _ABOUT and not name.endswith(_OURS)}
            responses = _flat(record)
        answers.add_item(item, columns)
        try:
            for question, value, user, status in responses:
                if status not in _SUBMITTED:
                    answers.left_out[f"{status} response"] += 1
                elif value is not None:
                    _add(answers, value, {"worker": str(user), "item": item, "question": question})
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            what = f"its responses have another shape ({error})"
            raise InputError(path, f"record {number}", what, "export with dataset.records.to_json()") from None
    return finished(path, answers)


def _nested(record: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any, Any]]:
    for question, responses in record["responses"].items():
        for response in responses or []:
            yield question, response["value"], response.get("user_id"), response.get("status")


def _flat(record: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any, Any]]:
    for name, values in record.items():
        if name.endswith(_RESPONSES) and values:
            question = name.removesuffix(_RESPONSES)
            users = record[question + _USERS]
            states = record.get(question + _STATUS) or [None] * len(values)
            for value, user, status in zip(values, users, states, strict=True):
                yield question, value, user, status


def _add(answers: Elsewhere, value: Any, of_answer: Mapping[str, Any]) -> None:
    """A label, a rating, a text, several labels, a ranking; spans are counted."""
    add = answers.answers.append
    if isinstance(value, bool | str):
        add(ForeignAnswer(kind="choice", label=str(value), **of_answer))
    elif isinstance(value, int | float):
        add(ForeignAnswer(kind="number", number=float(value), **of_answer))
    elif all(isinstance(part, str) for part in value):
        answers.add_several(value, **of_answer)
    elif all("rank" in part for part in value):
        for part in value:
            add(ForeignAnswer(kind="rank", part=str(part["value"]), number=float(part["rank"]), **of_answer))
    else:
        answers.left_out["span"] += len(value)
