"""Which events of HITs and assignments a requester is notified of, and writing one down.

An event is written in the transaction of the change. A task sends it after the commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import transaction

from common.task_queue import handed_over
from marketplace import clock
from marketplace.models import Assignment, Hit, HITType, NotificationDelivery, NotificationSetting
from marketplace.services.refusals import InvalidParameter, Refusal


@dataclass(frozen=True, slots=True)
class Specification:
    """Where to send notifications, and for which events."""

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
        fields = {
            "destination": specification.destination,
            "transport": specification.transport,
            "version": specification.version,
            "event_types": list(specification.event_types),
            "active": True if active is None else active,
            "updated_at": now,
        }
        row, _ = NotificationSetting.objects.update_or_create(hit_type=hit_type, defaults=fields)
        return row
    setting = NotificationSetting.objects.select_for_update().filter(hit_type=hit_type).first()
    if setting is None:
        raise Refusal(
            f"HIT type {hit_type.type_id} has no notification yet. Send one first.",
            code="NotificationMissing",
        )
    if active is None:
        raise InvalidParameter("Active", "Send a specification, or Active, or both.")
    setting.active, setting.updated_at = active, now
    setting.save(update_fields=["active", "updated_at"])
    return setting


def note_event(*, event: str, hit: Hit, assignment: Assignment | None = None, now: datetime) -> None:
    """Write an event, if the HIT's type has an active notification for it. Call it in the transaction of the change."""
    setting = NotificationSetting.objects.filter(hit_type_id=hit.hit_type_id, active=True).first()
    if setting is None or event not in setting.event_types:
        return
    event_fields = {
        "EventType": event,
        "EventTimestamp": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "HITTypeId": hit.hit_type.type_id,
        "HITId": hit.hit_id,
    }
    if assignment is not None:
        event_fields["AssignmentId"] = assignment.assignment_id
    delivery = NotificationDelivery.objects.create(
        requester_id=hit.requester_id,
        setting=setting,
        transport=setting.transport,
        destination=setting.destination,
        event=event_fields,
        created_at=now,
    )

    def deliver_soon() -> None:
        from marketplace.services.messages.notification_delivery import (
            deliver,  # imports boto3, which most processes never need
        )

        handed_over(lambda: deliver.delay(delivery.pk))  # if not, ``deliver_due`` does it within a minute

    transaction.on_commit(deliver_soon, robust=True)
