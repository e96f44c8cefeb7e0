"""Messages that wake workers. They may be lost or arrive twice: the database shows what is left to do.

Tasks are sent by name, so the sender does not import the code that they run.
"""

from __future__ import annotations

from celery import current_app

from common.task_queue import handed_over

WORK, CHECK, WAKE = "generation.tasks.work", "generation.tasks.check", "generation.tasks.wake"


def send_work(run_id: int) -> bool:
    """Wake one worker for a run. False if the queue does not respond; the scheduler wakes one later."""
    return _send(WORK, run_id)


def send_check(model_id: int) -> bool:
    """Ask a worker to check a model. False if the queue does not respond."""
    return _send(CHECK, model_id)


def _send(task: str, number: int) -> bool:
    return handed_over(current_app.signature(task, args=(number,)).delay)
