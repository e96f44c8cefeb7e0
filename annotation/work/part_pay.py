"""What workers get who stop in the middle of a hit, and what is still owed for that."""

from __future__ import annotations

from decimal import ROUND_UP, Decimal

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.audit import record
from annotation.deadlocks import again_after_deadlock
from annotation.instrument import live_instrument, shown_to
from annotation.models import Assignment, Participant, PartPayment, Step, Study
from annotation.work.ending import stop_assignment

CENT = Decimal("0.01")
PartPay = Study.PartPay


def part_of_reward(
    *, rule: str, fixed: Decimal | None, reward: Decimal, done: int, in_all: int | None
) -> Decimal | None:
    """USD in whole cents for a hit that is stopped after ``done`` of ``in_all`` steps. None: no part pay.

    ``rule`` is the study's ``part_pay``. There is no part pay before the first step. A share of the reward needs the
    number of steps, which some task types do not know in advance. Shares are rounded up.
    """
    if done < 1:
        return None
    if rule == PartPay.FIXED:
        return fixed
    if rule != PartPay.STEPS or not in_all or not reward:
        return None
    return (reward * done / in_all).quantize(CENT, ROUND_UP)


def unpaid_parts_there(study: Study) -> QuerySet[PartPayment]:
    """Those of `unpaid_parts` whose hit came from a platform, which can pay them outside the hit."""
    unpaid = unpaid_parts(study).filter(assignment__posting__isnull=False)
    return unpaid.exclude(assignment__platform_assignment_id="").select_related(
        "assignment__participant", "assignment__hit__study"
    )


def unpaid_parts(study: Study) -> QuerySet[PartPayment]:
    """What people are owed for stopped hits: neither marked as paid nor compensated through the platform."""
    parts = PartPayment.objects.filter(assignment__hit__study=study, assignment__participant__synthetic=False)
    return parts.filter(payments=None, assignment__compensation=None)


@again_after_deadlock
@transaction.atomic
def stop_for_part_pay(*, assignment_id: int, participant_id: int) -> PartPayment | None:
    """Stop the hit. Returns what is owed for it; None if it is no longer in progress, or if there is no part pay yet.

    Stopping twice, or in two tabs at once, returns the same: the lock lets one go first, and the row is unique.
    Raises Assignment.DoesNotExist if the assignment belongs to somebody else.
    """
    Participant.objects.select_for_update(no_key=True).get(pk=participant_id)
    mine = Assignment.objects.select_for_update(of=("self",), no_key=True).select_related("hit__study", "participant")
    work = mine.get(pk=assignment_id, participant_id=participant_id)
    earlier = PartPayment.objects.filter(assignment=work).first()
    if earlier is not None or work.state != Assignment.State.ACCEPTED:
        return earlier
    study, done = work.hit.study, Step.objects.filter(assignment=work).count()
    instrument = live_instrument(work.participant.arm_id)
    in_all = instrument.walk(shown_to(work, instrument)).length
    amount = part_of_reward(
        rule=study.part_pay, fixed=study.part_pay_amount, reward=work.hit.reward, done=done, in_all=in_all
    )
    if amount is None or not stop_assignment(assignment_id=work.pk, participant_id=participant_id):
        return None
    owed = PartPayment.objects.create(
        assignment=work, amount=amount, steps_done=done, steps_in_all=in_all, created_at=timezone.now()
    )
    entry = {"worker": work.participant.pseudonym, "steps": done, "amount": str(amount)}
    record(study=study, actor="worker", action="stop for part pay", **entry)
    return owed
