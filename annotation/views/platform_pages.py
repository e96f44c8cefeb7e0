"""What workers from a platform see in its frame: the way in, and the way back when the work is sent.

They need no cookie, because the address identifies the worker. What the address states about the worker is only a
claim; see ``services.arrivals``.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from annotation.instrument import Instrument
from annotation.models import Assignment, Posting, Study
from annotation.platforms.mturk.config import GRACE
from annotation.queries.events import arms_record_edits
from annotation.services.allocation import NotAdmitted
from annotation.services.arrivals import Claim, accept_hit, known_assignment
from annotation.tokens import Seat, participant_token, read_posting_token
from annotation.views.work_events import RECORDING
from annotation.views.work_pages import SeeOther, message, page, workers_page

NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
DISAGREED = "Please tick this box if you agree. If you do not, return this HIT."
State = Assignment.State

REFUSALS = {
    "ended": ("This HIT has ended", "No more work is taken for it. Please return it."),
    "other_arm": (
        "You are taking part in another version of this study",
        "Each person can do one version. Please return this HIT.",
    ),
    "own_text": ("You wrote a text in this HIT", "Nobody rates their own text. Please return this HIT."),
    "done": ("You have sent this HIT before", "Each person can do it once. Please return it."),
    "took_part": (
        "You have already taken part in a related study",
        "Each person can take part in only one of these studies. Please return this HIT.",
    ),
}


@workers_page
@require_http_methods(["GET", "HEAD", "POST"])
def arrival(request: HttpRequest, token: str) -> HttpResponse:
    """The page inside the platform's frame: a preview until the HIT is accepted, then the start page, then the work."""
    posting = Posting.objects.select_related("study", "hit__arm").get(pk=read_posting_token(token))
    study = posting.study
    if request.GET.get("assignmentId", NOT_ACCEPTED) == NOT_ACCEPTED:
        return SeeOther(reverse("study_preview", args=[study.slug])) if _is_open(study) else _refused(study, "ended")
    claim = _claim(request, posting)
    if claim is None:
        return message(
            "This address is not complete",
            "It should say who you are and which HIT you accepted. Open the HIT again from your list of accepted HITs.",
            status=400,
            contact=study.contact,
        )
    known = known_assignment(posting=posting, claim=claim)
    if known is not None:
        return _to_work(known)
    if request.method != "POST":
        return _start_page(posting)
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
        return _refused(study, refusal.reason)
    return _to_work(accepted)


def _is_open(study: Study) -> bool:
    return study.status in (Study.Status.LIVE, Study.Status.PAUSED)


def _claim(request: HttpRequest, posting: Posting) -> Claim | None:
    """The claim in the address, or None if a part of it is missing or is about another HIT."""
    worker, assignment = request.GET.get("workerId", ""), request.GET.get("assignmentId", "")
    if not (_ID.fullmatch(worker) and _ID.fullmatch(assignment)):
        return None
    if request.GET.get("hitId", posting.external_id) != posting.external_id:
        return None
    return Claim(posting.platform, worker, assignment, _submit_to(request))


def _submit_to(request: HttpRequest) -> str:
    """Where to report to the platform that the work is done; empty if the address names a site that is not allowed."""
    given = request.GET.get("turkSubmitTo", "")
    try:
        parts = urlsplit(given)
        site = f"{parts.scheme}://{parts.netloc}"
    except ValueError:
        return ""
    here = f"{request.scheme}://{request.get_host()}"
    known = {here, origin(settings.BASE_URL), *(origin(site) for site in settings.MTURK_SUBMIT_SITES)}
    return given.rstrip("/") if site in known and len(given) <= 400 else ""


def origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _to_work(assignment: Assignment) -> HttpResponse:
    return SeeOther(reverse("work", args=[participant_token(assignment.participant_id, assignment.pk)]))


def _start_page(posting: Posting, *, disagreed: bool = False) -> HttpResponse:
    study, hit = posting.study, posting.hit
    assert hit is not None  # noqa: S101 - every posting with an address of this kind has one
    context: dict[str, Any] = {
        "study": study,
        "on_platform": True,
        "instructions": Instrument.of(study, hit.arm).texts["instructions"],
        "reward": hit.reward,
        "recording": RECORDING if arms_record_edits(study, [hit.arm]) else "",
        "known_by_address": True,
        "preview_url": reverse("study_preview", args=[study.slug]),
        "problems": [("agree", "Taking part:", DISAGREED)] if disagreed else [],
    }
    return page("annotation/start.html", context, status=422 if disagreed else 200)


def _refused(study: Study, reason: str) -> HttpResponse:
    heading, line = REFUSALS.get(reason, REFUSALS["ended"])
    return message(heading, line, status=403, contact=study.contact)


def hand_in_page(request: HttpRequest, token: str, seat: Seat) -> HttpResponse:
    """The work is saved here and must now be reported to the platform. The page can be loaded and can send again."""
    work = Assignment.objects.select_related("hit__study", "participant").get(
        pk=seat.assignment or 0, participant=seat.participant
    )
    study = work.hit.study
    if work.state in (State.RETURNED, State.ABANDONED):
        heading = "You have returned this HIT" if work.state == State.RETURNED else "The time for this HIT was up"
        return message(heading, "What you wrote is saved, but it does not count.", status=409, contact=study.contact)
    if work.state == State.ACCEPTED:
        return SeeOther(reverse("work", args=[token]))
    context = {
        "title": study.title,
        "contact": study.contact,
        "code": work.participant.completion_code,
        "submit_url": f"{work.submit_to}/mturk/externalSubmit" if work.submit_to else "",
        "assignment_id": work.platform_assignment_id,
    }
    response = page("annotation/hand_in.html", context)
    response.form_sites = [origin(work.submit_to)] if work.submit_to else []  # type: ignore[attr-defined]
    return response
