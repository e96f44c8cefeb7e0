"""Jobs of the API: work that takes longer than a request, with its progress and its result.

What the console does in the background is not done in a second way: a job about a platform, about many submissions or
about a report shows what became of the console's own. The rest is done here, by one process at a time. Each kind may
run twice and continues or begins again: nothing happens twice.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from celery import current_app
from celery.exceptions import SoftTimeLimitExceeded
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotation.models import ApiJob, BulkAction, PlatformJob, Study
from annotation.platforms.calls import PlatformTrouble
from common.problems import Refused, invalid
from common.task_queue import handed_over
from generation.models import GenerationRun

logger = logging.getLogger(__name__)
State = ApiJob.State
TASK = "annotation.tasks.run_api_job"
#: How long a process can be silent before another one continues its job.
LEASE = timedelta(minutes=5)
#: After this time, a job that no process has begun is sent to the queue again.
FORGOTTEN = timedelta(minutes=1)
#: How often the row is written, in seconds.
NOTE_EVERY = 0.5
OPEN = (State.QUEUED, State.RUNNING)
UNEXPECTED = "Something unexpected went wrong. The server's log has the details."


class Stopped(Exception):
    """Somebody cancelled the job, or another process does it now."""


@dataclass(slots=True)
class Running:
    """A job in the hands of this process."""

    job: ApiJob
    holder: str
    noted: float = 0.0

    def step(self, done: int, total: int = 0) -> None:
        """Note the progress. Raises Stopped."""
        now = time.monotonic()
        if now - self.noted < NOTE_EVERY and done != total:
            return
        self.noted = now
        values: dict[str, Any] = {"seen_at": timezone.now(), "n_done": done} | ({"n_total": total} if total else {})
        if not self._mine().update(**values):
            raise Stopped

    def end(self, state: str, *, message: str = "", fix: str = "", result: Mapping[str, Any] | None = None) -> None:
        self._mine().update(
            state=state, message=message[:2000], fix=fix[:2000], result=dict(result or {}), ended_at=timezone.now()
        )

    def _mine(self) -> QuerySet[ApiJob]:
        return ApiJob.objects.filter(pk=self.job.pk, state=State.RUNNING, holder=self.holder)


#: What is done for each kind of job. It returns the result: ``message``, and whatever else a program can use.
Work = Callable[[Running], Mapping[str, Any]]
WORK: dict[str, Work] = {}


def does(kind: str) -> Callable[[Work], Work]:
    """Registers a function as the work of this kind of jobs."""

    def register(work: Work) -> Work:
        WORK[kind] = work
        return work

    return register


# --- asking ---


def start_job(
    *,
    user: User,
    kind: str,
    study: Study | None = None,
    run: GenerationRun | None = None,
    params: Mapping[str, Any] | None = None,
) -> ApiJob:
    """Store a job and wake a worker process once that is committed. For kinds in `WORK`."""
    job = ApiJob.objects.create(
        user=user, study=study, run=run, kind=kind, params=dict(params or {}), asked_at=timezone.now()
    )
    transaction.on_commit(partial(send, job.pk))
    return job


def follow(
    *, user: User, study: Study, kind: str, platform_job: PlatformJob | None = None, bulk: BulkAction | None = None
) -> ApiJob:
    """A job that shows what becomes of the console's own, which has been asked for in the same transaction."""
    asked_at = platform_job.asked_at if platform_job is not None else timezone.now()
    return ApiJob.objects.create(
        user=user, study=study, kind=kind, platform_job=platform_job, bulk=bulk, asked_at=asked_at
    )


def send(job_id: int) -> bool:
    """Wake a worker process. False if the queue does not respond; ``send_forgotten`` then does it later."""
    return handed_over(current_app.signature(TASK, args=(job_id,)).delay)


def send_forgotten() -> int:
    """Send jobs again that no process has begun, or that a process has left behind. Returns how many."""
    now = timezone.now()
    forgotten = ApiJob.objects.filter(
        Q(state=State.QUEUED, asked_at__lt=now - FORGOTTEN) | Q(state=State.RUNNING, seen_at__lt=now - LEASE),
        kind__in=WORK,
    )
    return sum(send(pk) for pk in forgotten.order_by("asked_at").values_list("pk", flat=True))


@transaction.atomic
def cancel_job(*, job: ApiJob) -> ApiJob:
    """Stop a job that this server does itself. What it has already changed stays. Raises Invalid."""
    now = ApiJob.objects.select_for_update(no_key=True, of=("self",)).get(pk=job.pk)
    if now.state not in OPEN:
        ended = now.get_state_display().lower()
        raise invalid("status", f"The job has ended ({ended}).", "There is nothing to cancel.")
    if now.kind not in WORK:
        what = "A job that other processes do for the whole study cannot be cancelled."
        raise invalid("status", what, "Wait until it has ended. To take work back from a platform, end the offer.")
    now.state, now.message, now.ended_at = State.CANCELLED, "Cancelled.", timezone.now()
    now.save(update_fields=["state", "message", "ended_at"])
    return now


# --- doing ---


def do_job(job_id: int) -> bool:
    """Do a job, or continue it. False if another process does it or nothing is left to do."""
    now, holder = timezone.now(), secrets.token_hex(10)
    free = Q(state=State.QUEUED) | Q(state=State.RUNNING, seen_at__lt=now - LEASE)
    if not ApiJob.objects.filter(free, pk=job_id).update(state=State.RUNNING, holder=holder, seen_at=now):
        return False
    running = Running(ApiJob.objects.select_related("study", "run", "user").get(pk=job_id), holder)
    try:
        result = dict(WORK[running.job.kind](running))
    except Stopped:
        return False
    except PlatformTrouble as trouble:
        running.end(State.FAILED, message=trouble.what, fix=trouble.fix)
    except Refused as refused:
        problems = refused.problems
        running.end(State.FAILED, message=" ".join(p.what for p in problems), fix=" ".join(p.fix for p in problems))
    except SoftTimeLimitExceeded:
        what = "The job took longer than a task on this server may."
        running.end(State.FAILED, message=what, fix="Raise HITSERVER_TASK_SECONDS, or ask for less at once.")
    except Exception:
        logger.exception("The job %s (%s) failed", job_id, running.job.kind)
        running.end(State.FAILED, message=UNEXPECTED, fix="Try again. If it fails again, ask your administrator.")
    else:
        running.end(State.DONE, message=str(result.pop("message", "")), result=result)
    return True
