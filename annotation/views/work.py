"""The pages on which workers work. ``docs/workers-guide.md`` tells workers the same in their words.

A step's form has the fields ``form`` (a token for this step of this assignment), one per question, ``timing`` and, on
the last step, ``feedback``. The page's address is the participant's token: whoever has it is the participant.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from annotation.instrument import live_instrument, shown_items
from annotation.models import Study
from annotation.queries.work import OpenStep, Standing, Summary, first_step, standing, summary
from annotation.services.allocation import NothingLeft, accept_next, return_assignment
from annotation.services.answers import save_draft, submit_step
from annotation.task_types.base import StepSpec
from annotation.task_types.questions import clean_text
from annotation.tokens import FormToken, form_token, read_form_token, read_participant_token
from annotation.views.work_pages import (
    RETRY_SECONDS,
    UNAVAILABLE,
    Link,
    Notice,
    SeeOther,
    message,
    once_more,
    page,
    unavailable,
    workers_page,
)
from annotation.views.work_start import study_preview, study_start

logger = logging.getLogger(__name__)
MOST_TIMING = 50_000

NOT_SAVED = Notice(
    "bad",
    "This could not be saved just now",
    "The server has a problem at the moment. Nothing is lost: everything you entered is still below. Wait a minute, "
    "then press the button again.",
)
WAS_STALE = Notice(
    "warn",
    "This is the step that is due",
    "What you sent belongs to a later step than the one you are on. Perhaps you have this task open in two tabs: "
    "close the other one and go on here.",
)
TIME_IS_UP = Notice(
    "warn",
    "The time for this task is up",
    "You can still send it, as long as it has not gone to somebody else.",
)
GIVEN_BACK = Notice("good", "You have given the task back", "Somebody else can do it now.")


def to(name: str, token: str) -> SeeOther:
    return SeeOther(reverse(name, args=[token]))


# --- showing a step ---


@workers_page
@require_http_methods(["GET", "HEAD", "POST"])
def work(request: HttpRequest, token: str) -> HttpResponse:
    """GET: the step that is due, of the hit in progress or of a new one. POST: a step is sent."""
    participant_id = read_participant_token(token)
    if request.method == "POST":
        return _take_step(request, token, participant_id)
    found = standing(participant_id)
    if found.open is None and request.method == "GET":
        if _loads_ahead(request):
            return HttpResponse(status=503)
        try:
            accepted = accept_next(participant_id=participant_id)
        except NothingLeft as nothing:
            return _done_page(token, participant_id, reason=nothing.reason)
        found = replace(found, open=first_step(accepted)) if accepted.new else standing(participant_id)
    if found.open is None:
        return _done_page(token, participant_id)
    return _step_page(token, found, found.open, values=found.open.draft)


def _loads_ahead(request: HttpRequest) -> bool:
    """Whether nobody looks at the page yet: a hit must not be given out for that, nor this answer be shown later."""
    return "prefetch" in request.headers.get("Sec-Purpose", "") + request.headers.get("Purpose", "")


def _step_page(
    token: str,
    found: Standing,
    due: OpenStep,
    *,
    values: Mapping[str, str],
    errors: Mapping[str, str] | None = None,
    notice: Notice | None = None,
    status: int = 200,
) -> HttpResponse:
    instrument = live_instrument(found.study_id)
    specs = instrument.steps(instrument.shown(shown_items(due.hit_id), due.order))
    spec = specs[due.number]
    seconds_left = max(0, int((due.expires_at - timezone.now()).total_seconds()))
    here = reverse("work", args=[token])
    context = {
        **spec.context,
        "step": spec,
        "at": due.number + 1,
        "steps": len(specs),
        "study_title": found.title,
        "contact": found.contact,
        "many": found.hits_per_worker != 1,
        "ordinal": due.ordinal,
        "seconds_left": seconds_left,
        "minutes_left": -(-seconds_left // 60),
        "instructions": instrument.texts["instructions"],
        "form": form_token(due.assignment_id, due.number),
        "values": values,
        "errors": errors or {},
        "problems": _problems(spec, errors or {}),
        "notice": notice or (None if seconds_left else TIME_IS_UP),
        "feedback_box": found.feedback_box and due.number + 1 == len(specs),
        "action": here,
        "return_url": f"{here}return",
    }
    return page(spec.template, context, status=status)


def _problems(spec: StepSpec, errors: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Key, name and error of every question that has one. Questions that are worded alike are told by number."""
    alike = len({asked.label for asked in spec.questions}) < len(spec.questions)
    return [
        (asked.key, f"Question {number}:" if alike else asked.label, errors[asked.key])
        for number, asked in enumerate(spec.questions, start=1)
        if asked.key in errors
    ]


# --- taking what is sent ---


def _take_step(request: HttpRequest, token: str, participant_id: int) -> HttpResponse:
    form, typed = _read_form(request)
    try:
        outcome = once_more(
            lambda: submit_step(
                assignment_id=form.assignment,
                participant_id=participant_id,
                number=form.step,
                data=typed,
                timing=_timing(typed.get("timing", "")),
            )
        )
    except UNAVAILABLE:
        logger.exception("A step could not be stored")
        return _same_page(request, token, participant_id, form, typed, notice=NOT_SAVED, status=503)
    if outcome.kind in ("stored", "repeated"):
        return to("work", token)
    if outcome.kind == "submitted":
        return to("work" if outcome.more else "work_done", token)
    if outcome.kind == "invalid":
        return _same_page(request, token, participant_id, form, typed, errors=outcome.errors, status=422)
    if outcome.kind == "stale":
        found = standing(participant_id)
        if found.open:
            return _step_page(token, found, found.open, values=found.open.draft, notice=WAS_STALE, status=409)
    return _too_late(token, given_back=outcome.kind == "ended")


def _same_page(
    request: HttpRequest,
    token: str,
    participant_id: int,
    form: FormToken,
    typed: Mapping[str, str],
    *,
    errors: Mapping[str, str] | None = None,
    notice: Notice | None = None,
    status: int,
) -> HttpResponse:
    """The page that was sent, with everything that was typed on it."""
    found = standing(participant_id)
    due = found.open
    if due is None or (due.assignment_id, due.number) != (form.assignment, form.step):
        return unavailable(request)
    values = {name: clean_text(text) for name, text in typed.items()}
    response = _step_page(token, found, due, values=values, errors=errors, notice=notice, status=status)
    if status == 503:
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


def _too_late(token: str, *, given_back: bool) -> HttpResponse:
    link = Link(reverse("work", args=[token]), "Next task")
    if given_back:
        return message(
            "You have given this task back",
            "What you sent was for a task that you gave back before, so it was not used.",
            status=409,
            link=link,
        )
    return message(
        "The time for this task was up",
        "It has gone to somebody else, so this answer cannot be counted. We have kept what you wrote.",
        "If you think that this is wrong, write to the address on the study's page.",
        status=409,
        link=link,
    )


def _read_form(request: HttpRequest) -> tuple[FormToken, dict[str, str]]:
    """The form's token and everything typed; ``timing`` stays with the latter, so that a draft keeps it too."""
    form = read_form_token(request.POST.get("form", ""))
    return form, {name: str(text) for name, text in request.POST.items() if name != "form"}


def _timing(sent: str) -> dict[str, Any]:
    """The browser's measurements, or nothing where they are not what the page sends."""
    try:
        found = json.loads(sent) if len(sent) <= MOST_TIMING else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@workers_page
@require_POST
def work_draft(request: HttpRequest, token: str) -> HttpResponse:
    """Autosave: 204 when it is kept, 409 when this step is not open any more."""
    participant_id = read_participant_token(token)
    form, typed = _read_form(request)
    kept = save_draft(assignment_id=form.assignment, participant_id=participant_id, number=form.step, data=typed)
    return HttpResponse(status=204 if kept else 409)


@workers_page
@require_http_methods(["GET", "HEAD", "POST"])
def work_return(request: HttpRequest, token: str) -> HttpResponse:
    participant_id = read_participant_token(token)
    if request.method != "POST":
        return to("work", token)
    form, _ = _read_form(request)
    if not return_assignment(assignment_id=form.assignment, participant_id=participant_id):
        return to("work", token)
    return SeeOther(f"{reverse('work_done', args=[token])}?returned")


# --- the end ---


@workers_page
@require_http_methods(["GET", "HEAD"])
def work_done(request: HttpRequest, token: str) -> HttpResponse:
    notice = GIVEN_BACK if "returned" in request.GET else None
    return _done_page(token, read_participant_token(token), notice=notice)


WHY = {
    "limit": "That was all that one person can do in this study.",
    "done": "There is no task for you at the moment: each is done, or somebody is working on it. Sometimes one becomes "
    "free again; you can look again in a few minutes.",
    "paused": "This study is paused: nothing new is given out at the moment. Keep the address of this page and look "
    "again later.",
    "closed": "This study is closed: nothing new is given out any more.",
    "taken": "Many people are starting at this very moment, and somebody else was faster. Please look again.",
}
LOOK_AGAIN = ("done", "paused", "taken")


def _done_page(token: str, participant_id: int, *, reason: str = "", notice: Notice | None = None) -> HttpResponse:
    """Completion code, what was done, and the way on if there is one. ``reason`` is that of NothingLeft."""
    found = summary(participant_id)
    if not reason and found.status in (Study.Status.PAUSED, Study.Status.CLOSED):
        reason = found.status
    lines = [_so_far(found)]
    if reason:
        lines.append(WHY[reason])
    elif not found.may_go_on and found.n_submitted:
        lines.append("There is nothing more to do. You can close this page.")
    context = {
        "heading": _heading(found, reason),
        "lines": [line for line in lines if line],
        "summary": found,
        "notice": notice,
        "work_url": reverse("work", args=[token]),
        "again": reason in LOOK_AGAIN,
    }
    return page("annotation/done.html", context)


def _heading(found: Summary, reason: str) -> str:
    if found.n_submitted:
        return "Thank you"
    return "No task for you" if reason else "You have not done a task yet"


def _so_far(found: Summary) -> str:
    if not found.n_submitted:
        return "Your completion code will stand here when you have done a task."
    return f"You have done {found.n_submitted} task{'s' if found.n_submitted > 1 else ''}. Your answers are saved."


urlpatterns = [
    path("s/<slug:slug>/", study_start, name="study_start"),
    path("s/<slug:slug>/preview/", study_preview, name="study_preview"),
    path("w/<str:token>/", work, name="work"),
    path("w/<str:token>/draft", work_draft, name="work_draft"),
    path("w/<str:token>/return", work_return, name="work_return"),
    path("w/<str:token>/done", work_done, name="work_done"),
]
