"""What an operator does beside accounts and deposits: places of workers, payouts, decisions on disputes.

And what requesters decide on their pages, so that the log has it.
"""

from __future__ import annotations

from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction

from marketplace import access, clock
from marketplace.models import Assignment, AuditRow, LedgerAccount, LedgerEntry, Message, Worker
from marketplace.services import assignments, payments
from marketplace.services.accounts import record
from marketplace.services.refusals import Refused
from marketplace.services.upkeep import lock_hit

UPHELD, OVERTURNED = "rejection upheld", "rejection overturned"


@transaction.atomic
def make_operator(*, user: User, actor: str) -> None:
    """May run the marketplace from now on. Doing it twice changes nothing."""
    if not access.is_operator(user):
        access.add_operator(user)
        record(actor=actor, action="operator made", about=user.get_username())


@transaction.atomic
def set_country(*, worker: Worker, country: str, actor: str) -> None:
    """Qualifications by place go by it from now on; what was accepted stays accepted."""
    now = Worker.objects.select_for_update().get(pk=worker.pk)
    if now.country != country:
        Worker.objects.filter(pk=now.pk).update(country=country, subdivision="")
        record(actor=actor, action="worker moved", about=now.worker_id, worker=now, was=now.country, country=country)


@transaction.atomic
def pay_out_as_shown(*, account: LedgerAccount, amount: Decimal, n_payouts: int, actor: str, note: str = "") -> Decimal:
    """Mark an amount as paid that somebody saw when the worker had had ``n_payouts``. Raises Refused.

    A form sent twice, or by two operators at once, thus pays once: the second one has seen old figures.
    """
    if account.worker is None:
        raise Refused("Only workers are paid out.")
    LedgerAccount.objects.select_for_update(no_key=True).get(pk=account.pk)
    if LedgerEntry.objects.filter(account=account, kind=LedgerEntry.Kind.PAYOUT).count() != n_payouts:
        raise Refused(f"{account.worker.worker_id} has been paid out meanwhile. Look at what is owed now.")
    return payments.pay_out(worker=account.worker, amount=amount, actor=actor, about=note)


@transaction.atomic
def review(*, assignment: Assignment, decision: str, feedback: str, actor: str) -> None:
    """What a requester decides on the page: approve, reject, or override (a rejection). Raises Refused."""
    if decision == "reject":
        if not feedback:
            raise Refused("Tell the worker why: a rejection costs them pay and record.")
        assignments.reject(assignment=assignment, feedback=feedback)
    elif decision in ("approve", "override"):
        assignments.approve(assignment=assignment, feedback=feedback, override=decision == "override")
    else:
        raise Refused("Choose whether to approve or to reject.")
    record(
        actor=actor,
        action={"approve": "work approved", "reject": "work rejected", "override": "rejection taken back"}[decision],
        about=assignment.assignment_id,
        requester=assignment.hit.requester,
        worker=assignment.worker,
        feedback=feedback,
    )


@transaction.atomic
def decide_dispute(*, assignment: Assignment, overturn: bool, reason: str, actor: str) -> None:
    """Settle a rejection that the worker disputes, once. Overturning approves it at the requester's cost.

    Raises Refused, also when the requester's balance does not cover it or the 30 days are over.
    """
    lock_hit(pk=assignment.hit_id, now=clock.now())
    locked = Assignment.objects.select_related("hit__requester", "hit__hit_type", "worker").get(pk=assignment.pk)
    if AuditRow.objects.filter(action__in=[UPHELD, OVERTURNED], about=locked.assignment_id).exists():
        raise Refused("This dispute has been decided already.")
    if locked.state != Assignment.State.REJECTED or not locked.worker_comment:
        raise Refused("There is no dispute about this assignment any more.")
    if overturn:
        assignments.approve(assignment=locked, override=True)
    action = OVERTURNED if overturn else UPHELD
    record(
        actor=actor,
        action=action,
        about=locked.assignment_id,
        requester=locked.hit.requester,
        worker=locked.worker,
        reason=reason,
        comment=locked.worker_comment,
    )
    _tell_worker(locked, overturn, reason)


def _tell_worker(assignment: Assignment, overturn: bool, reason: str) -> None:
    title = assignment.hit.hit_type.title
    what = "The rejection was taken back and you are paid." if overturn else "The rejection stands."
    text = f"You objected to the rejection of your work on “{title}”. {what}\n\n{reason}"
    subject = "Your objection has been decided"
    Message.objects.create(worker=assignment.worker, subject=subject, text=text, created_at=clock.now())
