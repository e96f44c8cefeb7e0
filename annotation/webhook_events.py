"""What happens in a study, for the programs that want to know. Every service that makes it happen calls this.

The message is stored in the service's transaction: it is sent if and only if the event happened. `webhooks.sending`
sends it.
"""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any

from celery import current_app
from django.db import transaction
from django.utils import timezone

from annotation import sql
from annotation.models import Study, Webhook, WebhookDelivery
from common.task_queue import handed_over

Event = Webhook.Event
DELIVER = "annotation.tasks.deliver_webhooks"


def announce(*, study: Study, event: str, message_id: str = "", **data: Any) -> int:
    """Store one message for each active webhook of the study that wants the event. Returns how many there are.

    A ``message_id`` that a webhook has had before stores nothing there.
    """
    hooks = hooks_for(study.pk, event)
    now = timezone.now()
    if hooks:
        rows = [WebhookDelivery(**message_columns(hook, event, now, message_id), data=data) for hook in hooks]
        WebhookDelivery.objects.bulk_create(rows, ignore_conflicts=True)
        wake_on_commit()
    return len(hooks)


def hooks_for(study_id: int, event: str) -> list[int]:
    """The active webhooks of a study that want this event. One query."""
    hooks = Webhook.objects.filter(study=study_id, active=True).values_list("pk", "events")
    return [pk for pk, events in hooks if event in events]


def message_columns(hook: int, event: str, now: datetime, message_id: str = "") -> dict[str, Any]:
    """The columns of a new message. Without a ``message_id``, it gets a new one."""
    return {
        "webhook_id": hook,
        "message_id": message_id or f"msg_{secrets.token_hex(16)}",
        "event": event,
        "created_at": now,
        "next_at": now,
    }


def messages_of_submission(
    study_id: int, submission: sql.Found, now: datetime, *, flagged: bool
) -> list[dict[str, Any]]:
    """The messages about a submission that is about to be stored, as columns of WebhookDelivery."""
    events = [Event.ARRIVED, *([Event.REVIEW_NEEDED] if flagged else [])]
    stored = {"submission": submission, "data": {}, "state": WebhookDelivery.State.WAITING, "attempts": 0, "answer": ""}
    return [message_columns(hook, event.value, now) | stored for event in events for hook in hooks_for(study_id, event)]


def wake_on_commit() -> None:
    """Have the messages sent soon. If the queue does not respond, the scheduler sends them within a minute."""
    transaction.on_commit(lambda: handed_over(lambda: current_app.send_task(DELIVER)), robust=True)
