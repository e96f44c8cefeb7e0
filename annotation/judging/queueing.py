"""Messages that wake the workers of models for judges. They may be lost: the scheduler sends them again."""

from __future__ import annotations

from functools import partial

from celery import current_app
from django.db import transaction

from common.task_queue import handed_over

JUDGE = "annotation.tasks.judge"


def send(judge_id: int) -> bool:
    """Wake one worker for a judge. False if the queue does not respond."""
    return handed_over(current_app.signature(JUDGE, args=(judge_id,)).delay)


def wake_on_commit(judge_id: int) -> None:
    transaction.on_commit(partial(send, judge_id))
