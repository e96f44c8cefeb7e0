"""What runs in the background. Each task may run twice."""

from __future__ import annotations

from celery import shared_task

from annotation.services import allocation


@shared_task(name="annotation.tasks.reclaim_expired")  # type: ignore[untyped-decorator]  # Celery has no types
def reclaim_expired() -> int:
    """Free the places of all work whose time is up; how many there were."""
    return allocation.reclaim_expired()
