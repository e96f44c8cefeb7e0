"""Doing a task: the work page, returning the task, and the page after submitting it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.languages import gettext as _
from marketplace import clock, links
from marketplace.models import Assignment, Hit, Worker
from marketplace.questions import BadXml, Question, parse_question
from marketplace.services.hits import assignments, due_changes
from marketplace.services.refusals import Refusal
from marketplace.sites.work import form_page, frames
from marketplace.sites.work.files import chosen_files, take_files
from marketplace.sites.work.page import (
    SignedIn,
    accepts_next,
    for_workers,
    say,
    say_refused,
    set_accepts_next,
    show,
)
from marketplace.sites.work.queries import is_more_for, their_assignment

State = Assignment.State
FRAME_SALT = "marketplace.frame"
#: The address of an HTMLQuestion's frame contains a signed token: a HIT's ID alone is not enough to open it.
FRAME_TOKEN_SECONDS = 60 * 24 * 3600
JUST_SUBMITTED = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Frame:
    url: str
    height: int
    sandbox: str
    origin: str = ""


def submit_to(request: HttpRequest) -> str:
    """The address that a requester's page puts before /mturk/externalSubmit."""
    return links.absolute(reverse("market_submit"), request).removesuffix(frames.SUBMIT_PATH)


def parsed(hit: Hit) -> Question | None:
    """The HIT's question; None if it cannot be read, although it was checked when the HIT was created."""
    try:
        return parse_question(hit.question)
    except BadXml:
        return None


def frame_of(request: HttpRequest, hit: Hit, question: Question, assignment: Assignment | None) -> Frame | None:
    """Where and how the question is framed; None for a QuestionForm. Without an assignment, it is a preview."""
    parameters = {
        "hit_id": hit.hit_id,
        "assignment_id": assignment.assignment_id if assignment else frames.NOT_AVAILABLE,
        "worker_id": assignment.worker.worker_id if assignment else "",
        "submit_to": submit_to(request),
    }
    if question.kind == "ExternalQuestion":
        url = frames.question_url(question.url, **parameters)
        return Frame(url, question.height, frames.EXTERNAL_SANDBOX, frames.origin(question.url))
    if question.kind == "HTMLQuestion":
        token = signing.dumps([hit.pk, assignment.pk if assignment else None], salt=FRAME_SALT)
        url = frames.question_url(reverse("market_frame", args=[token]), **parameters)
        return Frame(url, question.height, frames.HTML_SANDBOX)
    return None


def question_context(
    request: HttpRequest, hit: Hit, assignment: Assignment | None = None
) -> tuple[dict[str, Any], str]:
    """What the templates need to show a question, and the policy of the page that shows it."""
    question = parsed(hit)
    if question is None:
        return {}, frames.page_policy([])
    if question.form is not None:
        files = chosen_files(assignment, question.form)
        policy = frames.form_policy(form_page.media_origins(question.form))
        return {"question_form": form_page.fresh(question.form, files)}, policy
    frame = frame_of(request, hit, question, assignment)
    own_origin = frames.origin(links.base(request))  # where the frame sends its form
    return {"frame": frame}, frames.page_policy(
        [frame_origin for frame_origin in (frame.origin if frame else "", own_origin) if frame_origin]
    )


@for_workers
@require_http_methods(["GET", "POST"])
def task(request: SignedIn, worker: Worker, assignment_id: str) -> HttpResponseBase:
    assignment = their_assignment(worker, assignment_id)
    due_changes.bring_up_to_date(hit=assignment.hit)
    assignment.refresh_from_db(fields=["state", "deadline"])
    if assignment.state != State.ACCEPTED:
        return _not_open(request, worker, assignment)
    context, policy = question_context(request, assignment.hit, assignment)
    status = 200
    if request.method == "POST":
        question = parsed(assignment.hit)
        if question is None or question.form is None:
            raise Http404("This question is answered on its own page.")
        files = take_files(request, assignment, question.form)
        page, answers = form_page.answered(question.form, request.POST, files)
        if not page.wrong:
            try:
                assignments.submit(assignment_id=assignment.assignment_id, worker=worker, answers=answers)
            except Refusal as refused:
                say_refused(request, refused)
                return redirect("market_task", assignment.assignment_id)
            return redirect("market_done", assignment.assignment_id)
        context, status = {"question_form": page}, 422
    seconds = int((assignment.deadline - clock.now()).total_seconds())
    context |= {
        "assignment": assignment,
        "hit_type": assignment.hit.hit_type,
        "seconds_left": max(0, seconds),
        "accept_next": accepts_next(request, assignment.hit.hit_type),
    }
    response = show(request, "task.html", context, worker=worker, section="tasks", status=status)
    response["Content-Security-Policy"] = policy
    return response


def _not_open(request: SignedIn, worker: Worker, assignment: Assignment) -> HttpResponse:
    if assignment.state in (State.SUBMITTED, State.APPROVED, State.REJECTED):
        return redirect("market_done", assignment.assignment_id)
    link = (reverse("market_group", args=[assignment.hit.hit_type.type_id]), _("See if there are more of these tasks"))
    if assignment.state == State.RETURNED:
        return say(
            request, _("You returned this task"), _("It is no longer yours."), worker=worker, link=link, status=410
        )
    line = _("The time for this task is over, so it is offered to somebody else. This does not count against you.")
    return say(request, _("Out of time"), line, worker=worker, link=link, status=410)


@for_workers
@require_POST
def give_back(request: SignedIn, worker: Worker, assignment_id: str) -> HttpResponse:
    assignment = their_assignment(worker, assignment_id)
    try:
        assignments.return_(assignment_id=assignment.assignment_id, worker=worker)
    except Refusal as refused:
        say_refused(request, refused)
        return redirect("market_task", assignment_id)
    messages.success(request, _("You returned “%(task)s”.") % {"task": assignment.hit.hit_type.title})
    return redirect("market_home")


@for_workers
@require_POST
def accept_next(request: SignedIn, worker: Worker, assignment_id: str) -> HttpResponse:
    """Save whether to accept the next task of this group as soon as this one is submitted. A script sends this."""
    assignment = their_assignment(worker, assignment_id)
    set_accepts_next(request, assignment.hit.hit_type, on=request.POST.get("next") == "1")
    return HttpResponse(status=204)


@for_workers
@require_safe
def done(request: SignedIn, worker: Worker, assignment_id: str) -> HttpResponseBase:
    """The page after a submission. The next task of the group is one click away, or starts without a click."""
    assignment = their_assignment(worker, assignment_id)
    due_changes.bring_up_to_date(hit=assignment.hit)
    assignment.refresh_from_db()
    if assignment.state == State.ACCEPTED:
        messages.warning(request, _("Your answers have not arrived yet."))
        return redirect("market_task", assignment_id)
    if assignment.state in (State.RETURNED, State.ABANDONED):
        return _not_open(request, worker, assignment)
    hit_type = assignment.hit.hit_type
    has_more = is_more_for(worker, hit_type)
    accept_next = has_more and accepts_next(request, hit_type)
    context = {
        "assignment": assignment,
        "hit_type": hit_type,
        "more": has_more,
        "accept_next": accept_next,
        # But not when the worker returns to this page later.
        "at_once": accept_next and clock.now() - (assignment.submitted_at or clock.now()) < JUST_SUBMITTED,
    }
    return show(request, "done.html", context, worker=worker, section="tasks")


@never_cache
@require_safe
def frame(request: HttpRequest, token: str) -> HttpResponse:
    """An HTMLQuestion without our page around it. It needs no session and cannot act as this site."""
    try:
        hit_pk, _ = signing.loads(token, salt=FRAME_SALT, max_age=FRAME_TOKEN_SECONDS)
    except signing.BadSignature:
        raise Http404("No such page.") from None
    question = parsed(get_object_or_404(Hit, pk=hit_pk))
    if question is None or question.kind != "HTMLQuestion":
        raise Http404("No such page.")
    script = links.absolute(static("marketplace-question.js"), request)
    submit = links.absolute(reverse("market_submit"), request)
    response = HttpResponse(frames.with_own_addresses(question.html, submit=submit, script=script))
    response["Content-Security-Policy"] = frames.html_question_policy(frames.origin(links.base(request)))
    response["Referrer-Policy"] = "no-referrer"
    response.xframe_options_exempt = True
    return response
