"""Work on a platform that takes too long for one request: asked for by a person, done by one process at a time.

One row per study and kind of work is the request, the progress and the lock. A process that dies leaves its lock
behind; after ``LEASE``, another process continues where it stopped. Even if two worked at once, nothing would be done
twice: each call has its own record (``platform_calls``).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from celery import current_app
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotation.models import PlatformJob, Study
from annotation.platforms.calls import PlatformTrouble
from common.problems import invalid
from common.task_queue import handed_over

State = PlatformJob.State
TASK = "annotation.tasks.run_job"
#: How long the process that does the work can be silent. One call may take minutes, because it is repeated.
LEASE = timedelta(minutes=5)
#: After this time, a request that no process has begun is sent to the queue again.
FORGOTTEN = timedelta(minutes=1)
#: Interrupted work that began longer ago than this begins again.
CONTINUES = timedelta(hours=1)
#: How often the row is written while calls succeed, in seconds.
NOTE_EVERY = 1.0


class LockLost(Exception):
    """Another process does this work now."""


class TimeUp(Exception):
    """The task has run as long as a task may. The rest is for the next one."""


def request_job(
    *, study: Study, kind: str, platform: str, actor: str, params: Mapping[str, Any] | None = None
) -> PlatformJob:
    """Request work on the platform, and wake a worker process. Raises Invalid if the same work is in progress."""
    now = timezone.now()
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        job = PlatformJob.objects.filter(study=study, kind=kind).first()
        if job is not None and is_working(job):
            what = f"“{job.get_kind_display()}” is already in progress."
            raise invalid("job", what, "Wait until it has ended; this page shows its progress.")
        values = {
            "platform": platform,
            "actor": actor[:150],
            "params": dict(params or {}),
            "state": State.WAITING,
            "holder": "",
            "n_done": 0,
            "n_total": 0,
            "said": "",
            "fix": "",
            "asked_at": now,
            "seen_at": None,
            "ended_at": None,
        }
        job, _ = PlatformJob.objects.update_or_create(study=study, kind=kind, defaults=values)
        job_id = job.pk
        transaction.on_commit(lambda: send(job_id))
    return job


def begin_here(*, study: Study, kind: str, platform: str, actor: str) -> Lock:
    """The lock of work that this process does itself, without the queue, for as long as it takes.

    If the last process that did it was interrupted less than ``CONTINUES`` after it began, ``asked_at`` stays its
    beginning, so that this one can continue there. If it is still alive, it loses its lock.
    """
    now, holder = timezone.now(), secrets.token_hex(10)
    values = {"platform": platform, "actor": actor[:150], "state": State.RUNNING, "holder": holder, "seen_at": now}
    from_the_start = {"params": {}, "n_done": 0, "n_total": 0, "said": "", "fix": "", "asked_at": now, "ended_at": None}
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        interrupted = PlatformJob.objects.filter(
            study=study, kind=kind, platform=platform, asked_at__gt=now - CONTINUES
        ).exclude(state=State.DONE)
        if not interrupted.update(**values, said="", fix="", ended_at=None):
            PlatformJob.objects.update_or_create(study=study, kind=kind, defaults=values | from_the_start)
    job = PlatformJob.objects.select_related("study").get(study=study, kind=kind)
    return Lock(job, holder, may_run_out=False)


def note_hindrance(*, study: Study, kind: str, platform: str, actor: str, trouble: PlatformTrouble) -> None:
    """Record why this work is not even asked for, so that the study's page shows it. Work in progress is left alone."""
    now = timezone.now()
    failed = {"state": State.FAILED, "said": trouble.what[:2000], "fix": trouble.fix[:2000], "seen_at": now}
    values = {"platform": platform, "actor": actor[:150], "asked_at": now, "ended_at": now, **failed}
    idle = PlatformJob.objects.filter(study=study, kind=kind).exclude(state__in=[State.WAITING, State.RUNNING])
    if not idle.update(**values):
        PlatformJob.objects.get_or_create(study=study, kind=kind, defaults=values)


def is_working(job: PlatformJob) -> bool:
    """Whether a process does this work now, as far as this server knows."""
    return job.state == State.RUNNING and job.seen_at is not None and job.seen_at > timezone.now() - LEASE


def send(job_id: int) -> bool:
    """Wake a worker process. False if the queue does not respond; ``send_forgotten`` then does it later."""
    return handed_over(current_app.signature(TASK, args=(job_id,)).delay)


def send_forgotten() -> int:
    """Send jobs again that no process has begun, or that a process has left behind. Returns how many."""
    now = timezone.now()
    forgotten = PlatformJob.objects.filter(
        Q(state=State.WAITING, asked_at__lt=now - FORGOTTEN) | Q(state=State.RUNNING, seen_at__lt=now - LEASE)
    )
    return sum(send(pk) for pk in forgotten.order_by("asked_at").values_list("pk", flat=True))


@dataclass(slots=True)
class Lock:
    """The right to do a job's work, until another process takes it after a long silence."""

    job: PlatformJob
    holder: str
    began: float = field(default_factory=time.monotonic)
    noted: float = 0.0
    may_run_out: bool = True

    @property
    def continues(self) -> bool:
        """Whether the job began earlier and was interrupted."""
        return self.job.seen_at is not None and self.job.asked_at < self.job.seen_at

    def step(self, done: int, total: int = 0) -> None:
        """Note the progress. Raises LockLost, or TimeUp if the next task should do the rest."""
        now = time.monotonic()
        if now - self.noted < NOTE_EVERY and done != total:
            return
        self.noted = now
        values: dict[str, Any] = {"seen_at": timezone.now(), "n_done": done}
        if not self._mine().update(**values | ({"n_total": total} if total else {})):
            raise LockLost
        if self.may_run_out and now - self.began > settings.CELERY_TASK_SOFT_TIME_LIMIT * 0.7:
            raise TimeUp

    def end(self, state: str, summary: str = "", fix: str = "") -> bool:
        """Note how the work ended. False if another process does it now."""
        now = timezone.now()
        values = {"state": state, "holder": "", "said": summary[:2000], "fix": fix[:2000], "seen_at": now}
        ended_at = None if state == State.WAITING else now
        return bool(self._mine().update(**values, ended_at=ended_at))

    def _mine(self) -> Any:
        return PlatformJob.objects.filter(pk=self.job.pk, state=State.RUNNING, holder=self.holder)


def take_lock(job_id: int) -> Lock | None:
    """The lock of a job that waits or was left behind. None if it has ended or another process does it."""
    now, holder = timezone.now(), secrets.token_hex(10)
    can_be_locked = Q(state=State.WAITING) | Q(state=State.RUNNING, seen_at__lt=now - LEASE)
    n_locked = PlatformJob.objects.filter(can_be_locked, pk=job_id).update(
        state=State.RUNNING, holder=holder, seen_at=now
    )
    if not n_locked:
        return None
    return Lock(PlatformJob.objects.select_related("study").get(pk=job_id), holder)
