"""Disputes about rejections: the worker objects, both sides may say more, the operator decides once.

Everything happens under the HIT's lock, and nothing that was said is changed: after the decision nobody adds to it.
"""

from __future__ import annotations

from django.db import transaction

from marketplace import clock
from marketplace.models import Assignment, DisputeStatement, Worker
from marketplace.services import assignments, messages
from marketplace.services.log import record
from marketplace.services.refusals import Refused, WrongState
from marketplace.services.upkeep import bring_up_to_date, lock_hit

Party = DisputeStatement.Party
Decision = DisputeStatement.Decision
#: Of each side.
MOST_STATEMENTS = 5
MOST_TEXT = 4000
DECIDED = "This dispute has been decided."
NO_DISPUTE = "There is no dispute about this assignment any more."


@transaction.atomic
def object_to(*, assignment_id: str, worker: Worker, text: str) -> DisputeStatement:
    """What the worker says to a rejection, first or in reply. Raises Refused."""
    assignment = _locked(assignments.find(assignment_id=assignment_id, worker=worker))
    if assignment.state != Assignment.State.REJECTED:
        raise WrongState("Assignment", assignment_id, state=assignment.state, wanted=Assignment.State.REJECTED)
    first = not assignment.statements.exists()
    return _say(
        assignment, Party.WORKER, worker.worker_id, text, action="rejection disputed" if first else "dispute answered"
    )


@transaction.atomic
def answer(*, assignment: Assignment, text: str, actor: str) -> DisputeStatement:
    """What the requester says to an objection. Raises Refused."""
    locked = _locked(assignment)
    if locked.state != Assignment.State.REJECTED or not locked.statements.exists():
        raise Refused(NO_DISPUTE)
    return _say(locked, Party.REQUESTER, actor, text, action="dispute answered")


def decide(*, assignment: Assignment, overturn: bool, reason: str, actor: str) -> None:
    """Settle a dispute, once and at any time. Overturning approves the work at the requester's cost.

    Raises Refused, also when the requester's balance does not cover it.
    """
    bring_up_to_date(requester=assignment.hit.requester, now=clock.now())  # what expired HITs held may be needed
    with transaction.atomic():
        locked = _locked(assignment)
        if locked.statements.filter(party=Party.OPERATOR).exists():
            raise Refused(DECIDED)
        if locked.state != Assignment.State.REJECTED or not locked.statements.exists():
            raise Refused(NO_DISPUTE)
        if overturn:
            assignments.approve(assignment=locked, override=True, by_operator=True)
        decision = Decision.OVERTURNED if overturn else Decision.UPHELD
        _say(locked, Party.OPERATOR, actor, reason, decision=decision, action=f"rejection {decision.value}")
        _tell_worker(locked, overturn, reason)


def _locked(assignment: Assignment) -> Assignment:
    lock_hit(pk=assignment.hit_id, now=clock.now())
    return Assignment.objects.select_related("hit__requester", "hit__hit_type", "worker").get(pk=assignment.pk)


def _say(
    assignment: Assignment, party: Party, actor: str, text: str, *, decision: str = "", action: str
) -> DisputeStatement:
    said = text.strip()
    if not said or len(said) > MOST_TEXT:
        raise Refused(f"It takes from 1 to {MOST_TEXT} characters.")
    if assignment.statements.filter(party=Party.OPERATOR).exists():
        raise Refused(DECIDED)
    if assignment.statements.filter(party=party).count() >= MOST_STATEMENTS:
        raise Refused(f"You have said {MOST_STATEMENTS} things about it. Wait for the decision.")
    made = DisputeStatement.objects.create(
        assignment=assignment, party=party, actor=actor[:150], decision=decision, text=said, at=clock.now()
    )
    record(
        actor=actor,
        action=action,
        about=assignment.assignment_id,
        requester=assignment.hit.requester,
        worker=assignment.worker,
        said=said,
    )
    return made


def _tell_worker(assignment: Assignment, overturn: bool, reason: str) -> None:
    what = "The rejection was taken back and you are paid." if overturn else "The rejection stands."
    text = f"You objected to the rejection of your work on “{assignment.hit.hit_type.title}”. {what}\n\n{reason}"
    messages.send(worker=assignment.worker, subject="Your objection has been decided", text=text)
