"""Assignments: listed, approved, rejected."""

from __future__ import annotations

from marketplace.models import Assignment
from marketplace.operations.common import Output, answers, assignment_out, hit_out, listed, own_assignment, own_hit
from marketplace.operations.registry import Call
from marketplace.services import assignments
from marketplace.services.refusals import WrongState
from marketplace.services.upkeep import bring_up_to_date

RESULTS = ("Submitted", "Approved", "Rejected")


@answers("GetAssignment")
def get_assignment(call: Call) -> Output:
    bring_up_to_date(hit=own_assignment(call).hit, now=call.now)
    assignment = own_assignment(call)
    if assignment.state not in RESULTS:  # the API has no word for work that is not handed in
        wanted = "Reviewable,Approved,Rejected"  # MTurk's own list, which ParlAI compares with
        raise WrongState("Assignment", assignment.assignment_id, state=assignment.state, wanted=wanted)
    return {"Assignment": assignment_out(assignment), "HIT": hit_out(assignment.hit)}


@answers("ListAssignmentsForHIT")
def list_assignments(call: Call) -> Output:
    hit = own_hit(call)
    bring_up_to_date(hit=hit, now=call.now)
    found = Assignment.objects.filter(hit=hit, state__in=call.parameters.get("AssignmentStatuses") or RESULTS)
    return listed(
        call,
        found.select_related("worker", "hit").defer("hit__question"),  # the same, up to 64 KB, for every row
        name="Assignments",
        write=assignment_out,
        order=("submitted_at", "pk"),
    )


def _handed_in(call: Call) -> Assignment:
    """The assignment to be decided on. Of one in progress MTurk says "null", and tools wait when they read that."""
    assignment = own_assignment(call)
    if assignment.state == Assignment.State.ACCEPTED:
        raise WrongState("Assignment", assignment.assignment_id, state=assignment.state, wanted="null")
    return assignment


@answers("ApproveAssignment")
def approve(call: Call) -> Output:
    assignments.approve(
        assignment=_handed_in(call),
        feedback=call.parameters.get("RequesterFeedback", ""),
        override=call.parameters.get("OverrideRejection", False),
        now=call.now,
    )
    return {}


@answers("RejectAssignment")
def reject(call: Call) -> Output:
    feedback = call.parameters["RequesterFeedback"]
    assignments.reject(assignment=_handed_in(call), feedback=feedback, now=call.now)
    return {}
