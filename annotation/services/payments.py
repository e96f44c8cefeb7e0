"""Records what was paid. The database allows one reward per submission and one payment per key, so nothing is ever paid
twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from annotation.models import OutsideAssignment, PartPayment, Payment, PlatformCall, Posting, Study, Submission
from annotation.platforms import platform_class
from annotation.queries.among import among
from annotation.queries.payments import Due, due
from annotation.queries.platforms import submission_of
from annotation.services.audit import record
from common.problems import Problem, refuse_if_any
from common.words import counted, money

#: Payments stored in one transaction. More would keep other writers waiting.
AT_ONCE = 50
#: States in which the platform has paid an assignment, and says how much.
REWARDED = (OutsideAssignment.State.APPROVED, OutsideAssignment.State.SCREENED)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a person saw before they confirmed."""

    hits: int
    total: Decimal


@transaction.atomic
def mark_paid(
    *,
    study: Study,
    actor: str,
    pseudonym: str = "",
    code: str = "",
    with_excluded: bool = False,
    expected: Expected | None = None,
) -> Due:
    """Store a payment for each reward and each part pay that `due` finds. Returns what was paid. Raises Invalid.

    With ``expected``, nothing is stored if the number of hits or the total has changed since.
    """
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    owed = due(study, pseudonym=pseudonym, code=code, with_excluded=with_excluded)
    refuse_if_any(_problems(owed, expected))
    platforms = dict(Submission.objects.filter(pk__in=owed.rewards).values_list("pk", "participant__worker__platform"))
    now = timezone.now()
    Payment.objects.bulk_create(
        [
            Payment(study=study, submission_id=pk, amount=reward, platform=platforms[pk], actor=actor, created_at=now)
            for pk, reward in owed.rewards.items()
        ],
        batch_size=500,
    )
    _pay_parts(study, owed.parts, actor)
    about = {"worker": pseudonym} if pseudonym else {"workers": owed.workers}
    record(study=study, actor=actor, action="mark as paid", **about, hits=owed.hits, total=money(owed.total))
    return owed


def _pay_parts(study: Study, parts: dict[int, Decimal], actor: str) -> None:
    """Store the payment of what is owed for stopped hits."""
    stopped = PartPayment.objects.filter(pk__in=among(parts)).values_list(
        "pk", "assignment__participant__worker__platform"
    )
    now = timezone.now()
    Payment.objects.bulk_create(
        [
            Payment(
                study=study,
                kind=Payment.Kind.PARTIAL,
                part_id=pk,
                amount=parts[pk],
                platform=platform,
                key=f"part/{pk}",
                reason="Stopped early.",
                actor=actor,
                created_at=now,
            )
            for pk, platform in stopped
        ],
        batch_size=500,
    )


def _problems(owed: Due, expected: Expected | None) -> list[Problem]:
    if expected and (owed.hits, owed.total) != (expected.hits, expected.total):
        now = f"It is {counted(owed.hits, 'hit')} and {money(owed.total)} now."
        what = f"Nothing was marked as paid: the total changed while you looked. {now}"
        return [Problem("total", what, "Check the new total, then confirm again.")]
    if not owed.hits:
        return [Problem("total", "There is nothing to pay.", "Look at the list to see who was paid already.")]
    return []


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
    paid = Payment.objects.filter(kind=Payment.Kind.REWARD)
    if paid.filter(platform=platform, platform_id=outside.external_id).exists():
        return None
    sent = submission_of(outside)
    if sent is not None and paid.filter(submission=sent).exists():
        record(study=study, actor=actor, action="paid twice", assignment=outside.external_id, submission=sent.pk)
        sent = None
    return Payment.objects.create(
        study=study,
        submission=sent,
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
    known = Payment.objects.filter(study=study, kind=Payment.Kind.REWARD).values("platform_id")
    approved = OutsideAssignment.objects.filter(posting__study=study, state__in=REWARDED)
    # Sorted, so that two processes lock the postings in the same order.
    waiting = approved.exclude(external_id__in=known).order_by("posting", "pk").values_list("pk", flat=True)
    ids = list(waiting)
    chunks = [ids[at : at + AT_ONCE] for at in range(0, len(ids), AT_ONCE)]
    return sum(_settle(chunk, actor) for chunk in chunks)


def _settle(ids: Sequence[int], actor: str) -> int:
    """Store these rewards, also for approvals that a killed process made and could not store.

    Their calls are marked first, in a separate transaction, because an approval locks the call before the posting.
    """
    keys = [f"{verb}/{pk}" for pk in ids for verb in ("approve", "override")]
    asked = PlatformCall.objects.filter(key__in=keys).exclude(state=PlatformCall.State.DONE)
    asked.update(state=PlatformCall.State.DONE, done_at=timezone.now())
    return _store_rewards(ids, actor)


@transaction.atomic
def _store_rewards(ids: Sequence[int], actor: str) -> int:
    """Store the payments in one transaction: waiting for the disk after each of 2,000 would take minutes."""
    new = 0
    rows = OutsideAssignment.objects.filter(pk__in=ids).order_by("posting", "pk")
    for outside in rows.select_related("posting__study", "posting__hit"):
        paid = record_reward(outside=outside, actor=actor)
        if paid is not None:
            about = {"assignment": outside.external_id, "amount": str(paid.amount)}
            record(study=outside.posting.study, actor=actor, action="paid on the platform", **about)
            new += 1
    return new
