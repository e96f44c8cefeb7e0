"""The audit log: who did what, written in the transaction of the change itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

from marketplace import clock
from marketplace.models import AuditRow, Requester, Worker

Kind = AuditRow.Kind
MOST_TEXT = 500

_KINDS = {
    Kind.ACCESS: (
        *("operator made", "requester created", "requester activated", "requester deactivated"),
        *("key created", "key revoked", "user made", "user attached", "user detached", "user invited"),
        *("password link made", "password set"),
    ),
    Kind.HITS: ("HIT created", "HIT expired", "HIT offered until"),
    Kind.MONEY: ("bonus paid", "deposit", "paid back", "payout", "payroll made", "payroll paid", "payout returned"),
    Kind.WORK: (
        *("work approved", "work rejected", "rejection taken back", "rejection disputed", "dispute answered"),
        *("rejection upheld", "rejection overturned"),
    ),
    Kind.WORKERS: (
        *("worker invited", "worker joined", "worker changed", "worker activated", "worker deactivated"),
        *("worker blocked", "worker unblocked", "worker answered", "own details changed"),
    ),
    Kind.QUALIFICATIONS: ("qualification granted", "qualification revoked"),
}
_KIND_OF = {action: kind for kind, actions in _KINDS.items() for action in actions}


def record(
    *,
    actor: str,
    action: str,
    about: str = "",
    requester: Requester | None = None,
    worker: Worker | None = None,
    **detail: Any,
) -> AuditRow:
    """Append one row to the audit log, in the transaction of the change. Money and times become text."""
    return AuditRow.objects.create(
        at=clock.now(),
        kind=_KIND_OF.get(action, Kind.OTHER),
        actor=actor[:150],
        action=action,
        about=about[:100],
        requester=requester,
        worker=worker,
        detail=_plain(detail),
    )


def _plain(detail: Mapping[str, Any]) -> dict[str, Any]:
    plain_detail: dict[str, Any] = json.loads(json.dumps(detail, cls=DjangoJSONEncoder))
    return {name: value[:MOST_TEXT] if isinstance(value, str) else value for name, value in plain_detail.items()}


# --- Calls of the API -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Signed:
    """Who called: a requester and the ID of their access key."""

    requester: Requester
    access_key: str


#: The operations that change something, by kind. A test checks them against the service model: all others only read.
_OPERATIONS = {
    Kind.HITS: (
        *("CreateHIT", "CreateHITType", "CreateHITWithHITType", "CreateAdditionalAssignmentsForHIT", "DeleteHIT"),
        *("UpdateExpirationForHIT", "UpdateHITReviewStatus", "UpdateHITTypeOfHIT", "UpdateNotificationSettings"),
    ),
    Kind.WORK: ("ApproveAssignment", "RejectAssignment"),
    Kind.MONEY: ("SendBonus",),
    Kind.WORKERS: ("CreateWorkerBlock", "DeleteWorkerBlock", "NotifyWorkers"),
    Kind.QUALIFICATIONS: (
        *("CreateQualificationType", "UpdateQualificationType", "DeleteQualificationType"),
        *("AcceptQualificationRequest", "RejectQualificationRequest"),
        *("AssociateQualificationWithWorker", "DisassociateQualificationFromWorker"),
    ),
}
CHANGES = {operation: kind for kind, operations in _OPERATIONS.items() for operation in operations}
#: What a row is about: the first of these IDs in the answer, else in the request.
_IDS = (*("AssignmentId", "QualificationRequestId", "HITId", "QualificationTypeId", "HITTypeId", "WorkerId"),)
#: Parameters to store. Questions, tests, their answers and messages are stored elsewhere, and are long.
_KEPT = (
    *("WorkerId", "WorkerIds", "HITTypeId", "Title", "Name", "Reward", "MaxAssignments", "LifetimeInSeconds"),
    *("NumberOfAdditionalAssignments", "ExpireAt", "Revert", "BonusAmount", "Reason", "RequesterFeedback"),
    *("OverrideRejection", "IntegerValue", "QualificationTypeStatus", "Subject", "Active", "UniqueRequestToken"),
)


def record_call(
    *, by: Signed, operation: str, parameters: Mapping[str, Any], result: Mapping[str, Any], now: datetime
) -> None:
    """Append a row for an API call that changed something, but none for one that only reads. One INSERT."""
    if operation not in CHANGES:
        return
    about = next(_ids(result), "") or next(_ids(parameters), "")
    logged_parameters = {name: parameters[name] for name in _KEPT if parameters.get(name) not in (None, "", about)}
    AuditRow.objects.create(
        at=now,
        kind=CHANGES[operation],
        actor=by.requester.name[:150],
        access_key=by.access_key[:32],
        action=operation,
        about=about[:100],
        requester=by.requester,
        detail=_plain(logged_parameters),
    )


def _ids(members: Mapping[str, Any]) -> Iterator[str]:
    """The IDs in a request or an answer, the most specific first. An answer has them one level down."""
    flat = dict(members)
    for value in members.values():
        if isinstance(value, Mapping):
            flat |= value
    return (str(flat[name]) for name in _IDS if flat.get(name))
