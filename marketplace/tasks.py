"""Background tasks. Each task may run twice."""

from __future__ import annotations

from celery import shared_task

from marketplace.services.hits import uploaded_files
from marketplace.services.hits.due_changes import bring_up_to_date


@shared_task(name="marketplace.tasks.upkeep")  # type: ignore[untyped-decorator]  # Celery has no types
def upkeep() -> int:
    """Do what is due by time alone; returns how many HITs were checked. One that fails does not stop the others."""
    return bring_up_to_date(keep_going=True)


@shared_task(name="marketplace.tasks.remove_files")  # type: ignore[untyped-decorator]
def remove_files() -> int:
    """Delete uploaded files that nobody can fetch any more; returns how many."""
    return uploaded_files.remove_unneeded()
