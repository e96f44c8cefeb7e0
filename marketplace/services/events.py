"""Events of HITs and assignments, told to whoever asked for them.

What is to be told is written with the change itself; it is sent after that was committed, by a task.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from django.db import transaction

from marketplace.models import Assignment, Hit, NotificationDelivery, NotificationSetting


def tell(*, event: str, hit: Hit, assignment: Assignment | None = None, now: datetime) -> None:
    """Note an event, if the HIT's type has an active notification for it. Inside the transaction of the change."""
    setting = NotificationSetting.objects.filter(hit_type_id=hit.hit_type_id, active=True).first()
    if setting is None or event not in setting.event_types:
        return
    told = {
        "EventType": event,
        "EventTimestamp": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "HITTypeId": hit.hit_type.type_id,
        "HITId": hit.hit_id,
    }
    if assignment is not None:
        told["AssignmentId"] = assignment.assignment_id
    delivery = NotificationDelivery.objects.create(setting=setting, event=told, created_at=now)
    transaction.on_commit(partial(_deliver_soon, delivery.pk), robust=True)


def _deliver_soon(delivery_id: int) -> None:
    from marketplace.wire.notifications import deliver  # brings boto3 along, which most processes never need

    deliver.delay(delivery_id)
