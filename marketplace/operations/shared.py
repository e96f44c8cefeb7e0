"""What the operations share: refusals in the API's words, lookups by ID, and the API's data structures."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import wraps
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Model, QuerySet

from marketplace import money
from marketplace.models import Assignment, Hit, HITType, Worker
from marketplace.operations.registry import Call, Handler, operation
from marketplace.services import audit_log
from marketplace.services.hits.due_changes import bring_up_to_date
from marketplace.services.money.payments import InsufficientFunds
from marketplace.services.refusals import AlreadyExists, InvalidParameter, NotFound, Refusal, WrongState
from marketplace.wire import errors, pagination

Row = TypeVar("Row", bound=Model)
Output = dict[str, Any]


def handles(name: str) -> Callable[[Handler], Handler]:
    """Registers a handler for this operation. A service's refusal becomes an API error."""

    def register(handler: Handler) -> Handler:
        @wraps(handler)
        def translated(call: Call) -> Output:
            try:
                if name not in audit_log.CHANGES:
                    return handler(call)
                bring_up_to_date(requester=call.requester, now=call.now)  # first: it commits HIT by HIT
                by = audit_log.Signed(call.requester, call.access_key)
                with transaction.atomic():  # the changes and their row in the log are saved together, or not at all
                    result = handler(call)
                    audit_log.record_call(
                        by=by, operation=name, parameters=call.parameters, result=result, now=call.now
                    )
                return result
            except Refusal as refusal:
                raise in_words_of_the_api(refusal, call) from None

        return operation(name)(translated)

    return register


def in_words_of_the_api(refusal: Refusal, call: Call) -> errors.WireError:
    match refusal:
        case InvalidParameter(code="XMLParseError"):
            return errors.bad_question(refusal.parameter, refusal.message)
        case InvalidParameter(code="InvalidParameterValue"):
            return errors.bad_parameter(refusal.parameter, call.parameters.get(refusal.parameter), refusal.message)
        case InvalidParameter():
            return errors.ParameterValidationError(f"{refusal.parameter}: {refusal.message}", code=refusal.code)
        case NotFound():
            return errors.not_found(refusal.kind, refusal.identifier)
        case WrongState():
            return errors.wrong_state(refusal.kind, refusal.identifier, state=refusal.state, allowed=refusal.allowed)
        case InsufficientFunds():
            return errors.insufficient_funds(needed=refusal.needed, available=refusal.available)
        case AlreadyExists(kind="HIT"):
            return errors.hit_exists(refusal.identifier)
        case AlreadyExists(kind="QualificationType"):
            return errors.name_taken(refusal.identifier)
        case AlreadyExists():
            token = call.parameters.get("UniqueRequestToken", "")
            return errors.token_used(token, what=f"{refusal.kind} {refusal.identifier}", code=refusal.code)
    return errors.RequestError(refusal.message, code=refusal.code)


# --- Found by id, and only the caller's own -----------------------------------------------------------------


def own_hit(call: Call, name: str = "HITId") -> Hit:
    hit_id = call.parameters[name]
    hit = (
        Hit.objects.select_related("hit_type", "requester", "layout")
        .filter(hit_id=hit_id, requester=call.requester)
        .first()
    )
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
    """An assignment of one of the caller's HITs. Returned and abandoned ones are not results, so they are not found."""
    assignment_id = call.parameters[name]
    assignments = Assignment.objects.select_related("worker", "hit__hit_type", "hit__requester", "hit__layout")
    assignment = assignments.filter(assignment_id=assignment_id, hit__requester=call.requester).first()
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
    """One page of a list: the rows under ``name``, NumResults, and NextToken unless there are no rows."""
    filters = {key: value for key, value in call.parameters.items() if key not in ("NextToken", "MaxResults")}
    page_rows, next_token = pagination.page(
        rows,
        order=order,
        next_token=call.parameters.get("NextToken"),
        max_results=call.parameters.get("MaxResults"),
        scope=[call.operation, call.requester.pk, filters],
    )
    output: Output = {"NumResults": len(page_rows), name: [write(row) for row in page_rows]}
    if next_token:
        output["NextToken"] = next_token
    return output


# --- Values and structures ----------------------------------------------------------------------------------


def dollars(call: Call, name: str) -> Decimal:
    try:
        return money.amount(call.parameters[name])
    except ValueError as error:
        raise InvalidParameter(name, str(error)) from None


def present(**members: Any) -> Output:
    """The members that have a value; the API omits the others."""
    return {name: value for name, value in members.items() if value not in (None, "")}


def requirement_out(requirement: dict[str, Any]) -> Output:
    return {name: value for name, value in requirement.items() if value is not None}


def hit_out(hit: Hit) -> Output:
    hit_type = hit.hit_type
    return present(
        HITId=hit.hit_id,
        HITTypeId=hit_type.type_id,
        HITGroupId=hit_type.type_id,
        HITLayoutId=hit.layout.layout_id if hit.layout else None,
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
    ) | {"QualificationRequirements": [requirement_out(requirement) for requirement in hit_type.requirements]}


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
