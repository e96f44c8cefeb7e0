"""What workers from a platform see in its frame: the page where they arrive, and the page that reports their work.

They need no cookie, because the address identifies the worker. The worker's ids in the address are only a claim; see
``recruiting.arrivals``.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from annotation.models import Assignment, Posting, Study
from annotation.platforms import platform_class
from annotation.platforms.base import NO_CONSENT, NOT_ELIGIBLE, BadArrival, Claim
from annotation.recruiting.arrivals import (
    accept_hit,
    assignment_of_claim,
    in_progress_elsewhere,
    note_returned,
    starts_at_once,
    why_barred,
)
from annotation.recruiting.publishing import settings_of
from annotation.recruiting.qualifications import ask_to_grant, is_granted
from annotation.tokens import Seat, arrival_token, participant_token, read_arrival_token, read_posting_token, read_seat
from annotation.work.allocation import NotAdmitted
from annotation.work.hourly_pay import exact_sum
from annotation.work.pages.done import NOTICES, done_page
from annotation.work.pages.preview import limit_note
from annotation.work.pages.start import start_context
from annotation.work.pages.terms import payment_words
from annotation.work.pages.worker_page import Link, SeeOther, message, page, workers_page
from common.numbers import whole_number
from common.words import counted, money

#: Extra time, because the worker's browser may need a moment to send. The platform ends an assignment, not this server:
#: its clock started when the worker accepted, just before they came here, and it is the only one that they see.
GRACE = timedelta(minutes=5)
DISAGREED = "Please tick this box if you agree. If you do not agree, {}"
State = Assignment.State

#: What a worker reads, by reason, with the platform's word for the work. The platform's ``way_out`` follows.
REFUSALS = {
    "ended": ("This {task} has ended", "No more work is taken for it."),
    "other_arm": ("You are taking part in another version of this study", "Each person can do one version."),
    "own_text": ("You wrote a text in this {task}", "Nobody rates their own text."),
    "had_text": (
        "You have already rated a text of this {task}",
        "Each text needs ratings by different people. This does not affect the work you have sent.",
    ),
    "done": ("You have sent this {task} before", "Each person can do it once."),
    "done_elsewhere": (
        "You have already done this task in another {task}",
        "Each person can do it once.",
    ),
    "open_elsewhere": (
        "You are already doing this task in another {task}",
        "Each person can do it once, so finish that {task}.",
    ),
    "limit": ("You have done all the tasks that one person can do here", "Thank you for your work."),
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
#: Reasons that are no fault of the worker, who came from the platform in good faith.
NOT_FOR_THEM = ("other_arm", "own_text", "had_text", "taken", "full", "exam", "took_part")


@workers_page
@require_http_methods(["GET", "HEAD", "POST"])
def arrival(request: HttpRequest, token: str) -> HttpResponse:
    """The page inside the platform's frame: a preview until the HIT is accepted, then the start page, then the work."""
    posting = Posting.objects.select_related("study", "hit__arm").get(pk=read_posting_token(token))
    study = posting.study
    platform = platform_class(posting.platform)
    server_origin = f"{request.scheme}://{request.get_host()}"
    try:
        claim = platform.arrive(posting, settings_of(study, platform), request.GET.dict(), server_origin)
    except BadArrival as wrong:
        return message(wrong.heading, wrong.line, status=400, contact=study.contact)
    if claim is None:
        is_open = study.status in (Study.Status.LIVE, Study.Status.PAUSED)
        return SeeOther(reverse("study_preview", args=[study.slug])) if is_open else _refused(posting, "ended")
    assignment = assignment_of_claim(posting=posting, claim=claim)
    if assignment is not None:
        return _to_work(assignment)
    if request.method == "POST" and "returned" in request.POST:
        number = whole_number(request.POST["returned"], least=1, most=2**53)
        note_returned(posting=posting, claim=claim, assignment_id=number or 0)
        return SeeOther(request.get_full_path())
    if request.method != "POST" and not (request.method == "GET" and starts_at_once(posting=posting, claim=claim)):
        reason = why_barred(posting=posting, claim=claim)
        return _refused(posting, reason, claim) if reason else _start_page(posting, claim)
    if request.method == "POST" and study.consent and request.POST.get("agree") != "yes":
        return _start_page(posting, claim, disagreed=True)
    came_at = read_arrival_token(request.POST.get("start", ""), posting.pk, claim.assignment_id) or timezone.now()
    try:
        accepted = accept_hit(
            posting=posting,
            claim=claim,
            expires_at=came_at + timedelta(minutes=study.time_limit_minutes) + GRACE,
            consented=bool(study.consent),
        )
    except NotAdmitted as refusal:
        return _refused(posting, refusal.reason, claim)
    ask_to_grant(accepted)
    return _to_work(accepted)


def origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _to_work(assignment: Assignment) -> HttpResponse:
    return SeeOther(reverse("work", args=[participant_token(assignment.participant_id, assignment.pk)]))


def _start_page(posting: Posting, claim: Claim, *, disagreed: bool = False) -> HttpResponse:
    study, platform = posting.study, platform_class(posting.platform)
    way_out = platform.way_out[0].lower() + platform.way_out[1:]
    decline = platform.way_back(posting, settings_of(study, platform), NO_CONSENT) if study.consent else None
    # If all arms share one listing, the arm is drawn at the start, and some may pay more.
    rewards = study.hits.order_by().values_list("reward", flat=True).distinct() if posting.one_listing else ()
    offered, bonus_note = {posting.pays, *rewards}, ""
    if more := max(offered) - posting.pays:
        bonus_note = (
            f"You get {money(posting.pays)}. Some versions of this task pay up to {money(more)} more, as a bonus when "
            "your work is approved. Which version you get is decided by chance when you start."
        )
    context: dict[str, Any] = {
        **start_context(
            study,
            posting.hit.arm if posting.hit and not posting.one_listing else None,
            platform=platform,
            offered=offered,
        ),
        "on_platform": True,
        "limit_note": limit_note(study),
        "bonus_note": bonus_note,
        "known_by_address": True,
        "start": arrival_token(posting.pk, claim.assignment_id),
        "decline": decline,
        "platform": platform,
        "preview_url": reverse("study_preview", args=[study.slug]),
        "problems": [("agree", "Taking part:", DISAGREED.format(way_out))] if disagreed else [],
    }
    return page("work/start.html", context, status=422 if disagreed else 200)


def _refused(posting: Posting, reason: str, claim: Claim | None = None) -> HttpResponse:
    platform = platform_class(posting.platform)
    if reason in ("limit_open", "had_text_open") and claim is not None:
        # With the hits in progress, the worker has all that one person can do, or is rating a text of this hit already,
        # unless they returned one of these.
        same_text = reason == "had_text_open"
        context = {
            "most": counted(posting.study.hits_per_worker or 0, platform.task),
            "same_text": same_text,
            "task": platform.task,
            "way_out": platform.way_out,
            "open": in_progress_elsewhere(posting=posting, claim=claim, same_text=same_text),
            "contact": posting.study.contact,
        }
        return page("recruiting/at_limit.html", context, status=403)
    heading, line = REFUSALS.get(reason, REFUSALS["ended"])
    heading, line, contact = heading.format(task=platform.task), line.format(task=platform.task), posting.study.contact
    can_go_back = claim is not None and reason in NOT_FOR_THEM
    back = platform.way_back(posting, settings_of(posting.study, platform), NOT_ELIGIBLE) if can_go_back else None
    if back is None:
        return message(heading, line, platform.way_out, status=403, contact=contact)
    lines = [line, back.note, f"If you are asked for a completion code there, enter {back.code}."]
    link = Link(back.link, f"Back to {platform.site}")
    return message(heading, *filter(None, lines), status=403, contact=contact, link=link)


def _work_and_earnings() -> QuerySet[Any]:
    """Assignments, each with ``n_sent``, how many its participant has sent in the study, and ``earns``, the sum of the
    rewards of these in USD."""
    submitted = Assignment.objects.filter(
        participant=OuterRef("participant"), state__in=(State.SUBMITTED, State.RELEASED)
    )
    by_participant = submitted.order_by().values("participant")
    return Assignment.objects.select_related("hit__study", "participant__worker", "posting").annotate(
        n_sent=Subquery(by_participant.annotate(n=Count("pk")).values("n")),
        earns=Subquery(by_participant.annotate(sum=Sum("hit__reward")).values("sum")),
    )


def hand_in_page(request: HttpRequest, token: str, seat: Seat) -> HttpResponse:
    """The page that reports work to the platform after it is saved here. Loading and sending it again does no harm."""
    work = _work_and_earnings().get(pk=seat.assignment or 0, participant=seat.participant)
    study, task = work.hit.study, platform_class(work.posting.platform).task if work.posting else "task"
    if work.state == State.STOPPED:
        # The platform still has their assignment, and pays it only when it is finished.
        lines = (
            f"You are owed {money(work.part_payment.amount)} for the steps that you sent. The researchers pay it "
            "separately.",
            f"Please return the {task} on the site where you accepted it. If you write to the researchers about your "
            f"pay, give them this code: {work.participant.completion_code}",
        )
        return message(f"You have stopped this {task}", *lines, status=200, contact=study.contact)
    if work.state in (State.RETURNED, State.ABANDONED):
        returned = work.state == State.RETURNED
        heading = f"You have returned this {task}" if returned else f"The time for this {task} was up"
        return message(heading, "What you wrote is saved, but it does not count.", status=409, contact=study.contact)
    if work.state == State.ACCEPTED:
        return SeeOther(reverse("work", args=[token]))
    assert work.posting is not None  # noqa: S101 - only a posting's assignments have such a seat
    platform = platform_class(work.posting.platform)
    finish = platform.finish(work, settings_of(study, platform))
    context = {"title": study.title, "contact": study.contact, "finish": finish, "platform": platform}
    pays = max(work.posting.pays, work.hit.reward) if work.posting.one_listing else work.posting.pays
    earned = f"You earn {money(pays)} for this {task} once it is approved." if pays else ""
    if pays and work.n_sent > 1:
        earned += f" With your earlier work in this study, that makes {money(exact_sum(work.earns))}."
    context |= {"pays": pays, "earned": earned}
    context["payment"] = payment_words(study.pay_note, study.platforms, platform, pays=pays > 0)
    context["record_url"] = reverse("work_record", args=[token])
    if finish.form_url and ask_to_grant(work):
        context["ready_url"] = reverse("work_ready", args=[token])
    response = page("recruiting/hand_in.html", context)
    response.form_sites = [origin(finish.form_url)] if finish.form_url else []  # type: ignore[attr-defined]
    return response


@workers_page
@require_http_methods(["GET"])
def work_ready(request: HttpRequest, token: str) -> HttpResponse:
    """204 if the platform knows what this work means for what its worker is offered next; 202 if it does not yet."""
    seat = read_seat(token)
    rows = Assignment.objects.select_related("hit__study", "participant__worker", "posting")
    work = rows.get(pk=seat.assignment or 0, participant=seat.participant)
    return HttpResponse(status=204 if is_granted(work) else 202)


@workers_page
@require_http_methods(["GET", "HEAD"])
def work_done(request: HttpRequest, token: str) -> HttpResponse:
    notice = next((notice for name, notice in NOTICES.items() if name in request.GET), None)
    seat = read_seat(token)
    if seat.assignment is not None:
        return hand_in_page(request, token, seat)
    return done_page(token, seat.participant, notice=notice)
