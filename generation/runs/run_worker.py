"""What a model worker does: claim a run's chunks, a few at a time, make them, store them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from celery.exceptions import SoftTimeLimitExceeded

from generation.backends.base import Backend, EngineDied, Outcome, ServerAway, is_device_broken
from generation.backends.requirements import runnable
from generation.models import GenerationRun
from generation.registry import open_models, presence
from generation.registry.checking import describe_error, end_process_if_broken, note_server_away, note_server_back
from generation.registry.open_models import BackendOf
from generation.runs import chunks
from generation.runs.lifecycle import end_run_if_over
from generation.runs.reranking import generate_reranked
from generation.runs.suitability import Unsuitable, check_first_use
from generation.runs.turns import AWAY, FAILED, LOST, STORED, LeaseKeeper, LeaseLost, Turn

logger = logging.getLogger(__name__)

#: How long a turn should take, if the chunks are small enough.
TURN_SECONDS = 15.0
MOST_AT_ONCE = 64
OVERTIME = (
    "Making it took longer than the limit for a task (HITSERVER_TASK_SECONDS). "
    "Use a smaller chunk_size, or allow tasks more time."
)


def work_on(
    *,
    run_id: int,
    worker: str,
    backend_of: BackendOf | None = None,
    seconds: float | None = None,
    on_more: Callable[[], object] | None = None,
    on_model: Callable[[str], object] | None = None,
    on_chunk: Callable[[], object] | None = None,
) -> int:
    """Make chunks of a run until none are left or ``seconds`` have passed. Returns how many were stored.

    ``on_more`` is called once, as soon as more chunks are waiting behind the first: another worker may join.
    ``on_model`` is called before each turn with the name of its model, ``on_chunk`` after each turn.
    """
    begin, stored, turn = time.monotonic(), 0, TurnSize()
    while True:
        claimed_chunks = chunks.claim(run_id=run_id, worker=worker, backends=runnable(), most=turn.size(run_id))
        if not claimed_chunks:
            break
        if on_more is not None and chunks.claimable(chunks.database_now()).filter(run_id=run_id).exists():
            on_more()
            on_more = None
        if on_model is not None:
            on_model(claimed_chunks[0].chunk.model.name)
        with turn.measured(claimed_chunks) as ends:
            ends += make_chunks(claimed_chunks, worker=worker, backend_of=backend_of or open_models.backend_of)
        stored += ends.count(STORED)
        if on_chunk is not None:
            on_chunk()
        if seconds is not None and time.monotonic() - begin >= seconds:
            break
    end_run_if_over(run_id=run_id)
    return stored


class TurnSize:
    """How many chunks to claim at once: enough for some seconds, so that a fast device gets large batches and the
    queue, the database and the gaps between batches cost almost nothing.

    It at most doubles from turn to turn, and starts again at one after a failure, so that each chunk is tried alone.
    """

    def __init__(self) -> None:
        self.wanted = 1

    def size(self, run_id: int) -> int:
        """The chunks to claim now; fewer near the end of a shared run, so that every worker has something to do."""
        workers = presence.alive().exclude(state=presence.WITHOUT).count()
        if self.wanted == 1 or workers < 2:
            return self.wanted
        waiting = chunks.claimable(chunks.database_now()).filter(run_id=run_id).count()
        return max(1, min(self.wanted, waiting // (2 * workers)))

    @contextmanager
    def measured(self, claimed_chunks: Sequence[chunks.ClaimedChunk]) -> Iterator[list[str]]:
        """Measure how long a turn takes. The block adds to the list how each chunk ended."""
        ends: list[str] = []
        begin = time.monotonic()
        yield ends
        seconds_per_chunk = max(time.monotonic() - begin, 0.001) / len(claimed_chunks)
        fitting = min(int(TURN_SECONDS / seconds_per_chunk), 2 * len(claimed_chunks), MOST_AT_ONCE)
        self.wanted = max(1, fitting) if set(ends) == {STORED} else 1


def make_chunks(claimed_chunks: Sequence[chunks.ClaimedChunk], *, worker: str, backend_of: BackendOf) -> list[str]:
    """Make and store chunks of one model. Returns for each whether it was stored, failed, went to another worker, or
    waits for its server."""
    turn: Turn | None = None
    backend: Backend | None = None
    run, chunk = claimed_chunks[0].run, claimed_chunks[0].chunk
    try:
        with LeaseKeeper(claimed_chunks) as keeper:
            backend = backend_of(chunk.model)
            check_first_use(run, chunk.model, backend)
            turn = Turn(claimed_chunks, worker=worker, backend=backend)

            def on_done(key: Any, outcome: Outcome) -> None:
                keeper.check()
                turn.add(key, outcome)

            generate_reranked(backend, turn.requests, run.spec.get("rerank"), on_done)
    except LeaseLost:
        logger.warning("Chunk %s went to another worker, or its run was cancelled.", chunk)
        return _ends(claimed_chunks, turn, LOST)
    except SoftTimeLimitExceeded:
        _store_finished(turn)
        _fail_all(claimed_chunks, OVERTIME)
        raise
    except ServerAway as error:
        logger.warning("Chunk %s waits for its server: %s", chunk, error)
        answered = turn is not None and turn.answered
        _store_finished(turn)
        note_server_away(model_id=chunk.model_id, error=error, answered=answered, now=chunks.database_now())
        _release_all(claimed_chunks)
        return _ends(claimed_chunks, turn, AWAY)
    except Exception as error:  # any error from a library becomes a message
        logger.exception("Chunk %s failed.", chunk)
        _store_finished(turn)
        _fail_all(claimed_chunks, describe_error(error), final=isinstance(error, Unsuitable))
        if isinstance(error, EngineDied) and backend is not None:
            open_models.forget(backend)
        end_process_if_broken(error if is_device_broken(error) else None)
        return _ends(claimed_chunks, turn, FAILED)
    except BaseException:  # Ctrl-C, or a request to end
        _store_finished(turn)
        _release_all(claimed_chunks)
        raise
    if chunk.model.away_since is not None:
        note_server_back(model_id=chunk.model_id)
    return _ends(claimed_chunks, turn, FAILED)


def _store_finished(turn: Turn | None) -> None:
    if turn is not None:
        turn.store_finished()


def _release_all(claimed_chunks: Sequence[chunks.ClaimedChunk]) -> None:
    for claimed in claimed_chunks:
        chunks.release(claimed)


def _ends(claimed_chunks: Sequence[chunks.ClaimedChunk], turn: Turn | None, otherwise: str) -> list[str]:
    return [end or otherwise for end in (turn.ends if turn else [None] * len(claimed_chunks))]


def _fail_all(claimed_chunks: Sequence[chunks.ClaimedChunk], message: str, *, final: bool = False) -> None:
    """Fail them all. Those already stored stay stored, because their leases have ended."""
    for claimed in claimed_chunks:
        chunks.fail(claimed, message, final=final)


def is_active(run_id: int) -> bool:
    """Whether the run still has, or will have, something to do."""
    return GenerationRun.objects.filter(pk=run_id, state__in=chunks.ACTIVE).exists()
