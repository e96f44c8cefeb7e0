"""What runs in the background. Each task may run twice."""

from __future__ import annotations

from celery import shared_task

from marketplace.services.upkeep import bring_up_to_date


@shared_task(name="marketplace.tasks.upkeep")  # type: ignore[untyped-decorator]  # Celery has no types
def upkeep() -> int:
    """Do what time alone brings about; how many HITs were looked at."""
    return bring_up_to_date()
