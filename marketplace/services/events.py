"""Events of HITs and assignments, for requesters who asked for them.

An event is written in the transaction of the change. A task sends it after the commit.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from django.db import transaction

from common.task_queue import handed_over
from marketplace.models import Assignment, Hit, NotificationDelivery, NotificationSetting


def note_event(*, event: str, hit: Hit, assignment: Assignment | None = None, now: datetime) -> None:
    """Write an event, if the HIT's type has an active notification for it. Call it in the transaction of the change."""
    setting = NotificationSetting.objects.filter(hit_type_id=hit.hit_type_id, active=True).first()
    if setting is None or event not in setting.event_types:
        return
    event_told = {
        "EventType": event,
        "EventTimestamp": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "HITTypeId": hit.hit_type.type_id,
        "HITId": hit.hit_id,
    }
    if assignment is not None:
        event_told["AssignmentId"] = assignment.assignment_id
    delivery = NotificationDelivery.objects.create(
        requester_id=hit.requester_id,
        setting=setting,
        transport=setting.transport,
        destination=setting.destination,
        event=event_told,
        created_at=now,
    )
    transaction.on_commit(partial(_deliver_soon, delivery.pk), robust=True)


def _deliver_soon(delivery_id: int) -> None:
    from marketplace.services.deliveries import deliver  # imports boto3, which most processes never need

    handed_over(lambda: deliver.delay(delivery_id))  # if not, ``deliver_due`` does it within a minute
