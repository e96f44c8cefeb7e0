"""Accepts the log of edits from workers' pages. No error here affects what workers typed."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from annotation.instrument import Instrument
from annotation.task_types.base import Page
from annotation.task_types.wording import recording_notice
from annotation.tokens import BadToken, events_token, read_participant_token
from annotation.work.edit_log import MOST_BATCH_BYTES, Refused, read_batch, store_batch
from annotation.work.pages.worker_page import UNAVAILABLE, workers_page

logger = logging.getLogger(__name__)
#: The form field with the edits that a page had not sent before its form.
FIELD = "edit_log"
MOST_SENT_BATCHES = 50
STATUS = {"stored": 204, "repeated": 204, "early": 429, "full": 409, "ended": 409}


def recording_context(instrument: Instrument, due: Page, assignment_id: int, number: int) -> dict[str, Any]:
    """What a page needs to record edits; empty if it records none."""
    fields: Sequence[str] = instrument.task.recorded(due, instrument.config)
    if not fields:
        return {}
    token = events_token(assignment_id, number, made_at=time.time_ns() // 1_000_000, fields=fields)
    return {"recording": recording_notice(instrument.texts), "events_token": token, "recorded": " ".join(fields)}


@workers_page
@require_POST
def work_events(request: HttpRequest, token: str) -> HttpResponse:
    """One batch. 204: it is stored. 409: send no more. 429: send it again later. 400 and 413: do not send it again."""
    participant_id = read_participant_token(token)
    body = request.body
    if len(body) > MOST_BATCH_BYTES:
        return _plain(f"A batch has at most {MOST_BATCH_BYTES:,} bytes.", 413)
    try:
        batch = read_batch(json.loads(body), size=len(body))
    except BadToken:
        raise
    except (ValueError, RecursionError) as error:
        return _plain(str(error) if isinstance(error, Refused) else "This is not JSON.", 400)
    outcome = store_batch(batch=batch, participant_id=participant_id)
    return HttpResponse(status=204) if STATUS[outcome] == 204 else _plain(outcome, STATUS[outcome])


def _plain(text: str, status: int) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")


def store_sent_edits(edits_json: str, participant_id: int) -> None:
    """Stores the batches that came with a form, unless they were stored before. Never raises."""
    if len(edits_json) > MOST_BATCH_BYTES:
        return
    try:
        message = json.loads(edits_json)
        batches = message["batches"][:MOST_SENT_BATCHES]
        for number, edits in batches:
            one = {"token": message["token"], "load": message["load"], "number": number, "edits": edits}
            size = len(json.dumps(edits))
            store_batch(batch=read_batch(one, size=size), participant_id=participant_id)
    except (ValueError, TypeError, KeyError, RecursionError):
        logger.info("A form came with edits that no page sends")
    except UNAVAILABLE:
        logger.exception("The last edits of a page could not be stored")
