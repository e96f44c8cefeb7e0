"""The log of edits: what was done in each box, and the texts that it leads to.

Positions count code points, as Python does. A browser counts UTF-16 code units; the page's script converts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from annotation.instrument import Instrument
from annotation.models import Arm, Assignment, EventBatch, Step, Study
from annotation.task_types.base import Page
from annotation.task_types.questions import clean_text


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a box. ``at``: milliseconds since its page was loaded, which was at ``loaded_at``.

    ``how`` is ``type``, ``paste``, ``script`` (such as a suggestion that was chosen), or ``start``: ``inserted`` is the
    text in the box when the page was loaded.
    """

    field: str
    at: int
    position: int
    deleted: int
    inserted: str
    how: str
    view: str
    loaded_at: datetime

    @property
    def moment(self) -> datetime:
        """When it happened: the server's time of the page, plus the browser's time since then."""
        return self.loaded_at + timedelta(milliseconds=self.at)


@dataclass(frozen=True, slots=True)
class BoxLog:
    """The log of one box on one page. ``sent`` is the text that was sent; None if the page has not been sent.

    ``recorded`` is False if no batch came from the page, as from a browser without JavaScript.
    """

    page: int
    page_title: str
    key: str
    label: str
    edits: Sequence[Edit]
    sent: str | None
    recorded: bool

    @property
    def matches(self) -> bool | None:
        """Whether the log leads to the text that was sent; None if there is nothing to compare."""
        if not self.recorded or self.sent is None:
            return None
        return clean_text(final_text(self.edits)) == self.sent


def changed(text: str, edit: Edit) -> str:
    """``text`` after the edit. A position beyond its end, because a batch was lost, counts as its end."""
    if edit.how == "start":
        return edit.inserted
    return text[: edit.position] + edit.inserted + text[edit.position + edit.deleted :]


def final_text(edits: Iterable[Edit]) -> str:
    """The text of a box after all its edits."""
    text = ""
    for edit in edits:
        text = changed(text, edit)
    return text


def records_edits(study: Study) -> bool:
    """Whether any arm of the study records edits."""
    arms: list[Arm | None] = [*study.arms.all()]
    return any(Instrument.of(study, arm).records_edits for arm in arms or [None])


def boxes_of(assignment: Assignment, instrument: Instrument, pages: Sequence[Page]) -> Iterator[BoxLog]:
    """Every box that the ``pages`` of an assignment record, in order. Reads its ``steps`` and ``event_batches``."""
    steps: Mapping[int, Step] = {step.number: step for step in assignment.steps.all()}
    edits = edits_by_page(assignment.event_batches.all())
    for number, page in enumerate(pages):
        on_page, step = edits.get(number, []), steps.get(number)
        keys = instrument.task.recorded(page, instrument.config)
        for question in page.questions:
            if question.key not in keys or (step is None and not on_page):
                continue
            mine = [edit for edit in on_page if edit.field == question.key]
            sent = None
            if step is not None:
                answer = step.answers.get(question.key)
                sent = "" if answer is None else question.typed(answer).get(question.key, "")
            yield BoxLog(number + 1, page.title, question.key, question.label, mine, sent, bool(on_page))


def edits_by_page(batches: Iterable[EventBatch]) -> dict[int, list[Edit]]:
    """All edits of an assignment by step, in the order in which they happened, whatever the order of arrival."""
    found: dict[int, list[Edit]] = {}
    for batch in sorted(batches, key=lambda each: (each.step, each.view, each.number)):
        loaded = datetime.fromtimestamp(int(batch.view.partition("-")[0]) / 1000, UTC)
        found.setdefault(batch.step, []).extend(
            Edit(field, at, position, deleted, inserted, how, batch.view, loaded)
            for field, at, position, deleted, inserted, how in batch.edits
        )
    return found
