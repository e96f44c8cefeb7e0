"""Tasks that carry out confirmed decisions. Each may run twice."""

from __future__ import annotations

import logging

from celery import shared_task

from annotation.models import BulkAction, QualificationType
from annotation.platforms import PlatformTrouble, connect
from annotation.services import bulk, qualifying
from common.task_queue import handed_over

log = logging.getLogger(__name__)


@shared_task(name="annotation.tasks.run_bulk")  # type: ignore[untyped-decorator]  # Celery has no types
def run_bulk(bulk_id: int) -> int:
    """Do what is left of a confirmed action. Returns how many of its rows are done."""
    done = bulk.run_action(bulk_id=bulk_id, connect=connect)
    return done.position if done is not None else 0


@shared_task(name="annotation.tasks.continue_bulk")  # type: ignore[untyped-decorator]
def continue_bulk() -> int:
    """Continue actions that stopped because a process ended or a platform could not be reached. Returns how many."""
    running = BulkAction.objects.filter(state=BulkAction.State.RUNNING).order_by("pk").values_list("pk", flat=True)
    for pk in list(running):
        bulk.run_action(bulk_id=pk, connect=connect)
    return len(running)


@shared_task(name="annotation.tasks.grant_qualifications")  # type: ignore[untyped-decorator]
def grant_qualifications() -> int:
    """Grant the qualifications that workers have earned since the last time. Returns how many."""
    made = 0
    for kind in QualificationType.objects.select_related("study").order_by("pk"):
        try:
            made += qualifying.grant_all(kind=kind, platform=connect(kind.platform))
        except PlatformTrouble as trouble:
            log.warning("%s could not be granted; trying again in a minute: %s", kind, trouble)
    return made


@shared_task(name="annotation.tasks.grant_now")  # type: ignore[untyped-decorator]
def grant_now(assignment_id: int) -> int:
    """Grant what one piece of work earns its worker, before they accept the next one. Returns the number of calls."""
    try:
        return qualifying.grant_now(assignment_id=assignment_id)
    except PlatformTrouble as trouble:
        log.warning("Assignment %s: not granted at once; trying again in a minute: %s", assignment_id, trouble)
        return 0


def start(bulk_id: int) -> None:
    """Wake a worker. If the queue does not respond, the scheduler starts the action within a minute."""
    handed_over(lambda: run_bulk.delay(bulk_id))
