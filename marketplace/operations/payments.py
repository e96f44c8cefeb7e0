"""Balance and bonuses."""

from __future__ import annotations

from marketplace.models import Assignment, Bonus
from marketplace.operations.registry import Call
from marketplace.operations.shared import (
    Output,
    dollars,
    handles,
    listed,
    own_assignment,
    own_hit,
    worker_called,
)
from marketplace.services.hits.due_changes import bring_up_to_date
from marketplace.services.money import payments
from marketplace.services.refusals import InvalidParameter, NotFound


@handles("GetAccountBalance")
def get_account_balance(call: Call) -> Output:
    bring_up_to_date(requester=call.requester, now=call.now)
    available, held = payments.available(call.requester), payments.held(call.requester)
    return {"AvailableBalance": str(available), "OnHoldBalance": str(held)}


@handles("SendBonus")
def send_bonus(call: Call) -> Output:
    worker = worker_called(call.parameters["WorkerId"])
    assignment = own_assignment(call)
    if assignment.state == Assignment.State.ACCEPTED:  # for bonuses, MTurk treats it as missing until it is submitted
        raise NotFound("Assignment", assignment.assignment_id)
    payments.send_bonus(
        requester=call.requester,
        worker=worker,
        assignment=assignment,
        amount=dollars(call, "BonusAmount"),
        reason=call.parameters["Reason"],
        token=call.parameters.get("UniqueRequestToken", ""),
        now=call.now,
    )
    return {}


@handles("ListBonusPayments")
def list_bonus_payments(call: Call) -> Output:
    if not {"HITId", "AssignmentId"} & set(call.parameters):
        raise InvalidParameter("HITId", "Send the HITId or the AssignmentId.")
    paid = Bonus.objects.filter(requester=call.requester).select_related("worker", "assignment")
    if "HITId" in call.parameters:
        paid = paid.filter(assignment__hit=own_hit(call))
    if "AssignmentId" in call.parameters:
        paid = paid.filter(assignment=own_assignment(call))
    return listed(
        call,
        paid,
        name="BonusPayments",
        write=lambda bonus: {
            "WorkerId": bonus.worker.worker_id,
            "BonusAmount": str(bonus.amount),
            "AssignmentId": bonus.assignment.assignment_id,
            "Reason": bonus.reason,
            "GrantTime": bonus.created_at,
        },
    )
