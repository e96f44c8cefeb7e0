"""Records what was paid. The database allows one reward per submission and one payment per key, so nothing is ever paid
twice."""

from __future__ import annotations

from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from annotation.audit import record
from annotation.models import OutsideAssignment, Payment, PlatformCall, Posting, Study, Submission
from annotation.platforms import platform_class
from annotation.recruiting.matching import submission_of

#: Payments stored in one transaction. More would keep other writers waiting.
AT_ONCE = 50
#: States in which the platform has paid an assignment, and says how much.
REWARDED = (OutsideAssignment.State.APPROVED, OutsideAssignment.State.SCREENED)


def record_reward(*, outside: OutsideAssignment, actor: str) -> Payment | None:
    """Store that the platform paid the reward of an approved assignment, or the amount for one that it screened out.
    None if that was stored before, or if it pays nothing for a worker who is screened out.

    If nothing arrived here for it, the payment has the worker's id on the platform. Runs in the caller's transaction.
    A sync may see an approval before the process that approved records the payment: the lock lets only one do so.
    """
    Posting.objects.select_for_update(no_key=True).get(pk=outside.posting_id)
    study, platform = outside.posting.study, outside.posting.platform
    amount = platform_class(platform).paid_for(outside)
    if not amount and outside.state == OutsideAssignment.State.SCREENED:
        return None
    rewards = Payment.objects.filter(kind=Payment.Kind.REWARD)
    if rewards.filter(platform=platform, platform_id=outside.external_id).exists():
        return None
    submission = submission_of(outside)
    if submission is not None and rewards.filter(submission=submission).exists():
        record(study=study, actor=actor, action="paid twice", assignment=outside.external_id, submission=submission.pk)
        submission = None
    return Payment.objects.create(
        study=study,
        submission=submission,
        amount=amount,
        platform=platform,
        platform_id=outside.external_id,
        worker_id=outside.worker_id,
        actor=actor,
        created_at=timezone.now(),
    )


def record_extra(
    *,
    study: Study,
    kind: str,
    key: str,
    amount: Decimal,
    reason: str,
    platform: str,
    actor: str,
    platform_id: str = "",
    worker_id: str = "",
    submission: Submission | None = None,
) -> Payment:
    """Store a bonus or a compensation in USD. The same ``key`` again changes nothing. The caller has a transaction."""
    values = {
        "study": study,
        "kind": kind,
        "amount": amount,
        "reason": reason[:1024],
        "platform": platform,
        "platform_id": platform_id,
        "worker_id": worker_id,
        "submission": submission,
        "actor": actor,
        "created_at": timezone.now(),
    }
    payment, _ = Payment.objects.get_or_create(key=key, defaults=values)
    return payment


def settle_approvals(*, study: Study, actor: str) -> int:
    """Store the rewards of all work that the platform has approved, including automatically. Returns how many are new.

    A sync calls this: the platform approves work that nobody has decided on.
    """
    recorded = Payment.objects.filter(study=study, kind=Payment.Kind.REWARD).values("platform_id")
    approved = OutsideAssignment.objects.filter(posting__study=study, state__in=REWARDED)
    # Sorted, so that two processes lock the postings in the same order.
    unrecorded = approved.exclude(external_id__in=recorded).order_by("posting", "pk").values_list("pk", flat=True)
    ids = list(unrecorded)
    new = 0
    for start in range(0, len(ids), AT_ONCE):
        chunk = ids[start : start + AT_ONCE]
        # A killed process may have made approvals and not stored them. Their calls are marked first, in a separate
        # transaction, because an approval locks the call before the posting.
        keys = [f"{verb}/{pk}" for pk in chunk for verb in ("approve", "override")]
        calls = PlatformCall.objects.filter(key__in=keys).exclude(state=PlatformCall.State.DONE)
        calls.update(state=PlatformCall.State.DONE, done_at=timezone.now())
        rows = OutsideAssignment.objects.filter(pk__in=chunk).order_by("posting", "pk")
        with transaction.atomic():  # one for all: waiting for the disk after each of 2,000 would take minutes
            for outside in rows.select_related("posting__study", "posting__hit"):
                payment = record_reward(outside=outside, actor=actor)
                if payment is not None:
                    detail = {"assignment": outside.external_id, "amount": str(payment.amount)}
                    record(study=outside.posting.study, actor=actor, action="paid on the platform", **detail)
                    new += 1
    return new
