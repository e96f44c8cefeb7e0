"""What the operations share: refusals as the API words them, things found by id, structures as it writes them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import wraps
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from marketplace import money
from marketplace.models import Assignment, Hit, HITType, Worker
from marketplace.operations.registry import Call, Handler, operation
from marketplace.services.refusals import Invalid, NotFound, Refused
from marketplace.wire import errors, pagination

Row = TypeVar("Row", bound=Model)
Output = dict[str, Any]


def answers(name: str) -> Callable[[Handler], Handler]:
    """Registers a handler of this operation; a service's refusal becomes an error of the API."""

    def register(handler: Handler) -> Handler:
        @wraps(handler)
        def translated(call: Call) -> Output:
            try:
                return handler(call)
            except Refused as refusal:
                raise in_words_of_the_api(refusal) from None

        return operation(name)(translated)

    return register


def in_words_of_the_api(refusal: Refused) -> errors.WireError:
    if isinstance(refusal, Invalid):
        message = f"The parameter {refusal.parameter} is not valid. {refusal.message}"
        return errors.ParameterValidationError(message, code=refusal.code)
    return errors.RequestError(refusal.message, code=refusal.code)


# --- Found by id, and only the caller's own -----------------------------------------------------------------


def own_hit(call: Call, name: str = "HITId") -> Hit:
    hit_id = call.parameters[name]
    hit = Hit.objects.select_related("hit_type", "requester").filter(hit_id=hit_id, requester=call.requester).first()
    if hit is None:
        raise NotFound("HIT", hit_id)
    return hit


def own_hit_type(call: Call, name: str = "HITTypeId") -> HITType:
    type_id = call.parameters[name]
    hit_type = HITType.objects.filter(type_id=type_id, requester=call.requester).first()
    if hit_type is None:
        raise NotFound("HITType", type_id)
    return hit_type


def own_assignment(call: Call, name: str = "AssignmentId") -> Assignment:
    """An assignment of a HIT of the caller's. Those that were returned or abandoned are no results: not found."""
    assignment_id = call.parameters[name]
    found = Assignment.objects.select_related("worker", "hit__hit_type", "hit__requester")
    assignment = found.filter(assignment_id=assignment_id, hit__requester=call.requester).first()
    if assignment is None or assignment.state in (Assignment.State.RETURNED, Assignment.State.ABANDONED):
        raise NotFound("Assignment", assignment_id)
    return assignment


def worker_called(worker_id: str) -> Worker:
    worker = Worker.objects.filter(worker_id=worker_id).first()
    if worker is None:
        raise NotFound("Worker", worker_id)
    return worker


# --- Lists --------------------------------------------------------------------------------------------------


def listed(
    call: Call,
    rows: QuerySet[Row],
    *,
    name: str,
    write: Callable[[Row], Output],
    order: tuple[str, ...] = ("created_at", "pk"),
) -> Output:
    """One page: the rows under ``name``, NumResults, and NextToken unless it is the last."""
    filters = {key: value for key, value in call.parameters.items() if key not in ("NextToken", "MaxResults")}
    found, next_token = pagination.page(
        rows,
        order=order,
        next_token=call.parameters.get("NextToken"),
        max_results=call.parameters.get("MaxResults"),
        scope=[call.operation, call.requester.pk, filters],
    )
    output: Output = {"NumResults": len(found), name: [write(row) for row in found]}
    if next_token:
        output["NextToken"] = next_token
    return output


# --- Values and structures ----------------------------------------------------------------------------------


def dollars(call: Call, name: str) -> Decimal:
    try:
        return money.amount(call.parameters[name])
    except ValueError as error:
        raise Invalid(name, str(error)) from None


def present(**members: Any) -> Output:
    """Members that have a value: the API leaves the others out."""
    return {name: value for name, value in members.items() if value not in (None, "")}


def requirement_out(requirement: dict[str, Any]) -> Output:
    return {name: value for name, value in requirement.items() if value is not None}


def hit_out(hit: Hit) -> Output:
    hit_type = hit.hit_type
    return present(
        HITId=hit.hit_id,
        HITTypeId=hit_type.type_id,
        HITGroupId=hit_type.type_id,
        CreationTime=hit.created_at,
        Title=hit_type.title,
        Description=hit_type.description,
        Question=hit.question,
        Keywords=hit_type.keywords,
        HITStatus=hit.state,
        MaxAssignments=hit.max_assignments,
        Reward=str(hit_type.reward),
        AutoApprovalDelayInSeconds=hit_type.auto_approval_delay,
        Expiration=hit.expires_at,
        AssignmentDurationInSeconds=hit_type.assignment_duration,
        RequesterAnnotation=hit.annotation,
        HITReviewStatus="MarkedForReview" if hit.state == Hit.State.REVIEWING else "NotReviewed",
        NumberOfAssignmentsPending=hit.n_pending,
        NumberOfAssignmentsAvailable=hit.n_available,
        NumberOfAssignmentsCompleted=hit.n_completed,
    ) | {"QualificationRequirements": [requirement_out(each) for each in hit_type.requirements]}


def assignment_out(assignment: Assignment) -> Output:
    return present(
        AssignmentId=assignment.assignment_id,
        WorkerId=assignment.worker.worker_id,
        HITId=assignment.hit.hit_id,
        AssignmentStatus=assignment.state,
        AutoApprovalTime=assignment.auto_approve_at,
        AcceptTime=assignment.accepted_at,
        SubmitTime=assignment.submitted_at,
        ApprovalTime=assignment.approved_at,
        RejectionTime=assignment.rejected_at,
        Deadline=assignment.deadline,
        Answer=assignment.answer,
        RequesterFeedback=assignment.requester_feedback,
    )
