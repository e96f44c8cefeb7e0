"""The training: pages as those of the task, and after each of them which answers were right, and why.

The form has the fields ``form`` (a token for this page of this round), one per question, and ``timing``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from annotation.instrument import Instrument, live_instrument, training_items
from annotation.languages import speak
from annotation.models import Participant, QuestionnaireDraft
from annotation.task_types.base import Page
from annotation.task_types.questionnaires import Training
from annotation.task_types.questions import clean_text
from annotation.tokens import Seat, TrainingToken, read_seat, read_training_token, training_token
from annotation.work.judging import Feedback
from annotation.work.pages.worker_page import (
    NOT_SAVED,
    RETRY_SECONDS,
    UNAVAILABLE,
    UNUSED,
    Notice,
    SeeOther,
    once_more,
    page,
    problems_of,
    timing_of,
    workers_page,
)
from annotation.work.standing import Standing, standing
from annotation.work.taking_questionnaires import draft_of
from annotation.work.taking_training import save_training_draft, send_training_page
from annotation.work.training_rounds import (
    TrainingPage,
    TriedRow,
    items_right,
    last_answered,
    training_due,
    training_rows,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Practice:
    """What the banner of a training page says. ``needed`` and ``right`` count items. ``result``: ``passed``, ``again``
    (the round failed, and there is another), ``failed`` (it was the last), or empty while the round goes on."""

    needed: int
    items: int
    attempt: int
    tries: int
    right: int = 0
    result: str = ""
    feedback: Feedback | None = None
    shows_right: bool = False
    next_url: str = ""

    @property
    def answered(self) -> bool:
        return bool(self.next_url)

    @property
    def last_try(self) -> bool:
        return self.attempt >= self.tries


def training_page(
    token: str,
    position: Standing,
    *,
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    notice: Notice | None = None,
    status: int = 200,
) -> HttpResponse | None:
    """The page of the training that is due; None if there is none. No query if the study has no training."""
    instrument = live_instrument(position.arm_id)
    due = training_due(position.participant_id, position.arm_id, instrument)
    if due is None:
        return None
    if values is None:
        values = draft_of(position.participant_id, QuestionnaireDraft.TRAINING)
    training = instrument.asked.training
    n_items = len(due.items.ids)
    context = {
        **_context(token, position, instrument, due.page, due),
        "form": training_token(position.participant_id, due.attempt, due.place),
        "values": {"timing": "", "feedback": "", **(values or due.page.initial)},
        "errors": errors or {},
        "problems": problems_of(due.page, errors or {}),
        "notice": notice,
        "practice": Practice(training.needed_of(n_items), n_items, due.attempt, training.tries),
    }
    return page(due.page.template, context, status=status)


def _context(
    token: str, position: Standing, instrument: Instrument, shown_page: Page, due: TrainingPage
) -> dict[str, Any]:
    """What the page has before and after it is answered."""
    opened, work_address = position.open, reverse("work", args=[token])
    seconds_left = max(0, int((opened.expires_at - timezone.now()).total_seconds())) if opened else 0
    return {
        **UNUSED,
        **shown_page.context,
        "page": shown_page,
        "at": due.position + 1,
        "steps": len(due.items.ids),
        "study_title": position.title,
        "contact": position.contact,
        "many": position.hits_per_worker != 1,
        "seconds_left": seconds_left,
        "minutes_left": -(-seconds_left // 60),
        "over": "",
        "instructions": instrument.texts["instructions"],
        "errors": {},
        "problems": (),
        "notice": None,
        "feedback_box": False,
        "action": reverse("work_training", args=[token]),
        "record_url": f"{work_address}record",
        # A platform shows its own time; after the last round there is no time.
        "on_platform": opened is None or read_seat(token).assignment is not None,
        "part_pay": None,
        "gold": (),
    }


def _answered_page(token: str, position: Standing, instrument: Instrument, rows: list[TriedRow]) -> HttpResponse | None:
    """The page that was answered last, with which answers were right; None if nothing on it can be wrong."""
    answered = last_answered(position.participant_id, training_items(position.arm_id), instrument, rows)
    if answered is None:
        return None
    due, row = answered
    practice = explained(due, row, instrument.asked.training)
    if practice is None:
        return None
    next_url = reverse("work_done" if practice.result == "failed" else "work", args=[token])
    context = {
        **_context(token, position, instrument, due.page, due),
        "values": due.page.typed(row.answers),
        "practice": replace(practice, next_url=next_url),
        "preview": True,
    }
    return page(due.page.template, context)


def explained(due: TrainingPage, row: TriedRow, training: Training) -> Practice | None:
    """What the banner says of an answered page, without an address to continue at; None if nothing on it can be wrong
    and it does not end the round."""
    judge = due.judge(row.answers)
    feedback = judge.feedback() if judge else None
    if row.passed is None and not (feedback and feedback.answers):
        return None
    ended, n_items = row.attempt >= training.tries, len(due.items.ids)
    return Practice(
        training.needed_of(n_items),
        n_items,
        row.attempt,
        training.tries,
        items_right([*due.round_rows, row]),
        "" if row.passed is None else "passed" if row.passed else "failed" if ended else "again",
        feedback,
        training.show_right,
    )


@workers_page
@require_http_methods(["GET", "HEAD", "POST"])
def work_training(request: HttpRequest, token: str) -> HttpResponse:
    """GET: which answers to the last page of the training were right. POST: takes the answers to a page."""
    seat = read_seat(token)
    position = standing(seat.participant, seat.assignment)
    instrument = live_instrument(position.arm_id)
    speak(instrument.voice)
    if request.method == "POST":
        return _take(request, token, seat, position)
    response = _answered_page(token, position, instrument, training_rows(position.participant_id))
    return response or SeeOther(reverse("work", args=[token]))


def _take(request: HttpRequest, token: str, seat: Seat, position: Standing) -> HttpResponse:
    form, typed = _read(request, seat)
    values = {name: clean_text(text) for name, text in typed.items()}
    try:
        outcome = once_more(
            lambda: send_training_page(
                participant_id=seat.participant,
                attempt=form.attempt,
                place=form.place,
                data=typed,
                timing=timing_of(typed),
            )
        )
    except UNAVAILABLE:
        logger.exception("A page of the training could not be stored")
        response = training_page(token, position, values=values, notice=NOT_SAVED, status=503)
        response = response or SeeOther(reverse("work", args=[token]))
        response.headers["Retry-After"] = str(RETRY_SECONDS)
        return response
    if outcome.kind == "invalid":
        shown = training_page(token, position, values=values, errors=outcome.errors, status=422)
        return shown or SeeOther(reverse("work", args=[token]))
    if outcome.kind == "stale":
        return SeeOther(reverse("work", args=[token]))
    return SeeOther(reverse("work_training", args=[token]) + "#explained")


def _read(request: HttpRequest, seat: Seat) -> tuple[TrainingToken, dict[str, str]]:
    """The form's token and everything typed. Raises Participant.DoesNotExist for somebody else's token."""
    form = read_training_token(request.POST.get("form", ""))
    if form.participant != seat.participant:
        raise Participant.DoesNotExist
    return form, {name: str(text) for name, text in request.POST.items() if name != "form"}


@workers_page
@require_POST
def work_training_draft(request: HttpRequest, token: str) -> HttpResponse:
    """Saves a draft while the participant types. 204: it is saved. 409: this is no longer open; the text says why."""
    form, typed = _read(request, read_seat(token))
    outcome = save_training_draft(participant_id=form.participant, attempt=form.attempt, place=form.place, data=typed)
    return (
        HttpResponse(status=204) if outcome == "saved" else HttpResponse(outcome, status=409, content_type="text/plain")
    )
