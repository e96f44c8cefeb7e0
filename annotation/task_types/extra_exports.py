"""Exports that one task type alone has, such as the table that a published script reads.

A type lists them in ``TaskType.extra_exports``. `annotation.results.exports` offers them, reads the data and
writes the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from annotation.task_types.items import Json


@dataclass(frozen=True, slots=True)
class RatingRow:
    """One rating. ``item`` is the item's external id, empty for a rating of none."""

    item: str
    question: str
    target: str
    value: float | None
    text: str


@dataclass(frozen=True, slots=True)
class OfferRow:
    """One live suggestion that a page showed about ``item``. ``text`` is empty if none came; ``number`` counts the
    times its side was asked.

    The rest is text as a file has it, empty if unknown: what wrote it, its ``tokens`` and why it ended; ``seconds``:
    those of the model, ``waited``: those from asking to the text.
    """

    item: str
    round: int
    side: str
    number: int
    suggester: str
    text: str
    chosen: bool
    model: str = ""
    decoder: str = ""
    seed: str = ""
    source: str = ""
    asked_at: str = ""
    waited: str = ""
    tokens: str = ""
    finish_reason: str = ""
    seconds: str = ""


@dataclass(frozen=True, slots=True)
class SubmissionRows:
    """One submission that counts in the analysis, with its ratings and offers in the order in which they arrived.

    ``number`` and ``worker`` (a pseudonym) are as in the other exports.
    """

    ratings: list[RatingRow]
    offers: list[OfferRow]
    number: int = 0
    worker: str = ""


@dataclass(frozen=True, slots=True)
class ExtraExport:
    """A tab-separated table. Its cells are written as they are, because a program reads them.

    ``fits`` says whether a study with these settings has the table, ``refusal`` what to tell those that do not.
    ``rows`` makes the rows from the study's settings and all its submissions in order. Take one submission after the
    other: the file is streamed.
    """

    name: str
    columns: Sequence[str]
    fits: Callable[[Json], bool]
    refusal: str
    rows: Callable[[Json, Iterable[SubmissionRows]], Iterator[Sequence[str]]]
