"""The options of an export, and the error if it cannot be made."""

from __future__ import annotations

from dataclasses import dataclass

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
