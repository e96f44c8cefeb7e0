"""Stores the log of edits: batches that a page sends while somebody types, each once.

A batch is accepted only with the token of a page that was rendered for this participant, for boxes that this page
records, no faster than pages send, and only while the page is open or was just sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from annotation import sql
from annotation.models import Assignment, EventBatch
from annotation.task_types.questions import MAX_CHARS
from annotation.tokens import BadToken, EventsToken, read_events_token

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

#: ``[field, at, position, deleted, inserted, how]``, as `EventBatch` describes it.
Edit = list[Any]


class Refused(ValueError):
    """A batch that no page sends. ``str()`` is the reason."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch as it was sent, checked. ``view`` and ``number`` identify it on its page."""

    token: EventsToken
    view: str
    number: int
    edits: Sequence[Edit]
    size: int


def read_batch(sent: Any, *, size: int) -> Batch:
    """The batch in a decoded request of ``size`` bytes. Raises Refused or BadToken."""
    if not isinstance(sent, Mapping):
        raise Refused("A batch is an object.")
    token = sent.get("token")
    if not isinstance(token, str):
        raise BadToken
    page = read_events_token(token)
    load, number = sent.get("load"), sent.get("number")
    if not isinstance(load, str) or not _LOAD.fullmatch(load):
        raise Refused("load is 1 to 10 digits or lower-case letters.")
    if not isinstance(number, int) or not _is_count(number, 10**6):
        raise Refused("number is a whole number from 0.")
    edits = sent.get("edits")
    if not isinstance(edits, list) or not edits or len(edits) > MOST_EDITS:
        raise Refused(f"edits is a list of 1 to {MOST_EDITS:,} edits.")
    return Batch(page, f"{page.made_at:013d}-{load}", number, [_edit(each, page.fields) for each in edits], size)


def _edit(sent: Any, fields: Sequence[str]) -> Edit:
    if not isinstance(sent, list) or len(sent) != 6:
        raise Refused("An edit is a list of six.")
    field, at, position, deleted, inserted, how = sent
    if field not in fields:
        raise Refused("An edit is of a box that this page does not record.")
    if not _is_count(at, LONGEST_VIEW_MS):
        raise Refused("The time of an edit is in milliseconds since the page was loaded.")
    # A box may hold more than what is accepted when it is sent.
    if not _is_count(position, 50 * MAX_CHARS) or not _is_count(deleted, 50 * MAX_CHARS):
        raise Refused("Position and number of deleted characters are whole numbers from 0.")
    if not isinstance(inserted, str) or how not in HOW:
        raise Refused(f"What is inserted is a text, and how is one of {', '.join(HOW)}.")
    return [field, at, position, deleted, _NOT_STORED.sub("\ufffd", inserted), how]


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
        if page is None or not _is_open(page[0], page[1], now):
            return "ended"
        if int(page[2]) + batch.size > MOST_PAGE_BYTES:
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


def _is_open(state: str, sent_at: Any, now: datetime) -> bool:
    if sent_at is not None:
        return now - sql.aware(sent_at) <= LATE
    return state in (Assignment.State.ACCEPTED, Assignment.State.ABANDONED)
