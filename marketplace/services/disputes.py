"""Disputes about rejections: the worker objects, both sides can reply, the operator decides once.

Everything happens under the HIT's lock. Statements never change, and nobody can add one after the decision.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from common.languages import gettext as _
from common.languages import marked, number
from marketplace import clock
from marketplace.models import Assignment, DisputeStatement, Requester, Worker
from marketplace.services.audit_log import record
from marketplace.services.hits import assignments
from marketplace.services.hits.due_changes import bring_up_to_date, lock_hit
from marketplace.services.messages import worker_messages
from marketplace.services.refusals import Refusal, WrongState

Party = DisputeStatement.Party
Decision = DisputeStatement.Decision
#: The limit for each side.
MOST_STATEMENTS = 5
MOST_TEXT = 4000
DECIDED = marked("This dispute has been decided.")
NO_DISPUTE = marked("There is no open dispute about this assignment.")


def open_objections(requester: Requester) -> QuerySet[Assignment, str]:
    """IDs of the requester's assignments whose rejection a worker disputes and nobody has decided, newest first."""
    rejected = Assignment.objects.filter(hit__requester=requester, state=Assignment.State.REJECTED)
    disputed = rejected.filter(statements__party=Party.WORKER).exclude(statements__party=Party.OPERATOR).distinct()
    return disputed.order_by("-pk").values_list("assignment_id", flat=True)


@transaction.atomic
def object_to(*, assignment_id: str, worker: Worker, text: str) -> DisputeStatement:
    """The worker's objection to a rejection, or a reply about it. Raises Refusal."""
    assignment = _locked(assignments.find(assignment_id=assignment_id, worker=worker))
    if assignment.state != Assignment.State.REJECTED:
        raise WrongState("Assignment", assignment_id, state=assignment.state, allowed=Assignment.State.REJECTED)
    first = not assignment.statements.exists()
    return _say(
        assignment, Party.WORKER, worker.worker_id, text, action="rejection disputed" if first else "dispute answered"
    )


@transaction.atomic
def answer(*, assignment: Assignment, text: str, actor: str) -> DisputeStatement:
    """The requester's answer to an objection. Raises Refusal."""
    locked = _locked(assignment)
    if locked.state != Assignment.State.REJECTED or not locked.statements.exists():
        raise Refusal(_(NO_DISPUTE))
    return _say(locked, Party.REQUESTER, actor, text, action="dispute answered")


def decide(*, assignment: Assignment, overturn: bool, reason: str, actor: str) -> None:
    """Settle a dispute, once and at any time. Overturning approves the work at the requester's cost.

    Raises Refusal, also when the requester's balance does not cover it.
    """
    bring_up_to_date(requester=assignment.hit.requester, now=clock.now())  # money held by expired HITs may be needed
    with transaction.atomic():
        locked = _locked(assignment)
        if locked.statements.filter(party=Party.OPERATOR).exists():
            raise Refusal(_(DECIDED))
        if locked.state != Assignment.State.REJECTED or not locked.statements.exists():
            raise Refusal(_(NO_DISPUTE))
        if overturn:
            assignments.approve(assignment=locked, override=True, by_operator=True)
        decision = Decision.OVERTURNED if overturn else Decision.UPHELD
        _say(locked, Party.OPERATOR, actor, reason, decision=decision, action=f"rejection {decision.value}")
        outcome = "The rejection is withdrawn and you are paid." if overturn else "The rejection stands."
        text = f"You objected to the rejection of your work on “{locked.hit.hit_type.title}”. {outcome}\n\n{reason}"
        worker_messages.send(worker=locked.worker, subject="Your objection has been decided", text=text)


def _locked(assignment: Assignment) -> Assignment:
    lock_hit(pk=assignment.hit_id, now=clock.now())
    return Assignment.objects.select_related("hit__requester", "hit__hit_type", "worker").get(pk=assignment.pk)


def _say(
    assignment: Assignment, party: Party, actor: str, text: str, *, decision: str = "", action: str
) -> DisputeStatement:
    statement_text = text.strip()
    if not statement_text or len(statement_text) > MOST_TEXT:
        raise Refusal(_("Write from 1 to %(most)s characters.") % {"most": number(MOST_TEXT)})
    if assignment.statements.filter(party=Party.OPERATOR).exists():
        raise Refusal(_(DECIDED))
    if assignment.statements.filter(party=party).count() >= MOST_STATEMENTS:
        raise Refusal(_("You have written %(count)s times. Wait for the decision.") % {"count": MOST_STATEMENTS})
    statement = DisputeStatement.objects.create(
        assignment=assignment, party=party, actor=actor[:150], decision=decision, text=statement_text, at=clock.now()
    )
    record(
        actor=actor,
        action=action,
        about=assignment.assignment_id,
        requester=assignment.hit.requester,
        worker=assignment.worker,
        said=statement_text,
    )
    return statement
