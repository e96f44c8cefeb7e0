"""The log of edits: batches that a page sends while somebody types, each stored once, and the texts that they lead to.

A batch is accepted only with the token of a page that was rendered for this participant, for boxes that this page
records, no faster than pages send, and only while the page is open or was just sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from annotation import sql
from annotation.instrument import Instrument
from annotation.models import Arm, Assignment, EventBatch, Step, Study
from annotation.task_types.base import Page
from annotation.task_types.questions import MAX_CHARS, clean_text
from annotation.tokens import BadToken, EventsToken, read_events_token

#: ``[field, at, position, deleted, inserted, how]``, as `EventBatch` describes it.
SentEdit = list[Any]


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
            sent_text = None
            if step is not None:
                answer = step.answers.get(question.key)
                sent_text = "" if answer is None else question.typed(answer).get(question.key, "")
            yield BoxLog(number + 1, page.title, question.key, question.label, mine, sent_text, bool(on_page))


def edits_by_page(batches: Iterable[EventBatch]) -> dict[int, list[Edit]]:
    """All edits of an assignment by step, in the order in which they happened, whatever the order of arrival."""
    edits_of_step: dict[int, list[Edit]] = {}
    for batch in sorted(batches, key=lambda batch: (batch.step, batch.view, batch.number)):
        loaded = datetime.fromtimestamp(int(batch.view.partition("-")[0]) / 1000, UTC)
        edits_of_step.setdefault(batch.step, []).extend(
            Edit(field, moment, position, deleted, inserted, how, batch.view, loaded)
            for field, moment, position, deleted, inserted, how in batch.edits
        )
    return edits_of_step


#: The largest batch, in bytes. A page sends smaller ones, unless somebody pastes a whole text.
MOST_BATCH_BYTES = 500_000


#: All batches of one page together, in bytes: hours of typing.
MOST_PAGE_BYTES = 4_000_000


MOST_EDITS = 20_000


#: A page sends at most one batch in this time. The server allows some more: a slow network delivers several at once.
PACE = timedelta(milliseconds=250)


SPARE_BATCHES = 40


#: How long a page can still deliver edits after its step was stored.
LATE = timedelta(seconds=60)


HOW = ("start", "type", "paste", "script")


LONGEST_VIEW_MS = 30 * 24 * 3600 * 1000


_LOAD = re.compile(r"[0-9a-z]{1,10}")


# PostgreSQL cannot store NUL, half a surrogate pair is not text, and boxes contain no carriage returns. What replaces
# them has the same length, so that positions stay right.
_NOT_STORED = re.compile("[\x00\r\ud800-\udfff]")


class Refused(ValueError):
    """A batch that no page sends. ``str()`` is the reason."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch as it was sent, checked. ``view`` and ``number`` identify it on its page."""

    token: EventsToken
    view: str
    number: int
    edits: Sequence[SentEdit]
    size: int


def read_batch(message: Any, *, size: int) -> Batch:
    """The batch in a decoded request of ``size`` bytes. Raises Refused or BadToken."""
    if not isinstance(message, Mapping):
        raise Refused("A batch is an object.")
    token = message.get("token")
    if not isinstance(token, str):
        raise BadToken
    page = read_events_token(token)
    load, number = message.get("load"), message.get("number")
    if not isinstance(load, str) or not _LOAD.fullmatch(load):
        raise Refused("load is 1 to 10 digits or lower-case letters.")
    if not isinstance(number, int) or not _is_count(number, 10**6):
        raise Refused("number is a whole number from 0.")
    edits = message.get("edits")
    if not isinstance(edits, list) or not edits or len(edits) > MOST_EDITS:
        raise Refused(f"edits is a list of 1 to {MOST_EDITS:,} edits.")
    return Batch(page, f"{page.made_at:013d}-{load}", number, [_edit(edit, page.fields) for edit in edits], size)


def _edit(edit: Any, fields: Sequence[str]) -> SentEdit:
    if not isinstance(edit, list) or len(edit) != 6:
        raise Refused("An edit is a list of six.")
    field, moment, position, deleted, inserted, how = edit
    if field not in fields:
        raise Refused("An edit is of a box that this page does not record.")
    if not _is_count(moment, LONGEST_VIEW_MS):
        raise Refused("The time of an edit is in milliseconds since the page was loaded.")
    # A box may hold more than what is accepted when it is sent.
    if not _is_count(position, 50 * MAX_CHARS) or not _is_count(deleted, 50 * MAX_CHARS):
        raise Refused("Position and number of deleted characters are whole numbers from 0.")
    if not isinstance(inserted, str) or how not in HOW:
        raise Refused(f"What is inserted is a text, and how is one of {', '.join(HOW)}.")
    return [field, moment, position, deleted, _NOT_STORED.sub("\ufffd", inserted), how]


def _is_count(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


_PAGE = """
SELECT a.state, t.received_at,
       (SELECT COALESCE(SUM(b.size), 0) FROM annotation_eventbatch b WHERE b.assignment_id = a.id AND b.step = %s)
FROM annotation_assignment a LEFT JOIN annotation_step t ON t.assignment_id = a.id AND t.number = %s
WHERE a.id = %s AND a.participant_id = %s
"""


_ONCE = " ON CONFLICT (assignment_id, step, view, number) DO NOTHING"


def store_batch(*, batch: Batch, participant_id: int, now: datetime | None = None) -> str:
    """Store a batch. Returns ``stored``, ``repeated`` (it had arrived before), ``early`` (faster than pages send; send
    it again later), ``full`` (the page has sent all it may) or ``ended`` (the page is closed, or somebody else's)."""
    now, token = now or timezone.now(), batch.token
    since = now.timestamp() * 1000 - token.made_at
    if batch.number > since / (PACE.total_seconds() * 1000) + SPARE_BATCHES:
        return "early"
    with sql.quick_transaction(announced=False):
        page = sql.fetch_first(_PAGE, token.step, token.step, token.assignment, participant_id)
        if page is None:
            return "ended"
        state, sent_at, stored_bytes = page
        if sent_at is None and state not in (Assignment.State.ACCEPTED, Assignment.State.ABANDONED):
            return "ended"
        if sent_at is not None and now - sql.aware(sent_at) > LATE:
            return "ended"
        if int(stored_bytes) + batch.size > MOST_PAGE_BYTES:
            return "full"
        row = {
            "assignment": token.assignment,
            "step": token.step,
            "view": batch.view,
            "number": batch.number,
            "edits": list(batch.edits),
            "size": batch.size,
            "received_at": now,
        }
        text, params = sql.insertion(EventBatch, row)
        return "stored" if sql.execute(text + _ONCE, *params) else "repeated"
