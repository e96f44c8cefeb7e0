"""Questionnaires around the tasks: before the first, the comprehension check, and after the last.

The form has the fields ``form`` (a token for this try of this participant), one per question, and ``timing``. The rule
for the last one: a person is asked once, when there is no further task for them, or when they say that they have
finished.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from annotation.instrument import Instrument, live_instrument
from annotation.languages import marked, speak
from annotation.models import Participant
from annotation.task_types.questionnaires import AFTER, COMPREHENSION
from annotation.task_types.questions import clean_text
from annotation.tokens import QuestionsToken, Seat, questions_token, read_questions_token, read_seat
from annotation.work.due_questionnaires import Due, due_after, due_before
from annotation.work.pages.worker_page import (
    NOT_SAVED,
    RETRY_SECONDS,
    UNAVAILABLE,
    Notice,
    SeeOther,
    once_more,
    page,
    problems_of,
    timing_of,
    workers_page,
)
from annotation.work.taking_questionnaires import answer, draft_of, save_questions_draft

logger = logging.getLogger(__name__)

NOT_PASSED = Notice(
    "warn",
    marked("Not all of your answers were right"),
    marked("Please read the instructions again, and answer once more. These answers were not right:"),
)


def questionnaire_page(
    token: str,
    participant_id: int,
    instrument: Instrument,
    due: Due,
    *,
    title: str,
    contact: str,
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    notice: Notice | None = None,
    status: int = 200,
) -> HttpResponse:
    typed = draft_of(participant_id, due.name) if values is None and not due.wrong else values or {}
    context = questionnaire_context(instrument, due.name, title=title, contact=contact)
    context |= {
        "attempt": due.attempt,
        "tries_left": instrument.asked.tries - due.attempt + 1,
        "wrong": [(checked.question.label, checked.explanation) for checked in due.wrong],
        "form": questions_token(participant_id, due.name, due.attempt),
        "values": {"timing": "", **typed},
        "errors": errors or {},
        "problems": problems_of(context["page"], errors or {}),
        "notice": notice or (NOT_PASSED if due.wrong else None),
        "action": reverse("work_questions", args=[token]),
        "record_url": reverse("work_record", args=[token]),
    }
    return page(context["template"], context, status=status)


def questionnaire_context(instrument: Instrument, name: str, *, title: str, contact: str) -> dict[str, Any]:
    """What the page shows whoever looks at it."""
    asked = instrument.asked.page(name)
    return {
        "page": asked,
        "template": asked.template,
        "asks": name,
        "study_title": title,
        "contact": contact,
        "instructions": instrument.texts["instructions"] if name != AFTER else "",
        "open_instructions": name == COMPREHENSION,
        "tries": instrument.asked.tries if name == COMPREHENSION else 0,
        "attempt": 1,
        "values": {},
        "errors": {},
        "preview": False,
    }


def due_page(
    token: str, participant_id: int, instrument: Instrument, *, title: str, contact: str, notice: Notice | None = None
) -> HttpResponse | None:
    """The page that comes before the first task, if one is due."""
    due = due_before(participant_id, instrument.asked)
    if due is None:
        return None
    return questionnaire_page(token, participant_id, instrument, due, title=title, contact=contact, notice=notice)


@workers_page
@require_http_methods(["GET", "HEAD", "POST"])
def work_questions(request: HttpRequest, token: str) -> HttpResponse:
    """GET: the questionnaire after the last task. POST: takes the answers to any of them."""
    seat = read_seat(token)
    participant = Participant.objects.select_related("study").get(pk=seat.participant)
    instrument = live_instrument(participant.arm_id)
    speak(instrument.voice)
    if request.method == "POST":
        return _take(request, token, seat, participant, instrument)
    due = due_after(participant.pk, instrument.asked)
    if due is None or participant.redacted_at or not participant.submissions.exists():
        return SeeOther(reverse("work_done", args=[token]))
    return _shown(token, participant, instrument, due)


def _shown(token: str, participant: Participant, instrument: Instrument, due: Due, **details: Any) -> HttpResponse:
    study = participant.study
    return questionnaire_page(
        token, participant.pk, instrument, due, title=study.title, contact=study.contact, **details
    )


def _take(
    request: HttpRequest, token: str, seat: Seat, participant: Participant, instrument: Instrument
) -> HttpResponse:
    form, typed = _read(request, seat)
    due = Due(form.questionnaire, form.attempt)
    values = {name: clean_text(text) for name, text in typed.items()}
    try:
        outcome = once_more(
            lambda: answer(
                participant_id=seat.participant,
                name=form.questionnaire,
                attempt=form.attempt,
                data=typed,
                timing=timing_of(typed),
            )
        )
    except UNAVAILABLE:
        logger.exception("A questionnaire could not be stored")
        response = _shown(token, participant, instrument, due, values=values, notice=NOT_SAVED, status=503)
        response.headers["Retry-After"] = str(RETRY_SECONDS)
        return response
    if outcome.kind == "invalid":
        return _shown(token, participant, instrument, due, values=values, errors=outcome.errors, status=422)
    after_all = form.questionnaire == AFTER or outcome.kind == "turned_away"
    return SeeOther(reverse("work_done" if after_all else "work", args=[token]))


def _read(request: HttpRequest, seat: Seat) -> tuple[QuestionsToken, dict[str, str]]:
    """The form's token and everything typed. Raises Participant.DoesNotExist for somebody else's token."""
    form = read_questions_token(request.POST.get("form", ""))
    if form.participant != seat.participant:
        raise Participant.DoesNotExist
    return form, {name: str(text) for name, text in request.POST.items() if name != "form"}


@workers_page
@require_POST
def work_questions_draft(request: HttpRequest, token: str) -> HttpResponse:
    """Saves a draft while the participant types. 204: it is saved. 409: this is no longer open; the text says why."""
    form, typed = _read(request, read_seat(token))
    outcome = save_questions_draft(
        participant_id=form.participant, name=form.questionnaire, attempt=form.attempt, data=typed
    )
    return (
        HttpResponse(status=204) if outcome == "saved" else HttpResponse(outcome, status=409, content_type="text/plain")
    )
