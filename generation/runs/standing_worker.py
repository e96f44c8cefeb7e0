"""A model worker without a task queue: it looks for chunks itself, for as long as it runs or until none is left.

For batch systems such as Slurm and Kubernetes. A request to end (SIGTERM, SIGINT, SIGUSR1) gives back what is in hand:
finished texts are stored, and the other chunks are free for other workers at once.
"""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.db.models import QuerySet

from generation.backends.requirements import runnable
from generation.models import Chunk, GenerationRun
from generation.registry import open_models, presence
from generation.runs import chunks
from generation.runs.lifecycle import end_run_if_over
from generation.runs.run_worker import work_on

logger = logging.getLogger(__name__)

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
#: After this time a worker looks whether an older run has work.
WORK_SECONDS = 300.0
#: How often an idle worker looks for work, and one that has lost the database for that.
IDLE_SECONDS, LOST_SECONDS = 2.0, 5.0


class StopRequested(BaseException):
    """Somebody wants this process to end. Not an Exception, so that nobody handles it as an error of a chunk."""


@contextmanager
def stopping_on_signals() -> Iterator[None]:
    """The first signal raises StopRequested in the main thread. Further ones find the chunks being given back."""
    requested = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal requested
        if not requested:
            requested = True
            raise StopRequested(signal.Signals(number).name)

    before = {number: signal.signal(number, stop) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stand_and_work(*, names: Sequence[str] = (), until_empty: bool, on_idle: Callable[[], object] | None = None) -> int:
    """Make chunks of the runs with these names, or of all runs. Returns how many were stored.

    ``until_empty``: return when no run has anything left that this machine can make. What other workers have in hand
    counts as left, because they may lose it. ``on_idle`` is called once each time there is nothing to do.
    """
    process, stored, idle = presence.of_this_process(), 0, False
    try:
        while True:
            try:
                run_id = _next_run(names)
                if run_id is not None:
                    idle = False
                    with process.working(f"run {run_id}"):
                        n_stored = work_on(
                            run_id=run_id, worker=process.name, seconds=WORK_SECONDS, on_model=process.loaded
                        )
                    stored += n_stored
                    if n_stored:
                        continue
                for active_id in _unfinished(names).values_list("pk", flat=True):
                    end_run_if_over(run_id=active_id)
                if until_empty and not _unfinished(names).exists():
                    return stored
            except (OperationalError, InterfaceError) as error:
                logger.warning("The database does not respond; trying again: %s", str(error).strip())
                connection.close()
                time.sleep(LOST_SECONDS)
                continue
            if on_idle is not None and not idle:
                on_idle()
            idle = True
            time.sleep(IDLE_SECONDS)
    finally:
        with suppress(DatabaseError):  # then the leases run out
            chunks.release_all(process.name)
        open_models.close_all()
        presence.leave()


def _next_run(names: Sequence[str]) -> int | None:
    """The oldest run with chunks that this machine can make now."""
    free = chunks.claimable(chunks.database_now()).filter(model__backend__in=runnable())
    if names:
        free = free.filter(run__name__in=names)
    return free.order_by("run__created_at", "run_id").values_list("run_id", flat=True).first()


def _unfinished(names: Sequence[str]) -> QuerySet[GenerationRun]:
    """Active runs with chunks that this machine can make, now or once others lose them."""
    waiting = Chunk.objects.filter(state=Chunk.State.WAITING, model__backend__in=runnable())
    runs = GenerationRun.objects.filter(state__in=chunks.ACTIVE, pk__in=waiting.values("run"))
    return runs.filter(name__in=names) if names else runs
