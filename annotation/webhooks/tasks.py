"""Background tasks of webhooks. Each may run twice."""

from __future__ import annotations

from celery import shared_task

from annotation.webhook_events import DELIVER
from annotation.webhooks import halfway, sending


@shared_task(name=DELIVER)  # type: ignore[untyped-decorator]  # Celery has no types
def deliver_webhooks() -> int:
    """Send the messages that are due. Returns how many were tried."""
    return sending.deliver_due()


@shared_task(name="annotation.tasks.announce_progress")  # type: ignore[untyped-decorator]
def announce_progress() -> int:
    """Tell webhooks that half of a study is done, or all of it. Returns how many studies were looked at."""
    sending.forget_old()
    return halfway.announce_progress()
