"""The tables of a study's data: the columns of each with their types, in the order in which a bundle has them.

`analysis.data.StudyData` holds each table as a frame, and a bundle as a CSV file. `annotation.results.frames` makes
their rows from the database.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, get_type_hints


class SubmissionRow(NamedTuple):
    """``decision`` is that of the latest review, or that of `analysis.data.EXTRA`. ``reward`` is an amount (USD)."""

    submission: int
    worker: str
    synthetic: bool
    profile: str
    arm: str
    hit: int
    seconds: float
    received_at: datetime
    has_feedback: bool
    decision: str
    reward: str


class ItemRow(NamedTuple):
    """``check`` has the right answers of a gold or attention item (see `quality_control.work.Check`), or is empty."""

    item: str
    role: str
    context: str
    parameter: str
    parameter_value: float
    texts: list[list[str]]
    responses: list[str]
    metrics: dict[str, float]
    wanted: int
    cells: dict[str, str]
    check: dict[str, Any] = {}


class RatingRow(NamedTuple):
    """``item`` is empty if the question is not about an item; ``value`` and ``seconds`` are NaN if missing."""

    submission: int
    item: str
    question: str
    target: str
    scale: str
    value: float
    text: str
    seconds: float


class FlagRow(NamedTuple):
    """``value`` and ``threshold`` are NaN if not recorded."""

    submission: int
    reason: str
    detail: str
    value: float = math.nan
    threshold: float = math.nan


class OfferRow(NamedTuple):
    """A live suggestion. ``step`` is the page, from 0. A float cannot hold every ``seed`` exactly, so it is text.
    ``latency`` is NaN if no text arrived."""

    submission: int
    item: str
    step: int
    round: int
    side: str
    number: int
    suggester: str
    model: str
    decoder: str
    seed: str
    source: str
    latency: float
    asked_at: datetime
    shown_at: datetime
    text: str
    chosen: bool
    switches: int


class OwnRatingRow(NamedTuple):
    """What a writer said about the text that became an item, in the study where it was written."""

    item: str
    writer: str
    question: str
    value: float


class AdjudicationRow(NamedTuple):
    """A final answer, where people settled differences: whether the option ``target`` is chosen (1 or 0)."""

    item: str
    question: str
    target: str
    value: float


class StoppedRow(NamedTuple):
    """A hit that somebody stopped for part pay: steps sent and in all (NaN if that depended on the answers), what was
    promised and what was paid (USD)."""

    worker: str
    synthetic: bool
    arm: str
    hit: int
    steps_done: int
    steps_in_all: float
    owed: str
    paid: str
    stopped_at: datetime


class QuestionnaireRow(NamedTuple):
    """One answer to a question around the tasks. ``questionnaire`` is before, comprehension or after; ``attempt``
    counts the tries of a comprehension check. ``value`` is NaN for a text. ``passed`` is yes or no where the answers
    decided whether somebody could take part, else empty; ``seconds`` is NaN if missing."""

    worker: str
    synthetic: bool
    arm: str
    questionnaire: str
    attempt: int
    question: str
    target: str
    value: float
    text: str
    passed: str
    seconds: float
    answered_at: datetime


class JudgeRow(NamedTuple):
    """A judge: a language model that answered pages beside people. ``places``: items times samples; ``again``: calls
    that repeated an answer that did not count, which ``problems`` counts by reason. ``cost`` is an amount (USD)."""

    judge: str
    model: str
    method: str
    arm: str
    state: str
    samples: int
    temperature: float
    seed: int
    items: int
    places: int
    done: int
    invalid: int
    refused: int
    calls: int
    again: int
    problems: dict[str, float]
    tokens_in: int
    tokens_out: int
    seconds: float
    cost: str


class JudgeRatingRow(NamedTuple):
    """One answer of a judge. ``side`` is that of the part it is about, as in the export “long”. ``chance`` is the
    model's probability of this value and ``chances`` that of every value, where all possible answers were scored."""

    judge: str
    item: str
    sample: int
    question: str
    target: str
    scale: str
    value: float
    text: str
    side: str
    chance: float
    chances: dict[str, float]


class TryRow(NamedTuple):
    """One rating of a page whose answers can be right or wrong, as it was sent: in the training, or to a gold or
    attention item that explains. ``role`` is the item's. ``submission`` is 0 in the training, and for work that was
    never sent. ``attempt`` counts the rounds of the training; among the tasks, 1 is the answer before the explanation
    and 2 the one after it. ``place`` is the page, from 0. ``right`` is yes, no, or empty for an answer that cannot be
    wrong; ``passed`` is yes or no on the last page of a round of the training, else empty. A page without ratings has a
    row without question; ``value`` is NaN for a text."""

    worker: str
    synthetic: bool
    arm: str
    role: str
    submission: int
    item: str
    attempt: int
    place: int
    question: str
    target: str
    value: float
    text: str
    right: str
    passed: str
    answered_at: datetime


#: A row as its type, as values in the order of its columns, or by column.
Record = tuple[Any, ...] | list[Any] | Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """A table with rows of type ``row``. Columns with a default are missing in bundles of earlier releases.

    ``attribute``: the frame of `analysis.data.StudyData` that holds it. ``optional``: bundles omit it without rows.
    """

    row: type[NamedTuple]
    attribute: str
    optional: bool = False

    @property
    def make(self) -> Callable[..., tuple[Any, ...]]:
        """Makes a row from values in order or by column."""
        return self.row

    @cached_property
    def types(self) -> dict[str, Any]:
        """The type of each column, in order."""
        return get_type_hints(self.row)

    @property
    def defaults(self) -> Mapping[str, Any]:
        """What stands for a missing cell, in the columns that may be missing."""
        return self.row._field_defaults


#: The tables by name. Each refers only to tables before it. Files of a bundle have the name with ``.csv``.
TABLES = {
    "submissions": Table(SubmissionRow, "submissions"),
    "items": Table(ItemRow, "items"),
    "ratings": Table(RatingRow, "all_ratings"),
    "flags": Table(FlagRow, "flags"),
    "offers": Table(OfferRow, "offers", optional=True),
    "own_ratings": Table(OwnRatingRow, "own_ratings", optional=True),
    "adjudications": Table(AdjudicationRow, "adjudications", optional=True),
    "stopped": Table(StoppedRow, "stopped", optional=True),
    "questionnaires": Table(QuestionnaireRow, "questionnaires", optional=True),
    "judges": Table(JudgeRow, "judges", optional=True),
    "judge_ratings": Table(JudgeRatingRow, "judge_ratings", optional=True),
    "tries": Table(TryRow, "tries", optional=True),
}
