"""Ends a hit in the middle, for part of its reward. Its place becomes free, and what is owed is stored once."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from annotation.instrument import live_instrument, shown_to
from annotation.models import Assignment, Participant, PartPayment, Step
from annotation.queries.part_pay import part_of_reward
from annotation.services.audit import record
from annotation.services.deadlocks import again_after_deadlock
from annotation.services.ending import stop_assignment


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
    known = PartPayment.objects.filter(assignment=work).first()
    if known is not None or work.state != Assignment.State.ACCEPTED:
        return known
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
    about = {"worker": work.participant.pseudonym, "steps": done, "amount": str(amount)}
    record(study=study, actor="worker", action="stop for part pay", **about)
    return owed
