"""The API's background tasks. Each may run twice, also at once."""

from __future__ import annotations

from celery import shared_task

from annotation.api import job_kinds, jobs

__all__ = ["job_kinds"]  # whose import registers what the jobs do


@shared_task(name="annotation.tasks.run_api_job")  # type: ignore[untyped-decorator]  # Celery has no types
def run_api_job(job_id: int) -> bool:
    """Do a job, or continue it. True if this process worked on it."""
    return jobs.do_job(job_id)


@shared_task(name="annotation.tasks.continue_api_jobs")  # type: ignore[untyped-decorator]
def continue_api_jobs() -> int:
    """Wake workers for jobs that were lost or left behind. Returns how many."""
    return jobs.send_forgotten()
