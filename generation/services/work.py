"""What a model worker does: take a run's chunks one after the other, make them, store them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from types import TracebackType
from typing import Any

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import DatabaseError, OperationalError, connection

from generation.backends.base import Backend, Generated, Outcome, Refused, Request
from generation.decoders import Limits, parse_decoder
from generation.models import GenerationRun, LanguageModel
from generation.requirements import runnable
from generation.services import chunks, presence
from generation.services.models import BackendOf, in_words
from generation.services.runs import settle

logger = logging.getLogger(__name__)

STORED, FAILED, LOST = "stored", "failed", "lost"
STORE_TRIES = 3
#: A turn is as long as this where the chunks allow: what is lost when a worker is killed.
TURN_SECONDS = 15.0
MOST_AT_ONCE = 64
SHOWN_REFUSALS = 20
OVERTIME = (
    "Making it took longer than a task may (HITSERVER_TASK_SECONDS). "
    "Use a smaller chunk_size, or allow tasks more time."
)


class LeaseLost(Exception):
    """The chunk is another worker's by now, or the run was cancelled: what is being made is for nothing."""


def default_backend_of(model: LanguageModel) -> Backend:
    """The backend as this process holds it open. Replaced in tests."""
    from generation.services.holding import backend_of

    return backend_of(model)


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
    """Make chunks of a run until there are none to take or ``seconds`` have passed; how many were stored.

    ``on_more`` is called once, as soon as there is a chunk at hand and more behind it: another worker may join, and
    whoever comes next goes on. ``on_model`` is told the name of each chunk's model; ``on_chunk`` is called after each
    turn.
    """
    begin, stored, hand = time.monotonic(), 0, Hand()
    while True:
        taken = chunks.claim(run_id=run_id, worker=worker, backends=runnable(), most=hand.size(run_id))
        if not taken:
            break
        if on_more is not None and chunks.claimable(chunks.database_now()).filter(run_id=run_id).exists():
            on_more()
            on_more = None
        if on_model is not None:
            on_model(taken[0].chunk.model.name)
        with hand.measured(taken) as ends:
            ends += make(taken, worker=worker, backend_of=backend_of or default_backend_of)
        stored += ends.count(STORED)
        if on_chunk is not None:
            on_chunk()
        if seconds is not None and time.monotonic() - begin >= seconds:
            break
    settle(run_id=run_id)
    return stored


class Hand:
    """How many chunks are taken at once: as many as take some seconds, so that a fast device gets large batches and
    the queue, the database and the gaps between batches cost next to nothing.

    It grows twofold at most from turn to turn, and starts anew after a failure: then every chunk is tried for itself.
    """

    def __init__(self) -> None:
        self.wanted = 1

    def size(self, run_id: int) -> int:
        """The chunks to take now; fewer near the end of a run that is shared, so that nobody is left without."""
        workers = presence.alive().exclude(state=presence.WITHOUT).count()
        if self.wanted == 1 or workers < 2:
            return self.wanted
        waiting = chunks.claimable(chunks.database_now()).filter(run_id=run_id).count()
        return max(1, min(self.wanted, waiting // (2 * workers)))

    @contextmanager
    def measured(self, taken: Sequence[chunks.Taken]) -> Iterator[list[str]]:
        """Notes how long a turn takes; the block puts how each chunk ended into the list."""
        ends: list[str] = []
        begin = time.monotonic()
        yield ends
        each = max(time.monotonic() - begin, 0.001) / len(taken)
        fitting = min(int(TURN_SECONDS / each), 2 * len(taken), MOST_AT_ONCE)
        self.wanted = max(1, fitting) if set(ends) == {STORED} else 1


def make(taken: Sequence[chunks.Taken], *, worker: str, backend_of: BackendOf) -> list[str]:
    """Make and store chunks of one model; of each whether it was stored, failed (and says why) or lost to another."""
    begin = time.perf_counter()
    try:
        with Heart(taken) as heart:
            backend = backend_of(taken[0].chunk.model)
            asked = [request_of(place, each.run.spec) for each in taken for place in each.places]
            outcomes = iter(backend.generate(asked, heart.check))
            facts = backend.facts()
            made_with = {"worker": worker, "device": facts.device, "dtype": facts.dtype}
            share = (time.perf_counter() - begin) / len(asked)
            return [_finish(each, list(islice(outcomes, len(each.places))), share, made_with) for each in taken]
    except LeaseLost:
        logger.warning("Chunk %s went to another worker, or its run was cancelled.", taken[0].chunk)
        return [LOST] * len(taken)
    except SoftTimeLimitExceeded:
        _fail_all(taken, OVERTIME)
        raise
    except Exception as error:  # whatever a library raises ends up as a message
        logger.exception("Chunk %s failed.", taken[0].chunk)
        _fail_all(taken, in_words(error))
        return [FAILED] * len(taken)
    except BaseException:  # Ctrl-C, or told to end
        for each in taken:
            chunks.release(each)
        raise


def _fail_all(taken: Sequence[chunks.Taken], message: str) -> None:
    for each in taken:
        chunks.fail(each, message)


def _finish(taken: chunks.Taken, outcomes: Sequence[Outcome], share: float, made_with: dict[str, Any]) -> str:
    """Store one chunk, or fail it for good where the model refused a prompt: it would refuse it again."""
    reasons = {
        place.context.external_id: made.reason
        for place, made in zip(taken.places, outcomes, strict=True)
        if isinstance(made, Refused)
    }
    if reasons:
        chunks.fail(taken, _refusals(reasons), final=True)
        return FAILED
    texts = [made for made in outcomes if isinstance(made, Generated)]
    return STORED if _stored(taken, texts, share * len(texts), made_with) else LOST


def request_of(place: chunks.Place, spec: Mapping[str, Any]) -> Request:
    """One sample's request by its run's spec."""
    return Request(
        key=(place.context.number, place.decoder, place.number),
        prompt=place.context.prompt,
        decoder=parse_decoder(place.decoder),
        limits=Limits(**spec["limits"]),
        seed=place.seed,
        cut_left=spec["over_long"] == "cut",
        keep=place.context.keep,
    )


class Heart:
    """Extends the leases of chunks from a thread of its own while they are being made."""

    def __init__(self, taken: Sequence[chunks.Taken]) -> None:
        self.held = list(taken)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    def __enter__(self) -> Heart:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join(timeout=60)

    def check(self, key: Any, outcome: Outcome) -> None:
        """Given to the backend: ends its work early when no lease is left."""
        if not self.held:
            raise LeaseLost

    def _run(self) -> None:
        try:
            while not self._stop.wait(settings.CHUNK_LEASE_SECONDS / 4) and self.held:
                try:
                    self.held = [taken for taken in self.held if chunks.extend(taken)]
                except DatabaseError as error:  # the leases last for three more tries
                    logger.warning("The lease of chunk %s was not extended: %s", self.held[0].chunk, error)
                    connection.close()
        finally:
            connection.close()


def _stored(taken: chunks.Taken, texts: Sequence[Generated], seconds: float, made_with: dict[str, Any]) -> bool:
    """As ``chunks.store``, tried again when the database was away for a moment: the work is already done."""
    for left in reversed(range(STORE_TRIES)):
        try:
            return chunks.store(taken, texts, seconds=seconds, made_with=made_with)
        except OperationalError:
            if not left or connection.in_atomic_block:
                raise
            logger.warning("Chunk %s could not be stored; trying again.", taken.chunk, exc_info=True)
            connection.close()
            time.sleep(2.0)
    return False


def _refusals(reasons: Mapping[str, str]) -> str:
    """Which contexts a model refused and why, each once."""
    told = [f"context “{name}”: {reason}" for name, reason in list(reasons.items())[:SHOWN_REFUSALS]]
    more = f" … and {len(reasons) - SHOWN_REFUSALS} more" if len(reasons) > SHOWN_REFUSALS else ""
    return f"The model refused {len(reasons)} prompt{'s' if len(reasons) > 1 else ''}: {'; '.join(told)}{more}"


def is_active(run_id: int) -> bool:
    """Whether there is, or will be, something to do for the run."""
    return GenerationRun.objects.filter(pk=run_id, state__in=chunks.ACTIVE).exists()
