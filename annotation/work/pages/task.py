"""The pages on which workers answer. ``docs/workers-guide.md`` describes them for workers.

A step's form has the fields ``form`` (a token for this step of this assignment), one per question, ``timing`` and, on
the last step, ``feedback``. The page's address contains the participant's token: anyone with it is the participant.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from annotation.instrument import Instrument, Walk, live_instrument
from annotation.languages import gettext as _
from annotation.languages import marked, speak
from annotation.task_types.questions import clean_text
from annotation.tokens import FormToken, Seat, form_token, read_form_token, read_participant_token, read_seat
from annotation.work.allocation import NothingLeft, accept_next
from annotation.work.answers import submit_step
from annotation.work.asking_again import Explanation, explanation_of
from annotation.work.drafts import save_draft
from annotation.work.ending import return_assignment
from annotation.work.gold_feedback import feedback_on
from annotation.work.judging import Feedback
from annotation.work.offers import open_page
from annotation.work.pages.done import done_page
from annotation.work.pages.edits import FIELD as EDITS
from annotation.work.pages.edits import recording_context, store_sent_edits
from annotation.work.pages.offers import NOT_PULLED, offers_notice, suggestion_context
from annotation.work.pages.questionnaire import due_page
from annotation.work.pages.start_brake import note_submission
from annotation.work.pages.training import training_page
from annotation.work.pages.worker_page import (
    ALREADY_SENT,
    NOT_SAVED,
    RETRY_SECONDS,
    UNAVAILABLE,
    UNUSED,
    Link,
    Notice,
    SeeOther,
    message,
    once_more,
    page,
    problems_of,
    timing_of,
    unavailable,
    workers_page,
)
from annotation.work.part_pay import part_of_reward
from annotation.work.standing import OpenStep, Standing, first_step, given_answers, standing

logger = logging.getLogger(__name__)

WAS_STALE = Notice(
    "warn",
    marked("You cannot send that step yet"),
    marked(
        "What you just sent was not saved, because it belongs to a later step. You may have this task open in two "
        "tabs: "
        "close the other one and continue here."
    ),
)
TIME_IS_UP = Notice(
    "warn",
    marked("The time for this task is up"),
    marked("Send it now: it still counts if nobody else has taken the task."),
)
#: On a platform, whose clock is the only one: it ran out some minutes ago.
PLATFORM_TIME_IS_UP = Notice(
    "warn",
    marked("The time for this task is up"),
    marked(
        "It ended on the site where you accepted the task. Send your answers all the same: they are saved here, so the "
        "researchers can see what you did."
    ),
)
TIME_IS_UP_WITH_WORK = Notice(
    "warn",
    marked("The time for this task is up"),
    marked("You can still finish it, and your pay stays the same. Do not start another task before you have sent it."),
)
NEW_TASK = Notice(
    "warn",
    marked("This is a new task"),
    marked(
        "The time for your last task was up, and somebody else has it now. What you wrote there is saved, but it "
        "does not "
        "count."
    ),
)


def to(name: str, token: str, query: str = "") -> SeeOther:
    return SeeOther(reverse(name, args=[token]) + query)


# --- showing a step ---


@workers_page
@require_http_methods(["GET", "HEAD", "POST"])
def work(request: HttpRequest, token: str) -> HttpResponse:
    """GET: shows the next step of the hit in progress, or the first step of a new one. POST: sends a step."""
    seat = read_seat(token)
    participant_id = seat.participant
    if request.method == "POST":
        return _take_step(request, token, seat)
    position, notice = _standing(seat), ALREADY_SENT if "already" in request.GET else None
    notice = notice or NOT_PULLED.get(request.GET.get("suggest", ""))
    if position.open is None and seat.assignment is not None:
        return to("work_done", token)
    if position.open is None and request.method == "GET":
        if "prefetch" in request.headers.get("Sec-Purpose", "") + request.headers.get("Purpose", ""):
            # The browser only preloads the page: it gets no hit, and must not show this response later.
            return HttpResponse(status=503)
        try:
            accepted = accept_next(participant_id=participant_id)
        except NothingLeft as nothing:
            return done_page(token, participant_id, reason=nothing.reason)
        position = replace(position, open=first_step(accepted)) if accepted.new else standing(participant_id)
        if accepted.new and accepted.new.replaces_lost:
            notice = NEW_TASK
    if position.open is None:
        return done_page(token, participant_id)
    if first := _before_the_first(token, position, notice):
        return first
    refused = request.GET.get("suggest") == "lacks"
    return _step_page(token, position, position.open, values=position.open.draft, notice=notice, pull_refused=refused)


def _before_the_first(token: str, position: Standing, notice: Notice | None) -> HttpResponse | None:
    """What must be answered or practised before the first step. No query if the study has nothing there."""
    instrument = live_instrument(position.arm_id)
    if position.open is None or position.open.number:
        return None
    if instrument.asked.gates:
        names = {"title": position.title, "contact": position.contact}
        if first := due_page(token, position.participant_id, instrument, **names, notice=notice):
            return first
    return training_page(token, position, notice=notice)


def _standing(seat: Seat) -> Standing:
    """Where the worker is. What follows is in the language of their study."""
    position = standing(seat.participant, seat.assignment)
    speak(live_instrument(position.arm_id).voice)
    return position


def _step_page(
    token: str,
    position: Standing,
    due: OpenStep,
    *,
    values: Mapping[str, str],
    errors: Mapping[str, str] | None = None,
    notice: Notice | None = None,
    pull_refused: bool = False,
    status: int = 200,
) -> HttpResponse:
    instrument = live_instrument(position.arm_id)
    opened = open_page(instrument, due.assignment_id, hit_id=due.hit_id, order=due.order, number=due.number)
    walk, steps, due_page = opened.walk, opened.walk.length, opened.page
    if due_page is None:
        raise LookupError(f"{instrument.task.name} has no page {due.number + 1}, but its hit is not complete")
    seconds_left = max(0, int((due.expires_at - timezone.now()).total_seconds()))
    on_platform = read_seat(token).assignment is not None
    time_is_up = _time_is_up(due.number, steps, on_platform=on_platform)
    rule, fixed = position.part_pay, position.part_pay_amount
    again, gold = _explained(instrument, walk, due)
    typed = {**again.typed, **values} if again else values or due_page.initial
    work_address = reverse("work", args=[token])
    context = {
        **UNUSED,
        **due_page.context,
        "page": due_page,
        "at": due.number + 1,
        "steps": steps,
        "study_title": position.title,
        "contact": position.contact,
        "many": position.hits_per_worker != 1,
        "ordinal": due.ordinal,
        "seconds_left": seconds_left,
        "minutes_left": -(-seconds_left // 60),
        "over": _(time_is_up.text),
        "instructions": instrument.texts["instructions"],
        "form": form_token(due.assignment_id, due.number, 2 if again else 1),
        "again": again.items if again else (),
        "values": {"timing": "", "feedback": "", **typed},
        "errors": errors or {},
        "problems": problems_of(due_page, errors or {}),
        "notice": notice or (None if due_page.waiting else offers_notice(opened.offers.values()))
        if seconds_left
        else notice or time_is_up,
        "feedback_box": position.feedback_box and due.number + 1 == steps,
        "action": work_address,
        **{f"{name}_url": f"{work_address}{name}" for name in ("return", "stop", "record")},
        "on_platform": on_platform,
        "part_pay": part_of_reward(rule=rule, fixed=fixed, reward=due.reward, done=due.number, in_all=steps),
        "gold": gold,
        **suggestion_context(opened, due.number, work_address, typed=typed, refused=pull_refused),
        **(recording_context(instrument, due_page, due.assignment_id, due.number) if opened.waiting is None else {}),
    }
    return page(due_page.template, context, status=status)


def _time_is_up(number: int, steps: int | None, *, on_platform: bool) -> Notice:
    """Who has sent some pages, or has only this one to send, can finish whoever has the place."""
    can_finish = number or steps == 1
    return PLATFORM_TIME_IS_UP if on_platform else TIME_IS_UP_WITH_WORK if can_finish else TIME_IS_UP


def _explained(instrument: Instrument, walk: Walk, due: OpenStep) -> tuple[Explanation | None, list[Feedback]]:
    """What was not right on this page, if it asks again, and what the study says about gold on the pages before."""
    before = given_answers(due.assignment_id)[: due.number] if instrument.gold_feedback or instrument.loud else []
    again = explanation_of(instrument, walk, assignment_id=due.assignment_id, number=due.number, before=before)
    return again, feedback_on(instrument, walk.shown, before) if instrument.gold_feedback and due.number else []


# --- what workers send ---


def _take_step(request: HttpRequest, token: str, seat: Seat) -> HttpResponse:
    form, typed = _read_form(request)
    edits = typed.pop(EDITS, "")
    try:
        outcome = once_more(
            partial(
                submit_step,
                assignment_id=form.assignment,
                participant_id=seat.participant,
                number=form.step,
                data=typed,
                timing=timing_of(typed),
                attempt=form.attempt,
            )
        )
    except UNAVAILABLE:
        logger.exception("A step could not be stored")
        return _same_page(request, token, seat, form, typed, notice=NOT_SAVED, status=503)
    if edits:
        store_sent_edits(edits, seat.participant)
    if outcome.kind == "submitted":
        note_submission(seat.participant)
    if outcome.kind in ("stored", "repeated", "waiting", "submitted"):
        return to("work_done" if outcome.complete else "work", token)
    if outcome.kind == "explained":
        return to("work", token, "#explained")
    if outcome.kind == "differs":
        return to("work_done" if outcome.complete else "work", token, "?already")
    if outcome.kind == "invalid":
        return _same_page(request, token, seat, form, typed, errors=outcome.errors, status=422)
    if outcome.kind == "stale":
        position = _standing(seat)
        if first := _before_the_first(token, position, None):
            return first
        if position.open:
            return _step_page(token, position, position.open, values=position.open.draft, notice=WAS_STALE, status=409)
    return _too_late(token, seat, given_back=outcome.kind == "ended")


def _same_page(
    request: HttpRequest,
    token: str,
    seat: Seat,
    form: FormToken,
    typed: Mapping[str, str],
    *,
    errors: Mapping[str, str] | None = None,
    notice: Notice | None = None,
    status: int,
) -> HttpResponse:
    """The same page again, with everything that was typed on it."""
    position = _standing(seat)
    due = position.open
    if due is None or (due.assignment_id, due.number) != (form.assignment, form.step):
        return unavailable(request)
    values = {name: clean_text(text) for name, text in typed.items()}
    response = _step_page(token, position, due, values=values, errors=errors, notice=notice, status=status)
    if status == 503:
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


def _too_late(token: str, seat: Seat, *, given_back: bool) -> HttpResponse:
    contact = _standing(seat).contact
    link = Link(reverse("work", args=[token]), _("Next task")) if seat.assignment is None else None
    if given_back:
        return message(
            _("You have given this task back"),
            _("What you just sent was not saved, because it is for a task that you gave back."),
            status=409,
            link=link,
        )
    lines = [
        _(
            "Somebody else has this task now. What you have just sent is not lost, but it came too late: it is not in "
            "the results, and it is not paid. It is kept as a draft, not as an answer."
        ),
        _("If you think this is wrong, write to %(contact)s.") % {"contact": contact} if contact else "",
    ]
    return message(_("The time for this task was up"), *filter(None, lines), status=409, link=link)


def _read_form(request: HttpRequest) -> tuple[FormToken, dict[str, str]]:
    """The form's token and everything typed, including ``timing``, so that a draft contains that too."""
    form = read_form_token(request.POST.get("form", ""))
    return form, {name: str(text) for name, text in request.POST.items() if name != "form"}


@workers_page
@require_POST
def work_draft(request: HttpRequest, token: str) -> HttpResponse:
    """Saves a draft while the worker types. 204: it is saved. 409: this step is no longer open; the text says why."""
    participant_id = read_participant_token(token)
    form, typed = _read_form(request)
    outcome = save_draft(assignment_id=form.assignment, participant_id=participant_id, number=form.step, data=typed)
    return (
        HttpResponse(status=204) if outcome == "saved" else HttpResponse(outcome, status=409, content_type="text/plain")
    )


@workers_page
@require_http_methods(["GET", "HEAD", "POST"])
def work_return(request: HttpRequest, token: str) -> HttpResponse:
    participant_id = read_participant_token(token)
    if request.method != "POST":
        return to("work", token)
    form = _read_form(request)[0]
    if not return_assignment(assignment_id=form.assignment, participant_id=participant_id):
        return to("work", token)
    return to("work_done", token, "?returned")
