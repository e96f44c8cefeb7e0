"""HIT types and HITs."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from marketplace.models import Hit
from marketplace.operations.registry import Call
from marketplace.operations.shared import Output, dollars, handles, hit_out, listed, own_hit, own_hit_type
from marketplace.services.hits import layouts, posting
from marketplace.services.hits.due_changes import bring_up_to_date
from marketplace.services.qualifications.qualification_types import find_type
from marketplace.services.refusals import InvalidParameter


@handles("CreateHITType")
def create_hit_type(call: Call) -> Output:
    return {
        "HITTypeId": posting.create_hit_type(
            requester=call.requester, properties=_properties(call), now=call.now
        ).type_id
    }


@handles("CreateHIT")
def create_hit(call: Call) -> Output:
    return _create(call, _properties(call))


@handles("CreateHITWithHITType")
def create_hit_with_hit_type(call: Call) -> Output:
    return _create(call, own_hit_type(call))


def _create(call: Call, hit_type: Any) -> Output:
    parameters = call.parameters
    layout = None
    if "HITLayoutId" in parameters:
        if "Question" in parameters:
            raise InvalidParameter("HITLayoutId", "Send a Question or a HITLayoutId, not both.")
        layout = layouts.find_layout(requester=call.requester, layout_id=parameters["HITLayoutId"])
    elif "HITLayoutParameters" in parameters:
        raise InvalidParameter("HITLayoutId", "HITLayoutParameters need it.")
    elif "Question" not in parameters:
        raise InvalidParameter("Question", "A HIT needs a Question or a HITLayoutId.")
    values: dict[str, str] = {}
    for number, parameter in enumerate(parameters.get("HITLayoutParameters", ()), start=1):
        name = parameter.get("Name")
        if not name or "Value" not in parameter:
            raise InvalidParameter("HITLayoutParameters", f"Number {number} needs a Name and a Value.")
        if name in values:
            raise InvalidParameter("HITLayoutParameters", f"There are two values for {name[:100]}.")
        values[name] = parameter["Value"]
    work = posting.Work(
        question=parameters["Question"] if layout is None else layouts.filled(layout, values),
        layout=layout,
        lifetime=parameters["LifetimeInSeconds"],
        max_assignments=parameters.get("MaxAssignments", 1),
        annotation=parameters.get("RequesterAnnotation", ""),
        assignment_review_policy=parameters.get("AssignmentReviewPolicy"),
        hit_review_policy=parameters.get("HITReviewPolicy"),
    )
    token = parameters.get("UniqueRequestToken", "")
    hit = posting.create_hit(requester=call.requester, hit_type=hit_type, work=work, token=token, now=call.now)
    return {"HIT": hit_out(hit)}


def _properties(call: Call) -> posting.Properties:
    parameters = call.parameters
    return posting.Properties(
        title=parameters["Title"],
        description=parameters["Description"],
        keywords=parameters.get("Keywords", ""),
        reward=dollars(call, "Reward"),
        assignment_duration=parameters["AssignmentDurationInSeconds"],
        auto_approval_delay=parameters.get("AutoApprovalDelayInSeconds", posting.DEFAULT_AUTO_APPROVAL),
        requirements=parameters.get("QualificationRequirements", ()),
    )


@handles("GetHIT")
def get_hit(call: Call) -> Output:
    bring_up_to_date(hit=own_hit(call), now=call.now)
    return {"HIT": hit_out(own_hit(call))}


# Newest first: scripts expect the first HIT to be the latest. For Amazon's order, see docs/marketplace.md.
NEWEST_FIRST = ("-created_at", "-pk")


@handles("ListHITs")
def list_hits(call: Call) -> Output:
    return listed(call, _current(call), name="HITs", write=hit_out, order=NEWEST_FIRST)


@handles("ListReviewableHITs")
def list_reviewable_hits(call: Call) -> Output:
    reviewable = _current(call).filter(state=call.parameters.get("Status", "Reviewable"))
    if "HITTypeId" in call.parameters:
        reviewable = reviewable.filter(hit_type=own_hit_type(call))
    return listed(call, reviewable, name="HITs", write=hit_out, order=NEWEST_FIRST)


@handles("ListHITsForQualificationType")
def list_hits_for_qualification_type(call: Call) -> Output:
    type_id = find_type(call.parameters["QualificationTypeId"]).type_id
    # There are far fewer types than HITs, and SQLite cannot search JSON lists.
    asking = [
        pk
        for pk, requirements in call.requester.hit_types.values_list("pk", "requirements")
        if any(requirement["QualificationTypeId"] == type_id for requirement in requirements)
    ]
    asking_for_it = _current(call).filter(hit_type__in=asking)
    return listed(call, asking_for_it, name="HITs", write=hit_out, order=NEWEST_FIRST)


def _current(call: Call) -> QuerySet[Hit]:
    """The caller's HITs in their current state, except disposed ones."""
    bring_up_to_date(requester=call.requester, now=call.now)
    current = Hit.objects.filter(requester=call.requester).exclude(state=Hit.State.DISPOSED)
    return current.select_related("hit_type", "layout")


@handles("CreateAdditionalAssignmentsForHIT")
def create_additional_assignments(call: Call) -> Output:
    posting.extend_hit(
        hit=own_hit(call),
        additional=call.parameters["NumberOfAdditionalAssignments"],
        token=call.parameters.get("UniqueRequestToken", ""),
        now=call.now,
    )
    return {}


@handles("UpdateExpirationForHIT")
def update_expiration(call: Call) -> Output:
    posting.set_expiration(hit=own_hit(call), expires_at=call.parameters["ExpireAt"], now=call.now)
    return {}


@handles("UpdateHITReviewStatus")
def update_review_status(call: Call) -> Output:
    posting.set_review_status(hit=own_hit(call), revert=call.parameters.get("Revert", False), now=call.now)
    return {}


@handles("UpdateHITTypeOfHIT")
def update_hit_type(call: Call) -> Output:
    posting.change_type(hit=own_hit(call), hit_type=own_hit_type(call), now=call.now)
    return {}


@handles("DeleteHIT")
def delete_hit(call: Call) -> Output:
    posting.delete_hit(hit=own_hit(call), now=call.now)
    return {}
