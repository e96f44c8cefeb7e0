"""Pays a worker who cannot be paid through their own work: a posting that only they can accept, or a bonus.

For example, the worker's time ran out on the platform after everything was saved here. Each assignment is compensated
at most once, whatever fails in between: the row is unique, and each call has its own record (``platform_calls``).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotation.audit import record
from annotation.models import Assignment, Compensation, OutsideAssignment, Payment, Posting, Study, Submission
from annotation.platforms import changes_of
from annotation.platforms.base import Platform
from annotation.platforms.calls import Json, PostingGone
from annotation.platforms.costs import CENT
from annotation.recruiting.platform_calls import make_all
from annotation.recruiting.recorded_payments import record_extra
from annotation.recruiting.spending_guard import spending, with_fee
from annotation.task_types.questions import clean_text
from common.problems import Problem, invalid, refuse_if_any
from common.words import money

MOST_REASON = 500
#: USD for one assignment. A larger amount is probably a typo.
MOST_AMOUNT = Decimal("500.00")
Outside = OutsideAssignment.State
State = Assignment.State


@transaction.atomic
def promise(*, work: Assignment, amount: Decimal, reason: str, actor: str) -> Compensation:
    """Record that this work should be paid in this way. Raises Invalid, also if it was or can be paid in another."""
    reason = clean_text(reason)
    # Whoever marks part pay as paid by hand locks the study, too: only one of both can go first.
    Study.objects.select_for_update(no_key=True).get(pk=work.hit.study_id)
    work = Assignment.objects.select_for_update(of=("self",), no_key=True).get(pk=work.pk)
    study = work.hit.study
    refuse_if_any([*_amount_problems(amount, reason), *_work_problems(work)])
    compensation = Compensation.objects.create(
        study=study,
        assignment=work,
        platform=work.participant.worker.platform,
        worker_id=work.participant.worker.platform_id,
        amount=amount,
        reason=reason,
        actor=actor[:150],
        created_at=timezone.now(),
    )
    detail = {"worker": work.participant.pseudonym, "amount": str(amount), "reason": reason}
    record(study=study, actor=actor, action="promise compensation", **detail)
    return compensation


def _amount_problems(amount: Decimal, reason: str) -> list[Problem]:
    problems = []
    if not amount.is_finite() or not CENT <= amount <= MOST_AMOUNT or amount != amount.quantize(CENT):
        fix = f"Enter whole cents from $0.01 to {money(MOST_AMOUNT)}, such as 0.50."
        problems.append(Problem("amount", "This amount cannot be paid.", fix))
    if not 1 <= len(reason) <= MOST_REASON:
        what = f"The reason has {len(reason):,} characters." if reason else "There is no reason."
        problems.append(
            Problem("reason", what, f"Write why, in at most {MOST_REASON} characters: the worker reads it.")
        )
    return problems


def _work_problems(work: Assignment) -> list[Problem]:
    """Why this work must not be compensated."""
    if work.posting is None or work.participant.synthetic:
        return [Problem("work", "This work did not come from a platform.", "Pay it by completion code.")]
    if Compensation.objects.filter(assignment=work).exists():
        return [Problem("work", "This work has been compensated before.", "See the list of compensations.")]
    paid = Q(submission__assignment=work) | Q(part__assignment=work)
    if Payment.objects.filter(paid).exclude(kind=Payment.Kind.BONUS).exists():
        return [Problem("work", "This work has been paid.", "Nothing is left to pay.")]
    outside = work.outside
    if outside is not None and outside.state in (Outside.SUBMITTED, Outside.APPROVED):
        what = f"The platform has this work: {outside.get_state_display().lower()}."
        return [Problem("work", what, "Approve it there: that pays the worker.")]
    return []


def offer(*, owed: Compensation, platform: Platform, actor: str) -> Compensation:
    """Post the HIT that pays, or pay at once where the platform can. Running it again continues where it stopped.

    Raises PlatformTrouble.
    """
    if owed.external_id:
        return owed
    posting = owed.assignment.posting
    assert posting is not None  # noqa: S101 - promised for posted work only
    changes = changes_of(platform)

    def done(results: Sequence[Json]) -> None:
        name = changes.paying_id(results)
        Compensation.objects.filter(pk=owed.pk).update(external_id=name, offered_at=timezone.now())
        record(study=owed.study, actor=actor, action="compensate", hit=name, amount=str(owed.amount))
        if changes.pays_at_once:
            owed.external_id = name
            _note_paid(owed)

    make_all(changes.compensate(owed), platform, study=owed.study, posting=posting, done=done)
    owed.refresh_from_db()
    return owed


def compensate(*, work: Assignment, amount: Decimal, reason: str, platform: Platform, actor: str) -> Compensation:
    """Promise the payment unless that was done before, then offer it. Raises Invalid, PlatformTrouble."""
    owed = Compensation.objects.filter(assignment=work).first()
    if owed is not None and owed.external_id:
        raise invalid("work", "This work has been compensated before.", "See the list of compensations.")
    if owed is not None and owed.amount != amount:
        raise invalid("amount", f"{money(owed.amount)} was promised before.", f"Enter {owed.amount}.")
    refuse_if_any(_amount_problems(amount, clean_text(reason)))
    costs = {f"compensation/{work.pk}": with_fee(amount, platform)}
    with spending(study=work.hit.study, platform=platform, costs=costs):
        owed = owed or promise(work=work, amount=amount, reason=reason, actor=actor)
        return offer(owed=owed, platform=platform, actor=actor)


def note_paid(*, study: Study, platform: Platform) -> int:
    """Ask the platform which compensations have been accepted, and record those as paid. Returns how many are new."""
    count = 0
    waiting = Compensation.objects.filter(study=study, platform=platform.name, paid_at=None).exclude(external_id="")
    for owed in waiting.select_related("assignment", "study"):
        try:
            reported = list(platform.sync(Posting(study=study, platform=platform.name, external_id=owed.external_id)))
        except PostingGone:
            continue  # somebody deleted what pays it: the other workers' payments are still recorded
        paid = any(row.worker_id == owed.worker_id and row.state == Outside.APPROVED for row in reported)
        count += paid and _note_paid(owed)
    return count


@transaction.atomic
def _note_paid(owed: Compensation) -> bool:
    if not Compensation.objects.filter(pk=owed.pk, paid_at=None).update(paid_at=timezone.now()):
        return False
    record_extra(
        study=owed.study,
        kind=Payment.Kind.COMPENSATION,
        key=f"compensation/{owed.pk}",
        amount=owed.amount,
        reason=owed.reason,
        platform=owed.platform,
        platform_id=owed.external_id,
        worker_id=owed.worker_id,
        submission=Submission.objects.filter(assignment=owed.assignment).first(),
        actor=owed.actor,
    )
    record(study=owed.study, actor="sync", action="compensation paid", hit=owed.external_id, amount=str(owed.amount))
    return True
