"""The background tasks of platforms. Each may run twice, also at once."""

from __future__ import annotations

from celery import shared_task

from annotation.recruiting import job_actions, job_requests, polling


@shared_task(name="annotation.tasks.run_job")  # type: ignore[untyped-decorator]  # Celery has no types
def run_job(job_id: int) -> bool:
    """Do what somebody asked for on a platform, or continue it. True if this process worked on it."""
    return job_actions.do_job(job_id)


@shared_task(name="annotation.tasks.sync_due")  # type: ignore[untyped-decorator]  # Celery has no types
def sync_due() -> int:
    """Request the syncs that are due, and wake workers for jobs that were left behind. Returns how many in total."""
    return polling.request_due_syncs() + job_requests.send_forgotten()


@shared_task(name="annotation.tasks.look_for_objections")  # type: ignore[untyped-decorator]
def look_for_objections() -> int:
    """Ask the platforms whether workers object to rejections. Returns how many new objections there are."""
    return polling.look_for_objections()


@shared_task(name="annotation.tasks.listen")  # type: ignore[untyped-decorator]  # Celery has no types
def listen() -> int:
    """Read the platforms' notifications and poll the postings that they are about. Returns the number of postings."""
    return polling.handle_notices()


@shared_task(name="annotation.tasks.look_up")  # type: ignore[untyped-decorator]  # Celery has no types
def look_up(platform: str, kind: str, name: str, account_id: int | None = None) -> bool:
    """Ask the platform for a submission or a study that its notice named. True if it is one of this server's."""
    return polling.look_up(platform, kind, name, account_id)
