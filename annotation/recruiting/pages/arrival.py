"""The page where workers from a platform arrive, in its frame.

They need no cookie, because the address identifies the worker. The worker's ids in the address are only a claim; see
``recruiting.arrivals``.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from annotation.languages import gettext as _
from annotation.languages import marked, money, speak
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
from annotation.recruiting.qualifications import ask_to_grant
from annotation.tokens import arrival_token, participant_token, read_arrival_token, read_posting_token
from annotation.work.allocation import NotAdmitted
from annotation.work.pages.preview import limit_note
from annotation.work.pages.start import start_context
from annotation.work.pages.worker_page import Link, SeeOther, message, page, workers_page
from common.numbers import whole_number

#: Extra time, because the worker's browser may need a moment to send. The platform ends an assignment, not this server:
#: its clock started when the worker accepted, just before they came here, and it is the only one that they see.
GRACE = timedelta(minutes=5)
DISAGREED = marked("Please tick this box if you agree. If you do not agree, {way_out}")
State = Assignment.State

#: What a worker reads, by reason, with the platform's word for the work. The platform's ``way_out`` follows.
REFUSALS = {
    "ended": (marked("This {task} has ended"), marked("No more work is taken for it.")),
    "other_arm": (
        marked("You are taking part in another version of this study"),
        marked("Each person can do one version."),
    ),
    "own_text": (marked("You wrote a text in this {task}"), marked("Nobody rates their own text.")),
    "had_text": (
        marked("You have already rated a text of this {task}"),
        marked("Each text needs ratings by different people. This does not affect the work you have sent."),
    ),
    "done": (marked("You have sent this {task} before"), marked("Each person can do it once.")),
    "done_elsewhere": (
        marked("You have already done this task in another {task}"),
        marked("Each person can do it once."),
    ),
    "open_elsewhere": (
        marked("You are already doing this task in another {task}"),
        marked("Each person can do it once, so finish that {task}."),
    ),
    "limit": (marked("You have done all the tasks that one person can do here"), marked("Thank you for your work.")),
    "taken": (
        marked("All tasks are taken right now"),
        marked("Somebody is working on each of them, or they are done."),
    ),
    "full": (marked("This study has all the participants it needs"), marked("Thank you for your interest.")),
    "excluded": (
        marked("There are no more tasks for you in this study"),
        marked("The researchers have ended your participation."),
    ),
    "turned_away": (
        marked("You cannot take part in this study"),
        marked("Your answers before the first task decided that."),
    ),
    "exam": (
        marked("This {task} is for people who passed another one"),
        marked("Take part in that one first. If you have, your result was not good enough."),
    ),
    "took_part": (
        marked("You have already taken part in a related study"),
        marked("Each person can take part in only one of these studies."),
    ),
}
#: Reasons that are no fault of the worker, who came from the platform in good faith.
NOT_FOR_THEM = ("turned_away", "other_arm", "own_text", "had_text", "taken", "full", "exam", "took_part")


@workers_page
@require_http_methods(["GET", "HEAD", "POST"])
def arrival(request: HttpRequest, token: str) -> HttpResponse:
    """The page inside the platform's frame: a preview until the HIT is accepted, then the start page, then the work."""
    posting = Posting.objects.select_related("study", "hit__arm").get(pk=read_posting_token(token))
    study = posting.study
    speak(study.voice())
    platform = platform_class(posting.platform)
    server_origin = f"{request.scheme}://{request.get_host()}"
    try:
        claim = platform.arrive(posting, settings_of(study, platform), request.GET.dict(), server_origin)
    except BadArrival as wrong:
        return message(_(wrong.heading), _(wrong.line), status=400, contact=study.contact)
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


def _to_work(assignment: Assignment) -> HttpResponse:
    return SeeOther(reverse("work", args=[participant_token(assignment.participant_id, assignment.pk)]))


def _start_page(posting: Posting, claim: Claim, *, disagreed: bool = False) -> HttpResponse:
    study, platform = posting.study, platform_class(posting.platform)
    way_out = _(platform.way_out)[0].lower() + _(platform.way_out)[1:]
    decline = platform.way_back(posting, settings_of(study, platform), NO_CONSENT) if study.consent else None
    # If all arms share one listing, the arm is drawn at the start, and some may pay more.
    rewards = study.hits.order_by().values_list("reward", flat=True).distinct() if posting.one_listing else ()
    offered, bonus_note = {posting.pays, *rewards}, ""
    if more := max(offered) - posting.pays:
        bonus_note = (
            _("You get %(amount)s.") % {"amount": money(posting.pays)}
            + " "
            + _("Some versions of this task pay up to %(more)s more, as a bonus when your work is approved.")
            % {"more": money(more)}
            + " "
            + _("Which version you get is decided by chance when you start.")
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
        "problems": [("agree", _("Taking part:"), _(DISAGREED).format(way_out=way_out))] if disagreed else [],
    }
    return page("work/start.html", context, status=422 if disagreed else 200)


def _refused(posting: Posting, reason: str, claim: Claim | None = None) -> HttpResponse:
    platform = platform_class(posting.platform)
    if reason in ("limit_open", "had_text_open") and claim is not None:
        # With the hits in progress, the worker has all that one person can do, or is rating a text of this hit already,
        # unless they returned one of these.
        same_text = reason == "had_text_open"
        context = {
            "most": posting.study.hits_per_worker,
            "same_text": same_text,
            "task": _(platform.task),
            "way_out": _(platform.way_out),
            "open": in_progress_elsewhere(posting=posting, claim=claim, same_text=same_text),
            "contact": posting.study.contact,
        }
        return page("recruiting/at_limit.html", context, status=403)
    heading, line = REFUSALS.get(reason, REFUSALS["ended"])
    task, contact = _(platform.task), posting.study.contact
    heading, line = _(heading).format(task=task), _(line).format(task=task)
    can_go_back = claim is not None and reason in NOT_FOR_THEM
    settings = settings_of(posting.study, platform)
    back = platform.way_back(posting, settings, NOT_ELIGIBLE) if can_go_back else None
    if back is None:
        return message(heading, line, _(platform.way_out), status=403, contact=contact)
    lines = [line, back.note, _("If you are asked for a completion code there, enter %(code)s.") % {"code": back.code}]
    link = Link(back.link, _("Back to %(site)s") % {"site": platform.site})
    return message(heading, *filter(None, lines), status=403, contact=contact, link=link)
