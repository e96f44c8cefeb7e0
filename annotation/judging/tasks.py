"""Judges in the background. Each task may run twice: the lease decides."""

from __future__ import annotations

from celery import shared_task

from annotation.judging import queueing, working
from generation.backends.requirements import runnable
from generation.registry import presence

#: After this time, a process returns to the queue, where other work may wait.
WORK_SECONDS = 300.0


@shared_task(name=queueing.JUDGE)  # type: ignore[untyped-decorator]  # Celery has no types
def judge(judge_id: int) -> int:
    """Work for a judge for a few minutes. Returns how many places were settled. On the queue ``gpu``."""
    process = presence.of_this_process()
    if not runnable():
        return 0
    with process.working(f"judge {judge_id}"):
        return working.work_on(judge_id=judge_id, worker=process.name, seconds=WORK_SECONDS)


@shared_task(name="annotation.tasks.wake_judges")  # type: ignore[untyped-decorator]
def wake_judges() -> int:
    """Wake workers for judges that wait for one. Returns how many messages were sent."""
    return working.wake_judges()
