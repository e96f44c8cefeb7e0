"""Messages that wake workers. They may be lost or arrive twice: the database shows what is left to do.

Tasks are sent by name, so the sender does not import the code that they run.
"""

from __future__ import annotations

import logging

from celery import current_app
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)

WORK, CHECK, WAKE = "generation.tasks.work", "generation.tasks.check", "generation.tasks.wake"


def send_work(run_id: int) -> bool:
    """Wake one worker for a run. False if the queue does not respond; the scheduler wakes one later."""
    return _send(WORK, run_id)


def send_check(model_id: int) -> bool:
    """Ask a worker to check a model. False if the queue does not respond."""
    return _send(CHECK, model_id)


def _send(task: str, number: int) -> bool:
    try:
        current_app.signature(task, args=(number,)).delay()
    except (OperationalError, OSError) as error:
        logger.warning("The task queue did not take %s(%s): %s", task, number, error)
        return False
    return True
