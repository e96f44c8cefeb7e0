"""Assignments: listed, approved, rejected; and the files in their answers."""

from __future__ import annotations

from marketplace.models import Assignment
from marketplace.operations.registry import Call
from marketplace.operations.shared import Output, assignment_out, handles, hit_out, listed, own_assignment, own_hit
from marketplace.services.hits import assignments, uploaded_files
from marketplace.services.hits.due_changes import bring_up_to_date
from marketplace.services.refusals import WrongState

RESULTS = ("Submitted", "Approved", "Rejected")


@handles("GetAssignment")
def get_assignment(call: Call) -> Output:
    bring_up_to_date(hit=own_assignment(call).hit, now=call.now)
    assignment = own_assignment(call)
    if assignment.state not in RESULTS:  # the API has no status for unsubmitted work
        allowed = "Reviewable,Approved,Rejected"  # MTurk's own list; ParlAI looks for it
        raise WrongState("Assignment", assignment.assignment_id, state=assignment.state, allowed=allowed)
    return {"Assignment": assignment_out(assignment), "HIT": hit_out(assignment.hit)}


@handles("ListAssignmentsForHIT")
def list_assignments(call: Call) -> Output:
    hit = own_hit(call)
    bring_up_to_date(hit=hit, now=call.now)
    results = Assignment.objects.filter(hit=hit, state__in=call.parameters.get("AssignmentStatuses") or RESULTS)
    return listed(
        call,
        results.select_related("worker", "hit").defer("hit__question"),  # up to 64 KB, the same in every row of a HIT
        name="Assignments",
        write=assignment_out,
        order=("submitted_at", "pk"),
    )


def _handed_in(call: Call) -> Assignment:
    """The assignment to decide on. For work in progress, MTurk's message contains "null": tools see that and wait."""
    assignment = own_assignment(call)
    if assignment.state == Assignment.State.ACCEPTED:
        raise WrongState("Assignment", assignment.assignment_id, state=assignment.state, allowed="null")
    return assignment


@handles("ApproveAssignment")
def approve(call: Call) -> Output:
    assignments.approve(
        assignment=_handed_in(call),
        feedback=call.parameters.get("RequesterFeedback", ""),
        override=call.parameters.get("OverrideRejection", False),
        now=call.now,
    )
    return {}


@handles("RejectAssignment")
def reject(call: Call) -> Output:
    feedback = call.parameters["RequesterFeedback"]
    assignments.reject(assignment=_handed_in(call), feedback=feedback, now=call.now)
    return {}


@handles("GetFileUploadURL")
def get_file_upload_url(call: Call) -> Output:
    bring_up_to_date(hit=own_assignment(call).hit, now=call.now)
    file = uploaded_files.submitted_file(own_assignment(call), call.parameters["QuestionIdentifier"])
    return {"FileUploadURL": uploaded_files.temporary_url(file)}
