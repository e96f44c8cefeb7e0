"""What only this server or only the platform has, and what to do: send again, fetch, compensate, or leave."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from annotation.access import SEES_PAYMENTS
from annotation.models import Assignment, Compensation, OutsideAssignment, Payment, Study
from annotation.platforms import all_platforms, changes_class, connect
from annotation.platforms.calls import PlatformTrouble
from annotation.recruiting import differences, offered_work
from annotation.recruiting.compensating import compensate
from annotation.recruiting.fetching_work import fetch_answer
from annotation.shell.page import SignedIn, member, say_refused, study_page
from annotation.tokens import participant_token
from annotation.work import confirmation
from annotation.work.part_pay import unpaid_parts_there
from common.problems import Refused
from common.words import money

SECTION = "platforms"
MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class HereOnly:
    """Work that was sent here and is unknown to the platform. ``in_time``: the worker can still
    submit it there, from the page at ``address``."""

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
@member(read=SEES_PAYMENTS)
def reconcile(request: SignedIn, study: Study) -> HttpResponseBase:
    name = offered_work.posted_on(study)
    changes, differing = changes_class(name), differences.differences(study)
    by_id = differences.by_platform_id(study)
    promised = {compensation.assignment_id: compensation for compensation in Compensation.objects.filter(study=study)}
    paid = set(Payment.objects.filter(study=study).values_list("submission__assignment", flat=True))
    now = timezone.now()
    here_only = [
        HereOnly(
            work=work,
            in_time=bool(work.submit_to) and work.expires_at > now,
            address=f"{settings.BASE_URL}{reverse('work', args=[participant_token(work.participant_id, work.pk)])}",
            paid=work.pk in paid,
            compensation=promised.get(work.pk),
        )
        for work in differing.here_only[:MOST_ROWS]
    ]
    context = {
        "platform": all_platforms().get(name),
        "posted": name,
        "changes": changes,
        "synced_at": offered_work.offer_counts(study, name).synced_at if name else None,
        "here_only": here_only,
        "there_only": [
            ThereOnly(outside, next(iter(by_id.get((outside.posting_id, outside.external_id), ())), None))
            for outside in differing.there_only[:MOST_ROWS]
        ],
        # Who is owed a part of the reward, where an extra HIT can pay it.
        "stopped": unpaid_parts_there(study).order_by("pk")[:MOST_ROWS] if changes.pays_by_posting else [],
        "other_worker": differing.other_worker[:MOST_ROWS],
        "counts": (len(differing.here_only), len(differing.there_only), len(differing.other_worker)),
        "most": MOST_ROWS,
        "unconfirmed": confirmation.unconfirmed_submissions(study).count(),
        "compensations": Compensation.objects.filter(study=study)
        .select_related("assignment__participant")
        .order_by("-pk"),
    }
    return study_page(request, study, "recruiting/reconcile.html", context, section=SECTION)


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
        submission = fetch_answer(outside=outside, actor=request.user.get_username())
    except Refused as refused:
        say_refused(request, refused)
    else:
        messages.success(request, f"The work of {submission.participant.pseudonym} is a submission now.")
    return redirect("console_reconcile", study.slug)


@require_POST
@member(write="payer")
def pay_outside(request: SignedIn, study: Study) -> HttpResponseBase:
    """Pays one worker for work that cannot be paid through its own HIT: through another HIT, or by a bonus."""
    works = Assignment.objects.select_related("hit__study", "posting", "participant__worker")
    work = get_object_or_404(works, pk=_pk(request, "work"), hit__study=study)
    try:
        amount = Decimal(request.POST.get("amount", "").strip()[:20])
    except InvalidOperation:
        amount = Decimal("NaN")  # the service refuses it
    try:
        owed = compensate(
            work=work,
            amount=amount,
            reason=request.POST.get("reason", ""),
            platform=connect(work.participant.worker.platform, study),
            actor=request.user.get_username(),
        )
    except Refused as refused:
        say_refused(request, refused)
    except PlatformTrouble as trouble:
        messages.error(request, f"{trouble} You can continue below: nothing is paid twice.")
    else:
        pseudonym = work.participant.pseudonym
        as_bonus = f"{pseudonym} was paid a bonus of {money(owed.amount)}."
        sentence = as_bonus if owed.paid_at else f"{pseudonym} can accept a HIT that pays {money(owed.amount)}."
        messages.success(request, sentence)
    return redirect("console_reconcile", study.slug)


def _pk(request: SignedIn, name: str) -> int:
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
