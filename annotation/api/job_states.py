"""How far a job is now: what its row says, or the console's own job that it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils import timezone

from annotation.api.job_kinds import EXPORT
from annotation.models import ApiJob, BulkAction, PlatformJob
from annotation.results import saved_reports
from annotation.results.pages.reports import brought_up_to_date
from annotation.results.tasks import make_paper, make_report, make_run_report
from annotation.review.bulk_decisions import row_name
from annotation.review.paying import MARK_PAID, marking_of, workers_of
from common.words import counted, money

State = ApiJob.State
OPEN = (State.QUEUED, State.RUNNING)
REPORT, PAPER, RUN_REPORT = "report", "paper", "run_report"
UNITS = {EXPORT: "bytes", "simulate": "submissions", "quality_check": "submissions", "message": "messages"}
_PLATFORM_STATES = {
    PlatformJob.State.WAITING: State.QUEUED,
    PlatformJob.State.RUNNING: State.RUNNING,
    PlatformJob.State.DONE: State.DONE,
    PlatformJob.State.FAILED: State.FAILED,
}


@dataclass(frozen=True, slots=True)
class JobNow:
    """A job with its progress at this moment."""

    job: ApiJob
    state: str
    done: int = 0
    total: int = 0
    unit: str = ""
    message: str = ""
    fix: str = ""
    result: Mapping[str, Any] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    ended_at: datetime | None = None


def job_now(job: ApiJob) -> JobNow:
    """The job's progress. What has ended is stored, because the console's own row may soon be about newer work."""
    if job.kind in _SHOWN_BY and job.state in OPEN:
        now = _SHOWN_BY[job.kind](job)
    elif job.bulk is not None and job.state in OPEN:
        now = _of_marking(job, job.bulk) if job.kind == MARK_PAID else _of_bulk(job, job.bulk)
    elif job.platform_job is not None and job.state in OPEN:
        now = _of_platform(job, job.platform_job)
    else:
        return _of_row(job)
    if now.state not in OPEN:
        columns = {"state": now.state, "n_done": now.done, "n_total": now.total, "message": now.message}
        columns |= {"fix": now.fix, "result": dict(now.result), "ended_at": now.ended_at or timezone.now()}
        ApiJob.objects.filter(pk=job.pk, state__in=OPEN).update(**columns)
        job.refresh_from_db(fields=list(columns))
        return _of_row(job)
    return now


def _of_row(job: ApiJob) -> JobNow:
    links = {}
    if job.state == State.DONE and job.result.get("file_name"):
        links["file"] = reverse("api_job_file", args=[job.pk])
    if job.state == State.DONE and job.kind in _SHOWN_BY:
        links |= report_links(job)
    return JobNow(
        job=job,
        state=job.state,
        done=job.n_done,
        total=job.n_total,
        unit=_unit(job),
        message=job.message,
        fix=job.fix,
        result=job.result,
        links=links,
        ended_at=job.ended_at,
    )


def _unit(job: ApiJob) -> str:
    if job.bulk_id is not None:
        return "hits" if job.kind == MARK_PAID else "rows"
    return "postings" if job.platform_job_id is not None else UNITS.get(job.kind, "reports")


def _of_platform(job: ApiJob, platform_job: PlatformJob) -> JobNow:
    return JobNow(
        job=job,
        state=_PLATFORM_STATES[PlatformJob.State(platform_job.state)],
        done=platform_job.n_done,
        total=platform_job.n_total,
        unit=_unit(job),
        message=platform_job.said,
        fix=platform_job.fix,
        ended_at=platform_job.ended_at,
    )


def _of_bulk(job: ApiJob, bulk: BulkAction) -> JobNow:
    refusals = bulk.refusals
    n_rows, is_done = len(bulk.rows), bulk.state == BulkAction.State.DONE
    done = bulk.position - len(refusals)
    message = f"Done: {done:,} of {counted(n_rows, 'row')}." if is_done else bulk.stopped
    return JobNow(
        job=job,
        state=State.DONE if is_done else State.RUNNING if bulk.position else State.QUEUED,
        done=bulk.position,
        total=n_rows,
        unit=_unit(job),
        message=message,
        fix="" if is_done or not bulk.stopped else "It tries again every minute. Nothing is done twice.",
        result={"done": done, "refused": len(refusals), "rows": _bulk_rows(bulk)} if is_done else {},
        ended_at=bulk.done_at,
    )


def _of_marking(job: ApiJob, bulk: BulkAction) -> JobNow:
    marking, is_done = marking_of(bulk), bulk.state == BulkAction.State.DONE
    result: dict[str, Any] = {}
    if is_done:
        result = {"hits": marking.hits_paid, "workers": workers_of(bulk), "total": f"{marking.usd_paid:.3f}"}
        result |= {"hits_paid_before": marking.hits_before, "paid_before": f"{marking.usd_before:.3f}"}
    message = f"{counted(marking.hits_paid, 'hit')} marked as paid: {money(marking.usd_paid)}."
    return JobNow(
        job=job,
        state=State.DONE if is_done else State.RUNNING if bulk.position else State.QUEUED,
        done=marking.hits_seen,
        total=marking.hits,
        unit=_unit(job),
        message=message if is_done else "",
        result=result,
        ended_at=bulk.done_at,
    )


def _bulk_rows(bulk: BulkAction) -> list[dict[str, Any]]:
    """What became of each row: its submission or worker, and why it was refused (empty: it was done)."""
    refused = {name: reason for name, _, reason in (text.partition(": ") for text in bulk.refusals)}
    rows = []
    for row in bulk.rows:
        name = row_name(row)
        subject = {"worker": name} if "participant" in row else {"submission": row.get("submission")}
        rows.append({**subject, "refused": refused.get(name, "")})
    return rows


# --- reports ---


def _of_report(job: ApiJob) -> JobNow:
    """Asking about a report also brings it up to date, as opening its page does."""
    subject, enqueue = subject_of(job)
    saved = brought_up_to_date(subject, enqueue)
    if saved.fresh:
        return JobNow(job=job, state=State.DONE, done=1, total=1, unit=_unit(job), message="The report is ready.")
    if saved.failed and not saved.building:
        what, fix = "The report could not be made. The server's log has the details.", "Try again in a minute."
        return JobNow(job=job, state=State.FAILED, total=1, unit=_unit(job), message=what, fix=fix)
    return JobNow(job=job, state=State.RUNNING if saved.building else State.QUEUED, total=1, unit=_unit(job))


def subject_of(job: ApiJob) -> tuple[saved_reports.Subject, Callable[[], object]]:
    """What the job's report is about, and what queues it."""
    if job.run is not None:
        run = job.run
        return saved_reports.of_run(run), lambda: make_run_report.delay(run.pk)
    study = job.study
    assert study is not None  # noqa: S101 - the job is deleted with its study
    if job.kind == PAPER:
        return saved_reports.of_paper(study), lambda: make_paper.delay(study.pk)
    return saved_reports.of_study(study), lambda: make_report.delay(study.pk)


def report_links(job: ApiJob) -> dict[str, str]:
    """Where a report is."""
    if job.run is not None:
        return {"report": reverse("api_run_report", args=[job.run.name])}
    slug = job.study.slug if job.study else ""
    if job.kind == PAPER:
        return {"file": reverse("api_paper", args=[slug])}
    return {"report": reverse("api_report", args=[slug]), "page": reverse("api_report_page", args=[slug])}


_SHOWN_BY: dict[str, Callable[[ApiJob], JobNow]] = dict.fromkeys((REPORT, PAPER, RUN_REPORT), _of_report)
