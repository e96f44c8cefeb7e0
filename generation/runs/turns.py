"""One turn of a model worker: a chunk is stored as soon as its last text is done; until then, its texts are shown.

A text that is drawn but not stored yet is in the ``preview`` of a chunk that the worker holds. It is for people who
watch: it has no guarantee, and it disappears when the chunk is stored, fails, or goes to another worker.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from django.conf import settings
from django.db import DatabaseError, OperationalError, connection

from generation.backends.base import Backend, Generated, NotGenerated, Outcome
from generation.backends.origin import made_with
from generation.runs import chunks
from generation.runs.fitting import refusals
from generation.runs.places import Place, request_of

logger = logging.getLogger(__name__)

STORED, FAILED, LOST, AWAY = "stored", "failed", "lost", "away"
STORE_TRIES = 3
#: How often texts that are drawn but not stored are saved for display, and how many of them.
PREVIEW_SECONDS = 2.0
PREVIEWED = 12
PREVIEWED_CHARACTERS = 2000


class LeaseLost(Exception):
    """Another worker has the chunk by now, or the run was cancelled. There is no point in continuing."""


class LeaseKeeper:
    """Extends the leases of chunks from a separate thread while they are being made."""

    def __init__(self, taken: Sequence[chunks.ClaimedChunk]) -> None:
        self.held = list(taken)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    def __enter__(self) -> LeaseKeeper:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join(timeout=60)

    def check(self) -> None:
        """Raise LeaseLost if no lease is left, to end the work early."""
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


class Turn:
    """The chunks of one turn, of one model, and the outcomes so far. Used by the thread that generates.

    ``ends``: how each chunk ended; None while it is not complete.
    """

    def __init__(self, taken: Sequence[chunks.ClaimedChunk], *, worker: str, backend: Backend) -> None:
        self._made_with = {"worker": worker} | made_with(backend)
        self._taken = taken
        self._outcomes: list[dict[int, Outcome]] = [{} for _ in taken]
        self.ends: list[str | None] = [None] * len(taken)
        self.requests = [request_of(place, each.run.spec) for each in taken for place in each.places]
        self._where = {
            request_of(place, each.run.spec).key: (number, at)
            for number, each in enumerate(taken)
            for at, place in enumerate(each.places)
        }
        self._latest: list[tuple[int, Place, Generated]] = []
        self._begun = self._stored_at = time.perf_counter()
        self._shown_at = self._begun

    def add(self, key: Any, outcome: Outcome) -> None:
        """Add the next outcome. Stores its chunk if that is now complete."""
        number, at = self._where[key]
        taken, outcomes = self._taken[number], self._outcomes[number]
        outcomes[at] = outcome
        if isinstance(outcome, Generated):
            self._latest.append((number, taken.places[at], outcome))
            del self._latest[:-PREVIEWED]
        if len(outcomes) == len(taken.places):
            self._finish(number)
        elif time.perf_counter() - self._shown_at >= PREVIEW_SECONDS:
            self._show()

    @property
    def answered(self) -> bool:
        """Whether any text was generated."""
        return any(isinstance(outcome, Generated) for outcomes in self._outcomes for outcome in outcomes.values())

    def store_finished(self) -> None:
        """Store the texts of chunks that will not be completed in this turn, so that nobody makes them again."""
        for number, taken in enumerate(self._taken):
            if self.ends[number] is None:
                self._store_finished(number, taken)

    def _store_finished(self, number: int, taken: chunks.ClaimedChunk) -> None:
        outcomes = sorted(self._outcomes[number].items())
        finished = [(taken.places[at], made) for at, made in outcomes if isinstance(made, Generated)]
        if not finished:
            return
        now = time.perf_counter()
        seconds, self._stored_at = now - self._stored_at, now
        try:
            chunks.split(taken, finished, seconds=seconds, made_with=self._made_with)
        except DatabaseError as error:  # they are made again
            logger.warning("The finished texts of chunk %s could not be stored: %s", taken.chunk, error)
            if not connection.in_atomic_block:
                connection.close()

    def _finish(self, number: int) -> None:
        """Store one chunk, or fail it for good if the model refused a prompt, because it would refuse it again."""
        taken, found = self._taken[number], self._outcomes[number]
        outcomes = [found[at] for at in range(len(found))]
        reasons = {
            place.context.external_id: made.reason
            for place, made in zip(taken.places, outcomes, strict=True)
            if isinstance(made, NotGenerated)
        }
        if reasons:
            self._store_finished(number, taken)
            chunks.fail(taken, refusals(reasons), final=True)
            self.ends[number] = FAILED
        else:
            texts = [made for made in outcomes if isinstance(made, Generated)]
            now = time.perf_counter()
            seconds, self._stored_at = now - self._stored_at, now
            self.ends[number] = STORED if _stored(taken, texts, seconds, self._made_with) else LOST
        self._latest = [each for each in self._latest if each[0] != number]

    def _show(self) -> None:
        """Write the latest texts, and how many there are, to the first chunk that is not complete."""
        open_ones = [number for number, end in enumerate(self.ends) if end is None]
        taken = self._taken[open_ones[0]]
        made = [each for number in open_ones for each in self._outcomes[number].values() if isinstance(each, Generated)]
        preview = {
            "n": len(made),
            "tokens": sum(each.n_tokens for each in made),
            "seconds": round(time.perf_counter() - self._stored_at, 3),
            "texts": [_previewed(taken, place, text) for _, place, text in reversed(self._latest)],
        }
        try:
            chunks.show(taken, preview)
        except DatabaseError as error:  # nobody sees the texts for a moment; they are still stored later
            logger.warning("The texts of chunk %s could not be shown: %s", taken.chunk, error)
            if not connection.in_atomic_block:
                connection.close()
        self._shown_at = time.perf_counter()


def _previewed(taken: chunks.ClaimedChunk, place: Place, made: Generated) -> dict[str, str]:
    text = chunks.storable(made.text[:PREVIEWED_CHARACTERS])
    found = {"context": place.context.external_id, "model": taken.chunk.model.name, "decoder": place.decoder}
    return found | {"text": text}


def _stored(taken: chunks.ClaimedChunk, texts: Sequence[Generated], seconds: float, made_with: dict[str, Any]) -> bool:
    """Like ``chunks.store``, but tries again if the database is briefly unavailable: the work is already done."""
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
