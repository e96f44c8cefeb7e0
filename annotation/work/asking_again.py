"""Pages of gold and attention items that come back once with an explanation, where the study wants that.

The answers before the explanation are stored, and those after it are the step. Quality control counts the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from annotation import sql
from annotation.instrument import Instrument, Walk
from annotation.models import TriedPage
from annotation.task_types.base import Answers
from annotation.task_types.checks import check_of
from annotation.work.judging import Feedback, Judge


@dataclass(frozen=True, slots=True)
class Sending:
    """A page as it was sent: its number, which try it is by its form, its answers, and those to the pages before it."""

    number: int
    attempt: int
    before: Sequence[Answers]
    answers: Answers
    timing: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TryTaken:
    """``explains``: the page comes back with an explanation instead of being stored. ``rows``: columns of `TriedPage`,
    but the assignment's."""

    explains: bool = False
    rows: Sequence[dict[str, Any]] = field(default_factory=list)


def judges_of(
    instrument: Instrument, walk: Walk, answers: Sequence[Answers]
) -> list[tuple[int, Judge, Mapping[str, bool]]]:
    """For each item that explains and that the last page in ``answers`` is about: its index, judge and verdicts."""
    checks = {
        index: check
        for index, item in enumerate(walk.shown.items)
        if item.role in instrument.loud and (check := check_of(item)) is not None
    }
    if not checks:
        return []
    pages = walk.answered(answers)
    judges = (
        (index, Judge(instrument.task, walk.shown, pages, list(answers), walk.shown.items[index].external_id, check))
        for index, check in checks.items()
    )
    return [(index, judge, verdicts) for index, judge in judges if (verdicts := judge.verdicts())]


def take_try(
    instrument: Instrument,
    walk: Walk,
    sending: Sending,
    *,
    assignment_id: int,
    columns: Mapping[str, Any],
    item_ids: Sequence[int],
    now: datetime,
) -> TryTaken:
    """What becomes of a sent page, in a study that explains answers. ``columns``: study and participant.

    A form of the first try that comes when this try is stored was sent twice, or from another tab: it gets the
    explanation, and its answers are not a second try.
    """
    stored = tries_of_step(assignment_id, sending.number)
    if stored and sending.attempt == 1:
        return TryTaken(explains=True)
    judged = judges_of(instrument, walk, [*sending.before, sending.answers])
    rows = [
        {
            **columns,
            "item": item_ids[index],
            "attempt": stored + 1,
            "place": sending.number,
            "answers": sending.answers,
            "verdicts": verdicts,
            "ratings": judge.last_ratings(),
            "order": {},
            "timing": sending.timing,
            "passed": None,
            "received_at": now,
        }
        for index, judge, verdicts in judged
    ]
    is_wrong = any(not right for _, _, verdicts in judged for right in verdicts.values())
    return TryTaken(explains=is_wrong and not stored, rows=rows)


def tries_of_step(assignment_id: int, number: int) -> int:
    """How many tries at this step are stored."""
    row = sql.fetch_one(
        "SELECT MAX(attempt) FROM annotation_triedpage WHERE assignment_id = %s AND place = %s", assignment_id, number
    )
    return int(row[0]) if row and row[0] else 0


def first_tries(assignment_id: int) -> dict[int, Answers]:
    """By step, the answers before an explanation."""
    tried = TriedPage.objects.filter(assignment=assignment_id, attempt=1)
    return dict(tried.values_list("place", "answers"))


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a page that came back says: about each item, the answers that were not right. ``typed`` is the form as it
    was sent."""

    items: Sequence[Feedback]
    typed: Mapping[str, str]


def explanation_of(
    instrument: Instrument, walk: Walk, *, assignment_id: int, number: int, before: Sequence[Answers]
) -> Explanation | None:
    """The explanation on the page of this step; None if it has not been tried. No query if nothing explains."""
    if not instrument.loud:
        return None
    row = TriedPage.objects.filter(assignment=assignment_id, place=number, attempt=1).first()
    if row is None:
        return None
    answers: Answers = row.answers
    page = walk.page(number, lambda: before)
    typed = page.typed(answers) if page else {}
    judged = judges_of(instrument, walk, [*before, answers])
    return Explanation([judge.feedback() for _, judge, verdicts in judged if not all(verdicts.values())], typed)
