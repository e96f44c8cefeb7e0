"""What only this server or only the platform has, and what to do: send again, fetch, compensate, or leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Assignment, Compensation, OutsideAssignment, PartPayment, Payment, Study
from annotation.platforms import connect, known
from annotation.platforms.base import PlatformTrouble
from annotation.platforms.changing import changes_class
from annotation.queries import platform_overview as overview
from annotation.queries import platforms as queries
from annotation.queries.part_pay import unpaid_parts_there
from annotation.services.compensating import compensate
from annotation.services.fetching import fetch_answer
from annotation.tokens import participant_token
from annotation.views.console.page import SignedIn, member, say_refused, study_page
from common.problems import Refused
from common.words import money

SECTION = "platforms"
MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class HereOnly:
    """Work that was sent here and is unknown to the platform. ``in_time``: the worker can still submit it there."""

    work: Assignment
    in_time: bool
    address: str
    paid: bool
    compensation: Compensation | None


@dataclass(frozen=True, slots=True)
class ThereOnly:
    """Work that was sent on the platform and is incomplete here. ``work`` is the part that is here."""

    outside: OutsideAssignment
    work: Assignment | None


@require_safe
@member(read="editor")
def reconcile(request: SignedIn, study: Study) -> HttpResponseBase:
    name = overview.posted_on(study)
    found = queries.differences(study)
    here = overview.by_platform_id(study)
    context = {
        "platform": known().get(name),
        "posted": name,
        "changes": changes_class(name),
        "synced_at": overview.stand(study, name).synced_at if name else None,
        "here_only": _here_only(study, found.here_only[:MOST_ROWS]),
        "there_only": [
            ThereOnly(each, next(iter(here.get((each.posting_id, each.external_id), ())), None))
            for each in found.there_only[:MOST_ROWS]
        ],
        "stopped": _stopped(study, name),
        "other_worker": found.other_worker[:MOST_ROWS],
        "counts": (len(found.here_only), len(found.there_only), len(found.other_worker)),
        "most": MOST_ROWS,
        "unconfirmed": queries.unconfirmed_submissions(study).count(),
        "compensations": Compensation.objects.filter(study=study)
        .select_related("assignment__participant")
        .order_by("-pk"),
    }
    return study_page(request, study, "platforms/reconcile.html", context, section=SECTION)


def _here_only(study: Study, works: Sequence[Assignment]) -> list[HereOnly]:
    promised = {each.assignment_id: each for each in Compensation.objects.filter(study=study)}
    paid = set(Payment.objects.filter(study=study).values_list("submission__assignment", flat=True))
    now = timezone.now()
    return [
        HereOnly(each, _in_time(each, now), _address(each), each.pk in paid, promised.get(each.pk)) for each in works
    ]


def _stopped(study: Study, platform: str) -> list[PartPayment]:
    """Who is owed a part of the reward, where an extra HIT can pay it."""
    if not changes_class(platform).pays_by_posting:
        return []
    return list(unpaid_parts_there(study).order_by("pk")[:MOST_ROWS])


def _in_time(work: Assignment, now: datetime) -> bool:
    return bool(work.submit_to) and work.expires_at > now


def _address(work: Assignment) -> str:
    """The worker's own page, which can submit on the platform again."""
    return f"{settings.BASE_URL}{reverse('work', args=[participant_token(work.participant_id, work.pk)])}"


@require_POST
@member(write="editor")
def fetch(request: SignedIn, study: Study) -> HttpResponseBase:
    """Completes work that the platform has, from its answer and the drafts here."""
    outside = get_object_or_404(
        OutsideAssignment.objects.select_related("posting__study", "posting__hit"),
        pk=_pk(request, "outside"),
        posting__study=study,
    )
    try:
        sent = fetch_answer(outside=outside, actor=request.user.get_username())
    except Refused as refused:
        say_refused(request, refused)
    else:
        messages.success(request, f"The work of {sent.participant.pseudonym} is a submission now.")
    return redirect("console_reconcile", study.slug)


@require_POST
@member(write="owner")
def pay_outside(request: SignedIn, study: Study) -> HttpResponseBase:
    """Pays one worker for work that cannot be paid through its own HIT: through another HIT, or by a bonus."""
    works = Assignment.objects.select_related("hit__study", "posting", "participant__worker")
    work = get_object_or_404(works, pk=_pk(request, "work"), hit__study=study)
    try:
        owed = compensate(
            work=work,
            amount=_amount(request),
            reason=request.POST.get("reason", ""),
            platform=connect(work.participant.worker.platform),
            actor=request.user.get_username(),
        )
    except Refused as refused:
        say_refused(request, refused)
    except PlatformTrouble as trouble:
        messages.error(request, f"{trouble} You can continue below: nothing is paid twice.")
    else:
        who = work.participant.pseudonym
        bonus = f"{who} was paid a bonus of {money(owed.amount)}."
        said = bonus if owed.paid_at else f"{who} can accept a HIT that pays {money(owed.amount)}."
        messages.success(request, said)
    return redirect("console_reconcile", study.slug)


def _pk(request: SignedIn, name: str) -> int:
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def _amount(request: SignedIn) -> Decimal:
    """The amount in the form, in USD. If it is not a number, an amount that the service refuses."""
    try:
        return Decimal(request.POST.get("amount", "").strip()[:20])
    except InvalidOperation:
        return Decimal("NaN")
