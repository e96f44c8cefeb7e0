"""The tasks that run in the background. Each may run twice."""

from __future__ import annotations

from celery import shared_task

from annotation.review import completion
from annotation.studies import outputs
from annotation.work import ending


@shared_task(name="annotation.tasks.reclaim_expired")  # type: ignore[untyped-decorator]  # Celery has no types
def reclaim_expired() -> int:
    """Free the places of all assignments whose time is up. Returns how many there were."""
    return ending.reclaim_expired()


@shared_task(name="annotation.tasks.follow_feeds")  # type: ignore[untyped-decorator]  # Celery has no types
def follow_feeds() -> int:
    """In live studies that follow another, make items from outputs that have arrived. Returns how many are new."""
    return outputs.follow_feeds()


@shared_task(name="annotation.tasks.tell_of_complete_studies")  # type: ignore[untyped-decorator]  # Celery has no types
def tell_of_complete_studies() -> int:
    """Tell the owners of studies that have all their ratings. Returns the number of studies."""
    return completion.tell_of_complete_studies()
