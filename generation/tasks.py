"""Background tasks. A task may run twice and a message may be lost: the database shows what is left to do."""

from __future__ import annotations

import logging

from celery import shared_task

from generation import queueing
from generation.backends.requirements import NONE_HERE, runnable
from generation.registry import presence
from generation.registry.checking import check_model
from generation.runs import lifecycle
from generation.runs.run_worker import work_on

logger = logging.getLogger(__name__)

#: After this time a worker returns to the queue, where work for other runs may be waiting.
WORK_SECONDS = 300.0


@shared_task(name=queueing.WORK)  # type: ignore[untyped-decorator]  # Celery has no types
def work(run_id: int) -> int:
    """Make a run's chunks for a few minutes. Returns how many were stored. On the queue ``gpu``."""
    process = presence.of_this_process()
    if not runnable():
        logger.warning("Run %s waits for a worker that can run its models. %s", run_id, NONE_HERE)
        return 0
    with process.working(f"run {run_id}"):
        return work_on(
            run_id=run_id,
            worker=process.name,
            seconds=WORK_SECONDS,
            on_more=lambda: queueing.send_work(run_id),
            on_model=process.loaded,
        )


@shared_task(name=queueing.CHECK)  # type: ignore[untyped-decorator]
def check(model_id: int) -> str:
    """Check a model on a machine that runs models. On the queue ``gpu``."""
    with presence.of_this_process().working(f"checking model {model_id}"):
        return str(check_model(model_id=model_id).check_state)


@shared_task(name=queueing.WAKE)  # type: ignore[untyped-decorator]
def wake() -> int:
    """Keep runs going even if workers were killed. Returns how many workers were woken."""
    return lifecycle.wake_workers()
