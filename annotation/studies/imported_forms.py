"""Answers from another tool as a form: its settings, the rows of its items, and each person's answers to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from annotation.task_types.form.form_settings import ID
from annotation.task_types.kinds.scale.scale import MOST_POINTS
from annotation.task_types.questions import Answer
from annotation.task_types.settings import RESERVED
from common.problems import invalid

if TYPE_CHECKING:
    from analysis.answer_files.elsewhere import Elsewhere, ForeignAnswer

#: Columns that are shown with a question, by how often tools call them so. The others are stored with the items.
USUALLY_SHOWN = ("context", "prompt", "instruction", "question", "source", "text", "response", "output", "summary")
MOST_SHOWN = 6
LONGEST_TOPIC = 20
LONGEST_LABEL = 300
#: A number has at most this many digits after the point.
DECIMALS = 6
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ImportedForm:
    """``topics``: the name in the data of each question there; ``keys``: of each option of a question, by its words."""

    settings: Json
    rows: Sequence[Mapping[str, str]]
    topics: Mapping[str, str]
    keys: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, elsewhere: Elsewhere) -> ImportedForm:
        """Raises Invalid for what a form cannot ask."""
        by_question: dict[str, list[ForeignAnswer]] = {}
        for answer in elsewhere.answers:
            by_question.setdefault(answer.question, []).append(answer)
        topics = named_apart(by_question, longest=LONGEST_TOPIC, taken=RESERVED)
        keys = {
            question: named_apart((answer.part for answer in answers if answer.part), longest=LONGEST_TOPIC)
            for question, answers in by_question.items()
        }
        questions = [
            _question(question, answers, topics[question], keys[question]) for question, answers in by_question.items()
        ]
        columns = list(dict.fromkeys(name for cells in elsewhere.items.values() for name in cells))
        others = [name for name in columns if _NAME.fullmatch(name) and name != ID]
        shown = ([name for name in USUALLY_SHOWN if name in columns] or others)[:MOST_SHOWN]
        rows = []
        for name, cells in elsewhere.items.items():
            # A column that is named like the id gets another name.
            row = {f"{column}_there" if column == ID else column: cell for column, cell in cells.items()}
            rows.append({ID: name, **row} if shown else {ID: name, ITEM: name, **row})
        settings = {
            "texts": [],
            "shown": [{"field": name, "heading": "", "as": "text"} for name in shown or [ITEM]],
            "questions": questions,
        }
        return cls(settings, rows, topics, keys)

    def answers(self, given_by_one: Iterable[ForeignAnswer]) -> dict[str, Answer]:
        """One person's answers about one item, by the name of the field on the form's page."""
        answers: dict[str, Any] = {}
        ranks: dict[str, dict[str, float]] = {}
        for answer in given_by_one:
            key = self.topics[answer.question]
            if answer.kind == "several":
                chosen = answers.setdefault(key, [])
                chosen += [self.keys[answer.question][answer.part]] if answer.part and answer.number else []
            elif answer.kind == "rank":
                ranks.setdefault(key, {})[self.keys[answer.question][answer.part]] = answer.number or 0
            elif answer.kind == "text":
                answers |= {key: answer.text} if answer.text.strip() else {}
            elif answer.number is not None:
                answers[key] = answer.number
        return answers | {key: sorted(places, key=places.__getitem__) for key, places in ranks.items()}


#: The column that is shown if the file has no columns that a form can show.
ITEM = "item"


def named_apart(labels: Iterable[str], *, longest: int, taken: Iterable[str] = ()) -> dict[str, str]:
    """A name in the data for each text: its letters and digits, with a number where two would be the same."""
    names: dict[str, str] = {}
    used = set(taken)
    for label in dict.fromkeys(labels):
        plain = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")
        plain = (plain if plain[:1].isalpha() else f"q_{plain}".strip("_"))[:longest].strip("_")
        name, number = plain, 2
        while name in used:
            ending = f"_{number}"
            name, number = plain[: longest - len(ending)] + ending, number + 1
        used.add(name)
        names[label] = name
    return names


def _question(name: str, answers: Sequence[ForeignAnswer], topic: str, keys: Mapping[str, str]) -> Json:
    """The record of a question. It need not be answered, because not everybody answered everything."""
    record: Json = {"topic": topic, "question": name, "required": False, "of": "item"}
    kind = answers[0].kind
    if kind == "text":
        return record | {"kind": "text"}
    options = [{"key": key, "label": label[:LONGEST_LABEL]} for label, key in keys.items()]
    if kind == "several":
        return record | {"kind": "choices", "options": options}
    if kind == "rank":
        _refuse_ties(name, answers, len(options))
        return record | {"kind": "ranking", "options": options}
    labels = {answer.number: answer.label for answer in answers if answer.number is not None}
    if kind == "choice":
        chosen = [{"value": f"{value:g}", "label": labels[value][:LONGEST_LABEL]} for value in sorted(labels)]
        # A choice of which only one option was ever chosen: nobody knows the others.
        chosen += [{"value": "0", "label": "(not in the file)"}] if len(chosen) == 1 else []
        return record | {"kind": "choice", "options": chosen}
    # A scale from the lowest to the highest whole number that occurs; a number where these are too many or none.
    low, high = min(labels), max(labels)
    if all(value.is_integer() for value in labels) and high - low < MOST_POINTS:
        points = [low + place for place in range(max(2, int(high - low) + 1))]
        names = [labels.get(point, "")[:120] for point in points]
        record |= {"kind": "scale", "points": len(points), "first": low}
        return record | ({"labels": names} if any(names) else {})
    return record | {"kind": "number", "decimals": DECIMALS}


def _refuse_ties(name: str, answers: Sequence[ForeignAnswer], options: int) -> None:
    ranks: dict[tuple[str, str], list[float]] = {}
    for answer in answers:
        ranks.setdefault((answer.worker, answer.item), []).append(answer.number or 0)
    for (_, item), given in ranks.items():
        if sorted(given) != [float(rank) for rank in range(1, options + 1)]:
            what = f"In “{name[:60]}”, somebody ranked the options of item {item[:40]} with ties or gaps."
            fix = "A study holds whole rankings only. Remove this question from the file, or analyse the file itself."
            raise invalid("file", what, f"{fix} (python -m analysis reads it as it is)")
