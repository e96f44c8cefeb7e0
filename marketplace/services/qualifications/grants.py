"""Qualifications that workers have: granted, changed, revoked."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from marketplace import clock
from marketplace.models import Qualification, QualificationType, Worker
from marketplace.services.audit_log import record
from marketplace.services.messages.worker_messages import send
from marketplace.services.refusals import NotFound

GRANTED, REVOKED = Qualification.Status.GRANTED, Qualification.Status.REVOKED


def give(type: QualificationType, worker: Worker, value: int, now: datetime) -> Qualification:
    row, _ = Qualification.objects.update_or_create(
        type=type, worker=worker, defaults={"value": value, "status": GRANTED, "granted_at": now, "reason": ""}
    )
    return row


@transaction.atomic
def associate(
    *, type: QualificationType, worker: Worker, value: int = 1, notify: bool = True, now: datetime | None = None
) -> Qualification:
    """Give a worker a qualification, or change its value."""
    now = now or clock.now()
    row = give(type, worker, value, now)
    if notify:
        text = f"You now have the qualification “{type.name}”, with the value {value}."
        send(
            worker=worker, requester=type.requester, subject="You have been granted a qualification", text=text, now=now
        )
    return row


@transaction.atomic
def disassociate(
    *, type: QualificationType, worker: Worker, reason: str = "", now: datetime | None = None
) -> Qualification:
    """Revoke it. Raises NotFound if the worker does not have it."""
    now = now or clock.now()
    rows = Qualification.objects.select_for_update(of=("self",), no_key=True)
    row = rows.filter(type=type, worker=worker, status=GRANTED).first()
    if row is None:
        raise NotFound("Qualification", f"{type.type_id} of worker {worker.worker_id}")
    row.status, row.reason = REVOKED, reason
    row.save(update_fields=["status", "reason"])
    if reason:
        subject = f"Your qualification “{type.name}” was revoked"[:200]
        send(worker=worker, requester=type.requester, subject=subject, text=reason, now=now)
    return row


@transaction.atomic
def grant(*, type: QualificationType, worker: Worker, value: int = 1, actor: str) -> Qualification:
    """An operator's grant, for example of Masters."""
    row = associate(type=type, worker=worker, value=value)
    record(actor=actor, action="qualification granted", about=type.name, worker=worker, value=value)
    return row


@transaction.atomic
def revoke(*, type: QualificationType, worker: Worker, reason: str = "", actor: str) -> Qualification:
    """An operator's revocation."""
    row = disassociate(type=type, worker=worker, reason=reason)
    record(actor=actor, action="qualification revoked", about=type.name, worker=worker, reason=reason)
    return row
