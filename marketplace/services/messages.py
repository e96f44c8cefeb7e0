"""Messages to workers, and which events a requester wants to hear of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from marketplace import clock
from marketplace.models import Assignment, HITType, Message, NotificationSetting, Requester, Worker
from marketplace.services.refusals import Invalid, Refused

MOST_WORKERS = 100
MOST_SUBJECT = 200
MOST_TEXT = 4096


def inbox(worker: Worker) -> QuerySet[Message]:
    """The worker's messages, newest first."""
    return Message.objects.filter(worker=worker).select_related("requester").order_by("-created_at", "-pk")


def unread(worker: Worker) -> int:
    return Message.objects.filter(worker=worker, read_at=None).count()


def mark_read(*, message: Message) -> None:
    Message.objects.filter(pk=message.pk, read_at=None).update(read_at=clock.now())


def send(
    *, worker: Worker, subject: str, text: str, requester: Requester | None = None, now: datetime | None = None
) -> Message:
    """Put a message into the worker's inbox."""
    return Message.objects.create(
        worker=worker, requester=requester, subject=subject, text=text, created_at=now or clock.now()
    )


@dataclass(frozen=True, slots=True)
class NotNotified:
    """A worker who did not get the message. ``hard``: there is no such worker, so trying again is of no use."""

    worker_id: str
    hard: bool
    reason: str


@transaction.atomic
def notify_workers(
    *, requester: Requester, subject: str, text: str, worker_ids: Sequence[str], now: datetime | None = None
) -> list[NotNotified]:
    """Send a message to workers whose work the requester has approved or rejected; those who did not get it."""
    if not 1 <= len(subject) <= MOST_SUBJECT:
        raise Invalid("Subject", f"It takes from 1 to {MOST_SUBJECT} characters.")
    if not 1 <= len(text) <= MOST_TEXT:
        raise Invalid("MessageText", f"It takes from 1 to {MOST_TEXT} characters.")
    if not 1 <= len(worker_ids) <= MOST_WORKERS:
        raise Invalid("WorkerIds", f"It takes from 1 to {MOST_WORKERS} workers.")
    now = now or clock.now()
    wanted = list(dict.fromkeys(worker_ids))
    workers = {worker.worker_id: worker for worker in Worker.objects.filter(worker_id__in=wanted)}
    decided = Assignment.objects.filter(hit__requester=requester, state__in=("Approved", "Rejected"))
    known = set(decided.filter(worker__in=workers.values()).values_list("worker__worker_id", flat=True))
    failures, told = [], []
    for worker_id in wanted:
        if worker_id not in workers:
            failures.append(NotNotified(worker_id, True, f"Worker {worker_id} does not exist."))
        elif worker_id not in known:
            reason = "Cannot send a notification to a worker who has not done any work for you"  # as MTurk says it
            failures.append(NotNotified(worker_id, True, reason))
        elif not workers[worker_id].active:
            failures.append(NotNotified(worker_id, False, f"Worker {worker_id} is not active at present."))
        else:
            told.append(workers[worker_id])
    Message.objects.bulk_create(
        Message(worker=worker, requester=requester, subject=subject, text=text, created_at=now) for worker in told
    )
    return failures


@dataclass(frozen=True, slots=True)
class Specification:
    """Where to and of what a requester wants to be notified."""

    destination: str
    transport: str
    version: str
    event_types: Sequence[str]


@transaction.atomic
def set_notification(
    *, hit_type: HITType, specification: Specification | None, active: bool | None, now: datetime | None = None
) -> NotificationSetting:
    """Replace the specification, or switch it on or off."""
    now = now or clock.now()
    if specification is not None:
        given = {
            "destination": specification.destination,
            "transport": specification.transport,
            "version": specification.version,
            "event_types": list(specification.event_types),
            "active": True if active is None else active,
            "updated_at": now,
        }
        row, _ = NotificationSetting.objects.update_or_create(hit_type=hit_type, defaults=given)
        return row
    found = NotificationSetting.objects.select_for_update().filter(hit_type=hit_type).first()
    if found is None:
        raise Refused(
            f"HIT type {hit_type.type_id} has no notification yet; give a specification.", code="NotificationMissing"
        )
    if active is None:
        raise Invalid("Active", "Give a specification, or say whether it is active.")
    found.active, found.updated_at = active, now
    found.save(update_fields=["active", "updated_at"])
    return found
