"""Answers from another tool as a study, so that a report can be made of them.

Its description holds what the file shows: the questions with the answers that occur, and nothing about how people were
recruited or paid. People appear under pseudonyms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from analysis.answer_files.elsewhere import LEVELS, Elsewhere, ForeignAnswer
from analysis.answer_files.files import CONTEXTS
from analysis.data import StudyData, make_study_data
from analysis.description import (
    TEXT,
    ArmDescription,
    Kind,
    Level,
    Point,
    QuestionDescription,
    ReportSection,
    Scale,
    StudyDescription,
)
from analysis.study_tables import ItemRow, RatingRow, SubmissionRow

_KINDS: dict[str, Kind] = {
    "number": "scale",
    "choice": "choice",
    "several": "choices",
    "text": "text",
    "rank": "ranking",
}
_YES_NO = (Point(0.0, "no"), Point(1.0, "yes"))
#: A scale with more different values than this has no points.
MOST_POINTS = 101


def study_of(path: str, elsewhere: Elsewhere) -> StudyData:
    """The study. Times of submission that the file does not contain are the time of the file."""
    when = datetime.fromtimestamp(Path(path).stat().st_mtime, UTC)
    answers = elsewhere.answers
    pairs = {pair: number for number, pair in enumerate(dict.fromkeys((one.worker, one.item) for one in answers), 1)}
    workers = {name: f"person-{number}" for number, name in enumerate(dict.fromkeys(worker for worker, _ in pairs), 1)}
    first = {(answer.worker, answer.item): answer for answer in reversed(answers)}
    submissions = [
        SubmissionRow(
            *(number, workers[pair[0]], False, "", "", number),
            seconds=math.nan if first[pair].seconds is None else float(first[pair].seconds or 0),
            received_at=first[pair].moment or when,
            has_feedback=False,
            decision="",
            reward="0",
        )
        for pair, number in pairs.items()
    ]
    ratings = [
        RatingRow(
            *(pairs[answer.worker, answer.item], answer.item, answer.question, answer.part, answer.question),
            value=math.nan if answer.number is None else answer.number,
            text=answer.text,
            seconds=math.nan,
        )
        for answer in answers
    ]
    items = [
        ItemRow(
            *(name, "main", next((cells[column] for column in CONTEXTS if cells.get(column)), ""), "", math.nan),
            texts=[],
            responses=[],
            metrics={},
            wanted=1,
            cells=cells,
        )
        for name, cells in elsewhere.items.items()
    ]
    description = _description(path, elsewhere)
    return make_study_data(description, items=items, submissions=submissions, ratings=ratings)


def _description(path: str, elsewhere: Elsewhere) -> StudyDescription:
    by_question: dict[str, list[ForeignAnswer]] = {}
    for answer in elsewhere.answers:
        by_question.setdefault(answer.question, []).append(answer)
    questions = [_question(name, answers) for name, answers in by_question.items()]
    scales = [question.topic for question in questions if question.kind == "scale"]
    per_item: dict[str, set[str]] = {}
    for answer in elsewhere.answers:
        per_item.setdefault(answer.item, set()).add(answer.worker)
    return StudyDescription(
        slug=Path(path).resolve().stem,
        title=f"{Path(path).resolve().stem} (imported from {elsewhere.tool})",
        status="closed",
        task_type="import",
        task_title=f"Imported from {elsewhere.tool}",
        summary=" ".join([f"The answers come from an export of {elsewhere.tool}.", *elsewhere.notes]),
        source="",
        ratings_per_item=max(map(len, per_item.values())),
        items_per_hit=1,
        hits_per_worker=None,
        reward=Decimal(0),
        time_limit_minutes=0,
        access="import",
        seed=1,
        arms=[ArmDescription("", Decimal(0), None, {}, {}, {})],
        imported_from=elsewhere.tool,
        questions=questions,
        sections=[ReportSection("scales", {"topics": scales})] if scales else [],
    )


def _question(name: str, answers: Sequence[ForeignAnswer]) -> QuestionDescription:
    kind = answers[0].kind
    if kind == "text":
        return QuestionDescription(name, name, TEXT, "text")
    if kind == "several":
        parts = {answer.part: answer.part for answer in answers}
        return QuestionDescription(name, name, Scale(name, "nominal", _YES_NO), "choices", targets=parts)
    labels = {answer.number: answer.label for answer in answers if answer.number is not None}
    points = tuple(Point(value, labels[value]) for value in sorted(labels))
    if kind == "number" and all(value.is_integer() for value in labels) and max(labels) - min(labels) < MOST_POINTS:
        # Points that nobody chose lie on the scale as well.
        whole = range(int(min(labels)), int(max(labels)) + 1)
        points = tuple(Point(float(value), labels.get(float(value), "")) for value in whole)
    targets = {answer.part: answer.part for answer in answers if answer.part}
    level: Level = "nominal" if LEVELS[kind] == "nominal" else "ordinal"
    return QuestionDescription(name, name, Scale(name, level, points), _KINDS[kind], targets=targets)
