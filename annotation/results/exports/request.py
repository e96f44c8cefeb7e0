"""The options of an export, and the error if it cannot be made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from annotation.models import Study
from annotation.recruiting.confirmation_marks import Marks


class ExportError(ValueError):
    """An export cannot be made. ``str()`` explains why, and what to do instead."""


@dataclass(frozen=True, slots=True)
class Request:
    """The options of an export. ``simulated``: None for everybody, True for simulated workers only, False for people
    only.

    ``yes_no`` is how the format writes False and True.
    """

    study: Study
    simulated: bool | None = None
    with_worker_ids: bool = False
    yes_no: tuple[object, object] = (False, True)

    def use(self, marks: Marks, submission: int | None) -> list[object]:
        """The cells ``included`` and ``confirmation`` of a submission, or of work that was not sent."""
        no, yes = self.yes_no
        return [yes if marks.included(submission) else no, str(marks.confirmation(submission))]


def pages_by_pk(rows: QuerySet[Any, Any], size: int) -> Iterator[list[tuple[Any, ...]]]:
    """The rows in pages. They are in the order of their primary key, which is the first value of each.

    So no cursor and no transaction stays open while a slow client reads.
    """
    last = 0
    while page := list(rows.filter(pk__gt=last)[:size]):
        yield page
        last = page[-1][0]
