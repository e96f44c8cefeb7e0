"""Qualification types, requests and grants."""

from __future__ import annotations

from typing import Any

from django.db.models import Q

from marketplace.models import Qualification, QualificationRequest, QualificationType
from marketplace.operations.registry import Call
from marketplace.operations.shared import Output, handles, listed, present, worker_called
from marketplace.services.qualifications import builtin_types, grants, qualification_requests, qualification_types
from marketplace.services.qualifications.qualification_types import Terms, find_type
from marketplace.services.refusals import NotFound, Refusal, WrongState

_TERMS = {
    "description": "Description",
    "status": "QualificationTypeStatus",
    "test": "Test",
    "answer_key": "AnswerKey",
    "test_duration": "TestDurationInSeconds",
    "retry_delay": "RetryDelayInSeconds",
    "auto_granted": "AutoGranted",
    "auto_value": "AutoGrantedValue",
}


def _terms(parameters: dict[str, Any]) -> Terms:
    return Terms(**{field: parameters.get(member) for field, member in _TERMS.items()})


def _own_type(call: Call) -> QualificationType:
    """The caller's own type: only its owner can read its details or change it."""
    type_ = find_type(call.parameters["QualificationTypeId"])
    if type_.requester_id != call.requester.pk:
        raise Refusal(
            f"QualificationType {type_.type_id} does not belong to this requester.", code="PermissionDeniedException"
        )
    return type_


def _type_out(type_: QualificationType, *, owner: bool) -> Output:
    hidden = present(Test=type_.test, AnswerKey=type_.answer_key) if owner else {}
    return hidden | present(
        QualificationTypeId=type_.type_id,
        CreationTime=type_.created_at,
        Name=type_.name,
        Description=type_.description,
        Keywords=type_.keywords,
        QualificationTypeStatus=type_.status,
        TestDurationInSeconds=type_.test_duration,
        RetryDelayInSeconds=type_.retry_delay,
        IsRequestable=type_.requestable,
        AutoGranted=type_.auto_granted,
        AutoGrantedValue=type_.auto_value if type_.auto_granted else None,
    )


@handles("CreateQualificationType")
def create_type(call: Call) -> Output:
    type_ = qualification_types.create_type(
        requester=call.requester,
        name=call.parameters["Name"],
        keywords=call.parameters.get("Keywords", ""),
        terms=_terms(call.parameters),
        now=call.now,
    )
    return {"QualificationType": _type_out(type_, owner=True)}


@handles("UpdateQualificationType")
def update_type(call: Call) -> Output:
    changed = qualification_types.update_type(type=_own_type(call), terms=_terms(call.parameters))
    return {"QualificationType": _type_out(changed, owner=True)}


@handles("DeleteQualificationType")
def delete_type(call: Call) -> Output:
    qualification_types.delete_type(type=_own_type(call), now=call.now)
    return {}


@handles("GetQualificationType")
def get_type(call: Call) -> Output:
    type_ = find_type(call.parameters["QualificationTypeId"])
    return {"QualificationType": _type_out(type_, owner=type_.requester_id == call.requester.pk)}


@handles("ListQualificationTypes")
def list_types(call: Call) -> Output:
    builtin_types.ensure_builtin_types()
    types = QualificationType.objects.filter(deleted_at=None)
    if call.parameters.get("MustBeOwnedByCaller"):
        types = types.filter(requester=call.requester)
    if call.parameters["MustBeRequestable"]:
        types = types.filter(requestable=True, status="Active")
    for word in call.parameters.get("Query", "").split():
        types = types.filter(Q(name__icontains=word) | Q(description__icontains=word) | Q(keywords__icontains=word))
    caller = call.requester.pk
    return listed(
        call, types, name="QualificationTypes", write=lambda row: _type_out(row, owner=row.requester_id == caller)
    )


# --- Requests -----------------------------------------------------------------------------------------------


@handles("ListQualificationRequests")
def list_requests(call: Call) -> Output:
    pending = QualificationRequest.objects.filter(type__requester=call.requester, state="Pending")
    if "QualificationTypeId" in call.parameters:
        pending = pending.filter(type=_own_type(call))
    return listed(
        call,
        pending.select_related("type", "worker"),
        name="QualificationRequests",
        write=lambda request: present(
            QualificationRequestId=request.request_id,
            QualificationTypeId=request.type.type_id,
            WorkerId=request.worker.worker_id,
            Test=request.test,
            Answer=request.answer,
            SubmitTime=request.submitted_at,
        ),
        order=("submitted_at", "pk"),
    )


def _own_request(call: Call) -> QualificationRequest:
    request_id = call.parameters["QualificationRequestId"]
    requests = QualificationRequest.objects.filter(type__requester=call.requester).exclude(state="Started")
    request = requests.filter(request_id=request_id).first()
    if request is None:
        raise NotFound("QualificationRequest", request_id)
    return request


@handles("AcceptQualificationRequest")
def accept_request(call: Call) -> Output:
    value = call.parameters.get("IntegerValue")
    qualification_requests.accept_request(request=_own_request(call), value=value, now=call.now)
    return {}


@handles("RejectQualificationRequest")
def reject_request(call: Call) -> Output:
    reason = call.parameters.get("Reason", "")
    qualification_requests.reject_request(request=_own_request(call), reason=reason, now=call.now)
    return {}


# --- Grants -------------------------------------------------------------------------------------------------


@handles("AssociateQualificationWithWorker")
def associate(call: Call) -> Output:
    grants.associate(
        type=_own_type(call),
        worker=worker_called(call.parameters["WorkerId"]),
        value=call.parameters.get("IntegerValue", 1),
        notify=call.parameters.get("SendNotification", True),
        now=call.now,
    )
    return {}


@handles("DisassociateQualificationFromWorker")
def disassociate(call: Call) -> Output:
    grants.disassociate(
        type=_own_type(call),
        worker=worker_called(call.parameters["WorkerId"]),
        reason=call.parameters.get("Reason", ""),
        now=call.now,
    )
    return {}


@handles("GetQualificationScore")
def get_score(call: Call) -> Output:
    type_, worker = _own_type(call), worker_called(call.parameters["WorkerId"])
    row = Qualification.objects.select_related("type", "worker").filter(type=type_, worker=worker).first()
    if row is None:
        raise NotFound("Qualification", f"{type_.type_id} of worker {worker.worker_id}")
    if row.status != Qualification.Status.GRANTED:
        name = f"{type_.type_id} of worker {worker.worker_id}"
        raise WrongState("Qualification", name, state=row.status, allowed=Qualification.Status.GRANTED)
    return {"Qualification": _qualification_out(row)}


@handles("ListWorkersWithQualificationType")
def list_workers(call: Call) -> Output:
    rows = Qualification.objects.filter(type=_own_type(call)).select_related("type", "worker")
    if "Status" in call.parameters:
        rows = rows.filter(status=call.parameters["Status"])
    # By ID, because the time of the grant changes with the score.
    return listed(call, rows, name="Qualifications", write=_qualification_out, order=("pk",))


def _qualification_out(row: Qualification) -> Output:
    return present(
        QualificationTypeId=row.type.type_id,
        WorkerId=row.worker.worker_id,
        GrantTime=row.granted_at,
        IntegerValue=row.value,
        Status=row.status,
    )
