"""What runs in the background. A task may run twice and a message be lost: the database knows what is left to do."""

from __future__ import annotations

import logging

from celery import shared_task
from kombu.exceptions import OperationalError

from generation.requirements import NONE_HERE, runnable
from generation.services import models, presence, runs
from generation.services.work import work_on

logger = logging.getLogger(__name__)

#: After so long a worker goes back to the queue, where work of other runs may be waiting.
WORK_SECONDS = 300.0


@shared_task(name="generation.tasks.work")  # type: ignore[untyped-decorator]  # Celery has no types
def work(run_id: int) -> int:
    """Make a run's chunks for some minutes; how many were stored. On the queue ``gpu``."""
    here = presence.present()
    if not runnable():
        logger.warning("Run %s waits for a worker that can run its models. %s", run_id, NONE_HERE)
        return 0
    with here.working(f"run {run_id}"):
        return work_on(
            run_id=run_id,
            worker=here.name,
            seconds=WORK_SECONDS,
            on_more=lambda: send_work(run_id),
            on_model=here.loaded,
        )


@shared_task(name="generation.tasks.check")  # type: ignore[untyped-decorator]
def check(model_id: int) -> str:
    """Check a model where models run. On the queue ``gpu``."""
    with presence.present().working(f"checking model {model_id}"):
        return str(models.check_model(model_id=model_id).check_state)


@shared_task(name="generation.tasks.wake")  # type: ignore[untyped-decorator]
def wake() -> int:
    """See that runs go on whatever was killed; how many workers were woken."""
    return runs.wake()


def send_work(run_id: int) -> bool:
    """Wake one worker for a run; False when the queue does not answer, which ``wake`` makes good later."""
    try:
        work.delay(run_id)
    except (OperationalError, OSError) as error:
        logger.warning("The task queue did not take run %s; the scheduler tries again: %s", run_id, error)
        return False
    return True


def send_check(model_id: int) -> bool:
    """Have a worker check a model; False when the queue does not answer."""
    try:
        check.delay(model_id)
    except (OperationalError, OSError) as error:
        logger.warning("The task queue did not take the check of model %s: %s", model_id, error)
        return False
    return True
