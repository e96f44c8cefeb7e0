"""What workers from a platform see in its frame: the page where they arrive, and the page that reports their work.

They need no cookie, because the address identifies the worker. The worker's ids in the address are only a claim; see
``services.arrivals``.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from annotation.models import Assignment, Posting, Study
from annotation.platforms import platform_class
from annotation.platforms.base import BadArrival, Claim
from annotation.services.allocation import NotAdmitted
from annotation.services.arrivals import (
    accept_hit,
    barred_by_limit,
    in_progress_elsewhere,
    known_assignment,
    note_returned,
)
from annotation.services.publishing import settings_of
from annotation.tokens import Seat, participant_token, read_posting_token
from annotation.views.work_pages import SeeOther, message, page, workers_page
from annotation.views.work_start import limit_note, start_context
from common.numbers import whole_number
from common.words import counted, money

#: Extra time, because the worker's browser may need a moment to send. The platform ends an assignment, not this server.
GRACE = timedelta(minutes=5)
DISAGREED = "Please tick this box if you agree. If you do not agree, {}"
State = Assignment.State

#: What a worker reads, by reason, with the platform's word for the work. The platform's ``way_out`` follows.
REFUSALS = {
    "ended": ("This {task} has ended", "No more work is taken for it."),
    "other_arm": ("You are taking part in another version of this study", "Each person can do one version."),
    "own_text": ("You wrote a text in this {task}", "Nobody rates their own text."),
    "done": ("You have sent this {task} before", "Each person can do it once."),
    "done_elsewhere": (
        "You have done the same work in another {task}",
        "Each person can do it once. This {task} is for somebody else.",
    ),
    "open_elsewhere": (
        "You are doing the same work in another {task}",
        "Each person can do it once, so finish that {task}. This one is for somebody else.",
    ),
    "limit": ("You have done all that one person can do in this study", "There are no more tasks for you."),
    "taken": ("All tasks are taken right now", "Somebody is working on each of them, or they are done."),
    "full": ("This study has all the participants it needs", "Thank you for your interest."),
    "excluded": ("There are no more tasks for you in this study", "The researchers have ended your participation."),
    "exam": (
        "This {task} is for people who passed another one",
        "Take part in that one first. If you have, your result was not good enough.",
    ),
    "took_part": (
        "You have already taken part in a related study",
        "Each person can take part in only one of these studies.",
    ),
}


@workers_page
@require_http_methods(["GET", "HEAD", "POST"])
def arrival(request: HttpRequest, token: str) -> HttpResponse:
    """The page inside the platform's frame: a preview until the HIT is accepted, then the start page, then the work."""
    posting = Posting.objects.select_related("study", "hit__arm").get(pk=read_posting_token(token))
    study = posting.study
    platform = platform_class(posting.platform)
    try:
        claim = platform.arrive(posting, settings_of(study, platform), request.GET.dict(), _here(request))
    except BadArrival as wrong:
        return message(wrong.heading, wrong.line, status=400, contact=study.contact)
    if claim is None:
        return SeeOther(reverse("study_preview", args=[study.slug])) if _is_open(study) else _refused(posting, "ended")
    known = known_assignment(posting=posting, claim=claim)
    if known is not None:
        return _to_work(known)
    if request.method == "POST" and "returned" in request.POST:
        number = whole_number(request.POST["returned"], least=1, most=2**53)
        note_returned(posting=posting, claim=claim, assignment_id=number or 0)
        return SeeOther(request.get_full_path())
    if request.method != "POST":
        barred = barred_by_limit(posting=posting, claim=claim)
        return _refused(posting, barred, claim) if barred and _is_open(study) else _start_page(posting)
    if study.consent and request.POST.get("agree") != "yes":
        return _start_page(posting, disagreed=True)
    try:
        accepted = accept_hit(
            posting=posting,
            claim=claim,
            expires_at=timezone.now() + timedelta(minutes=study.time_limit_minutes) + GRACE,
            consented=bool(study.consent),
        )
    except NotAdmitted as refusal:
        return _refused(posting, refusal.reason, claim)
    return _to_work(accepted)


def _is_open(study: Study) -> bool:
    return study.status in (Study.Status.LIVE, Study.Status.PAUSED)


def _here(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"


def origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _to_work(assignment: Assignment) -> HttpResponse:
    return SeeOther(reverse("work", args=[participant_token(assignment.participant_id, assignment.pk)]))


def _start_page(posting: Posting, *, disagreed: bool = False) -> HttpResponse:
    study = posting.study
    way_out = platform_class(posting.platform).way_out
    way_out = way_out[0].lower() + way_out[1:]
    context: dict[str, Any] = {
        **start_context(study, posting.hit.arm if posting.hit else None),
        "on_platform": True,
        "limit_note": limit_note(study),
        "reward": posting.pays,
        "known_by_address": True,
        "preview_url": reverse("study_preview", args=[study.slug]),
        "problems": [("agree", "Taking part:", DISAGREED.format(way_out))] if disagreed else [],
    }
    return page("annotation/start.html", context, status=422 if disagreed else 200)


def _refused(posting: Posting, reason: str, claim: Claim | None = None) -> HttpResponse:
    platform = platform_class(posting.platform)
    if reason == "limit_open" and claim is not None:
        return _limit_page(posting, claim)
    heading, line = REFUSALS.get(reason, REFUSALS["ended"])
    lines = (line.format(task=platform.task), platform.way_out)
    return message(heading.format(task=platform.task), *lines, status=403, contact=posting.study.contact)


def _limit_page(posting: Posting, claim: Claim) -> HttpResponse:
    """With the hits in progress, the worker has all that one person can do, unless they returned one of these."""
    platform = platform_class(posting.platform)
    context = {
        "most": counted(posting.study.hits_per_worker or 0, platform.task),
        "task": platform.task,
        "way_out": platform.way_out,
        "open": in_progress_elsewhere(posting=posting, claim=claim),
        "contact": posting.study.contact,
    }
    return page("annotation/at_limit.html", context, status=403)


def _stopped_page(work: Assignment) -> HttpResponse:
    """The page for a worker who stopped for part pay. The platform still has their assignment, and pays it only when it
    is finished."""
    task = platform_class(work.posting.platform).task if work.posting else "task"
    lines = (
        f"You are owed {money(work.part_payment.amount)} for the steps that you sent. The researchers pay it "
        "separately.",
        f"Please return the {task} on the site where you accepted it. If you write to the researchers about your pay, "
        f"give them this code: {work.participant.completion_code}",
    )
    return message(f"You have stopped this {task}", *lines, status=200, contact=work.hit.study.contact)


def hand_in_page(request: HttpRequest, token: str, seat: Seat) -> HttpResponse:
    """The page that reports work to the platform after it is saved here. Loading and sending it again does no harm."""
    work = Assignment.objects.select_related("hit__study", "participant__worker", "posting").get(
        pk=seat.assignment or 0, participant=seat.participant
    )
    study = work.hit.study
    if work.state == State.STOPPED:
        return _stopped_page(work)
    if work.state in (State.RETURNED, State.ABANDONED):
        task = platform_class(work.posting.platform).task if work.posting else "task"
        returned = work.state == State.RETURNED
        heading = f"You have returned this {task}" if returned else f"The time for this {task} was up"
        return message(heading, "What you wrote is saved, but it does not count.", status=409, contact=study.contact)
    if work.state == State.ACCEPTED:
        return SeeOther(reverse("work", args=[token]))
    assert work.posting is not None  # noqa: S101 - only a posting's assignments have such a seat
    platform = platform_class(work.posting.platform)
    finish = platform.finish(work, settings_of(study, platform))
    context = {"title": study.title, "contact": study.contact, "finish": finish, "platform": platform}
    context["record_url"] = reverse("work_record", args=[token])
    response = page("annotation/hand_in.html", context)
    response.form_sites = [origin(finish.form_url)] if finish.form_url else []  # type: ignore[attr-defined]
    return response
