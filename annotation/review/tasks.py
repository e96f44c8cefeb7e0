"""Background tasks: confirmed decisions on submissions, and checks of their quality. Each may run twice."""

from __future__ import annotations

import logging

from celery import shared_task

from annotation.models import BulkAction, QualificationType, Study
from annotation.platforms import PlatformTrouble, connect, connect_account
from annotation.recruiting import qualifications
from annotation.review import bulk_decisions, quality_control, study_progress, work_totals
from common.task_queue import handed_over

log = logging.getLogger(__name__)


@shared_task(name="annotation.tasks.run_bulk")  # type: ignore[untyped-decorator]  # Celery has no types
def run_bulk(bulk_id: int) -> int:
    """Do what is left of a confirmed action. Returns how many of its rows are done."""
    done = bulk_decisions.run_action(bulk_id=bulk_id, connect=connect)
    return done.position if done is not None else 0


@shared_task(name="annotation.tasks.continue_bulk")  # type: ignore[untyped-decorator]
def continue_bulk() -> int:
    """Continue actions that stopped because a process ended or a platform could not be reached. Returns how many."""
    running = BulkAction.objects.filter(state=BulkAction.State.RUNNING).order_by("pk").values_list("pk", flat=True)
    for pk in list(running):
        bulk_decisions.run_action(bulk_id=pk, connect=connect)
    return len(running)


@shared_task(name="annotation.tasks.grant_qualifications")  # type: ignore[untyped-decorator]
def grant_qualifications() -> int:
    """Grant the qualifications that workers have earned since the last time. Returns how many."""
    n_granted = 0
    for kind in QualificationType.objects.select_related("study", "account").order_by("pk"):
        try:
            n_granted += qualifications.grant_all(kind=kind, platform=connect_account(kind.platform, kind.account))
        except PlatformTrouble as trouble:
            log.warning("%s could not be granted; trying again in a minute: %s", kind, trouble)
    return n_granted


@shared_task(name="annotation.tasks.grant_now")  # type: ignore[untyped-decorator]
def grant_now(assignment_id: int) -> int:
    """Grant what one piece of work earns its worker, before they accept the next one. Returns the number of calls."""
    try:
        return qualifications.grant_now(assignment_id=assignment_id)
    except PlatformTrouble as trouble:
        log.warning("Assignment %s: not granted at once; trying again in a minute: %s", assignment_id, trouble)
        return 0


def start_bulk_action(bulk_id: int) -> None:
    """Wake a worker. If the queue does not respond, the scheduler starts the action within a minute."""
    handed_over(lambda: run_bulk.delay(bulk_id))


@shared_task(name="annotation.tasks.check_quality")  # type: ignore[untyped-decorator]  # Celery has no types
def check_quality(study_id: int, actor: str) -> int:
    """Check all submissions of a study. Returns how many there are."""
    study = Study.objects.filter(pk=study_id).first()
    return 0 if study is None else quality_control.check_quality(study=study, actor=actor).submissions


@shared_task(name="annotation.tasks.check_due_quality")  # type: ignore[untyped-decorator]
def check_due_quality() -> int:
    """Check every study with submissions that no check has seen. Returns the number of studies."""
    return quality_control.check_due()


def start_quality_check(study: Study, actor: str) -> bool:
    """Queue a check. False if the task queue does not respond; the next night's check then does the work."""
    return handed_over(lambda: check_quality.delay(study.pk, actor))


@shared_task(name="annotation.tasks.count_work")  # type: ignore[untyped-decorator]
def count_work() -> int:
    """Count the running totals that are not right any more, and what large studies' overviews need besides.

    Returns how many totals there were.
    """
    n_counted = work_totals.count_marked()
    study_progress.count_slow_figures()
    return n_counted


@shared_task(name="annotation.tasks.check_totals")  # type: ignore[untyped-decorator]
def check_totals() -> int:
    """Compare all running totals with what is stored, and repair them. Returns how many were wrong: see the log."""
    return len(work_totals.check_totals(Study.objects.exclude(status=Study.Status.DRAFT).order_by("pk")))
