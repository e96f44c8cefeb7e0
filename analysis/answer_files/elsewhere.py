"""Answers that people gave in other tools, in the form of the export ``long``.

A reader of a tool's files makes an `Elsewhere`: who answered what about which item. What cannot become an answer here,
such as a marked span, is counted by what it is, so that nothing is lost silently.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

import pandas as pd

from analysis.answer_files.columns import RESERVED, named_apart
from analysis.answer_files.rows import Column, RowsFile, taken
from analysis.input_errors import InputError, number_in
from common.words import counted

Kind = Literal["number", "choice", "several", "text", "rank"]
#: The level of measurement of each kind.
LEVELS: dict[Kind, str] = {
    "number": "ordinal",
    "choice": "nominal",
    "several": "nominal",
    "text": "text",
    "rank": "ordinal",
}


@dataclass(frozen=True, slots=True)
class ForeignAnswer:
    """One answer of one person to one question about one item. ``part``: an option that was ranked or could be chosen.

    ``label``: the words of a choice; ``number``: of a rating or rank. ``seconds`` and ``at``: of the whole annotation.
    """

    worker: str
    item: str
    question: str
    kind: Kind
    part: str = ""
    number: float | None = None
    label: str = ""
    text: str = ""
    seconds: float | None = None
    at: str = ""

    @property
    def moment(self) -> datetime | None:
        """``at``, in UTC if it names no time zone; None if it is not a time."""
        try:
            moment = datetime.fromisoformat(self.at)
        except ValueError:
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(slots=True)
class Elsewhere:
    """What a file of another tool contains. ``items``: the columns of every item. ``left_out``: what is no answer
    here, by what it is."""

    tool: str
    answers: list[ForeignAnswer] = field(default_factory=list)
    items: dict[str, dict[str, str]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def add_item(self, name: str, columns: Mapping[str, Any]) -> None:
        """Columns of an item, as text; lists and objects as JSON."""
        cells = self.items.setdefault(name, {})
        for column, value in columns.items():
            cells.setdefault(str(column), as_cell(value))

    def add_several(self, chosen: Iterable[str], **of_answer: Any) -> None:
        """Each option that was chosen, or that none was. `finished` adds the other options."""
        options = list(chosen)
        for option in options:
            self.answers.append(ForeignAnswer(kind="several", part=option, number=1.0, label="yes", **of_answer))
        if not options:
            self.answers.append(ForeignAnswer(kind="several", number=0.0, label="no", **of_answer))

    @property
    def notes(self) -> list[str]:
        """What was left out, in words."""
        return [f"{counted(number, what)} left out." for what, number in sorted(self.left_out.items())]


def as_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)


def finished(path: str, elsewhere: Elsewhere) -> Elsewhere:
    """The same with each person's last answer, the options of several choices that they did not tick, and questions
    whose choices are all numbers as numbers. InputError: there are no answers."""
    if not elsewhere.answers:
        left_out = f" ({' '.join(elsewhere.notes)})" if elsewhere.left_out else ""
        raise InputError(path, "", f"there are no answers in this {elsewhere.tool} export{left_out}", "export more")
    # Somebody who answers twice has changed their mind.
    last = {(one.worker, one.item, one.question, one.part): one for one in elsewhere.answers}
    if repeated := len(elsewhere.answers) - len(last):
        elsewhere.left_out["earlier answer to the same question"] += repeated
    elsewhere.answers = _with_numbers(_with_options(list(last.values())))
    return elsewhere


def _with_options(answers: list[ForeignAnswer]) -> list[ForeignAnswer]:
    """For every person and item, all options of a question with several choices: 1 if chosen, else 0.

    Where others chose several, a single choice is one of several, too.
    """
    with_several = {answer.question for answer in answers if answer.kind == "several"}
    answers = [
        replace(answer, kind="several", part=answer.label, number=1.0, label="yes")
        if answer.kind == "choice" and answer.question in with_several
        else answer
        for answer in answers
    ]
    options: dict[str, dict[str, None]] = {}
    for answer in answers:
        if answer.kind == "several":
            options.setdefault(answer.question, {})[answer.part] = None
    complete = [answer for answer in answers if answer.kind != "several"]
    groups: dict[tuple[str, str, str], dict[str, ForeignAnswer]] = {}
    for answer in answers:
        if answer.kind == "several":
            groups.setdefault((answer.worker, answer.item, answer.question), {})[answer.part] = answer
    for (worker, item, question), chosen in groups.items():
        first = next(iter(chosen.values()))
        for option in (name for name in options[question] if name):
            complete.append(
                chosen.get(option)
                or ForeignAnswer(worker, item, question, "several", option, 0.0, "no", "", first.seconds, first.at)
            )
    return complete


def _with_numbers(answers: list[ForeignAnswer]) -> list[ForeignAnswer]:
    """Choices whose labels are all numbers, or begin with different ones (“5 - very good”), are points of a scale.

    Other choices get numbers in the order of their labels.
    """
    labels: dict[str, dict[str, None]] = {}
    for answer in answers:
        if answer.kind == "choice":
            labels.setdefault(answer.question, {})[answer.label] = None
    values: dict[tuple[str, str], float] = {}
    numeric: set[str] = set()
    for question, of_question in labels.items():
        points = [_leading_number(label) for label in of_question]
        if None not in points and len(set(points)) == len(points):
            numeric.add(question)
        for code, label in enumerate(sorted(of_question), start=1):
            number = _leading_number(label) if question in numeric else float(code)
            values[question, label] = 0.0 if number is None else number
    return [
        replace(
            answer,
            kind="number" if answer.question in numeric else "choice",
            number=values[answer.question, answer.label],
        )
        if answer.kind == "choice"
        else answer
        for answer in answers
    ]


def _leading_number(label: str) -> float | None:
    words = label.replace(":", " ").replace("-", " ", 1 if not label.startswith("-") else 0).split()
    return number_in(words[0].rstrip(".)")) if words else None


def answers_of(path: str, elsewhere: Elsewhere) -> RowsFile:
    """The answers as a file that every command reads."""
    frame = pd.DataFrame([answer_cells(answer) for answer in elsewhere.answers])
    frame["submission"] = frame.groupby(["worker", "item"], sort=False).ngroup() + 1
    ends = frame[frame["value"].notna()].groupby("criterion")["value"].agg(["min", "max"])
    for column, end in (("scale_low", "min"), ("scale_high", "max")):
        frame[column] = [repr(float(ends.loc[name, end])) if name in ends.index else "" for name in frame["criterion"]]
    fixed = {"study": elsewhere.tool, "arm": "", "role": "main", "about": "item", "scale": "", "why_not": ""}
    frame = frame.assign(**fixed, synthetic=False, included=True)
    columns: dict[str, Column] = {str(name): partial(frame.__getitem__, name) for name in frame.columns}
    own = list(dict.fromkeys(name for cells in elsewhere.items.values() for name in cells))
    for name, own_name in zip(own, named_apart(own, {*RESERVED, *columns}), strict=True):
        cells_of = {item: cells.get(name, "") for item, cells in elsewhere.items.items()}
        columns[own_name] = partial(taken, cells_of, frame["item"])
    rows = RowsFile(path, columns)
    rows.notes = elsewhere.notes
    return rows


def answer_cells(answer: ForeignAnswer) -> dict[str, Any]:
    """One row of the export ``long``."""
    return {
        "worker": answer.worker,
        "item": answer.item,
        "criterion": answer.question,
        "part": answer.part,
        "scale_level": LEVELS[answer.kind],
        "value": answer.number,
        "label": answer.label,
        "answer_text": answer.text,
        "seconds": answer.seconds,
        "submitted_at": answer.at,
    }
