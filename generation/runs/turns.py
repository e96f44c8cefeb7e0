"""One turn of a model worker: a chunk is stored as soon as its last text is done; until then, its texts are shown.

A text that is drawn but not stored yet is in the ``preview`` of a chunk that the worker holds. It is for people who
watch: it has no guarantee, and it disappears when the chunk is stored, fails, or goes to another worker.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import DatabaseError, OperationalError, connection

from generation.backends.base import Backend, Generated, NotGenerated, Outcome
from generation.backends.model_origin import made_with
from generation.runs import chunks
from generation.runs.planned_samples import PlannedSample, request_of
from generation.runs.suitability import refusals

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

    def __init__(self, claimed_chunks: Sequence[chunks.ClaimedChunk]) -> None:
        self.held = list(claimed_chunks)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    def __enter__(self) -> LeaseKeeper:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
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
                    self.held = [claimed for claimed in self.held if chunks.extend(claimed)]
                except DatabaseError as error:  # the leases last for three more tries
                    logger.warning("The lease of chunk %s was not extended: %s", self.held[0].chunk, error)
                    connection.close()
        finally:
            connection.close()


class Turn:
    """The chunks of one turn, of one model, and the outcomes so far. Used by the thread that generates.

    ``ends``: how each chunk ended; None while it is not complete.
    """

    def __init__(self, claimed_chunks: Sequence[chunks.ClaimedChunk], *, worker: str, backend: Backend) -> None:
        self._made_with = {"worker": worker} | made_with(backend)
        self._claimed = claimed_chunks
        self._outcomes: list[dict[int, Outcome]] = [{} for _ in claimed_chunks]
        self.ends: list[str | None] = [None] * len(claimed_chunks)
        self.requests = []
        self._position_of: dict[Any, tuple[int, int]] = {}
        for number, claimed in enumerate(claimed_chunks):
            for position, planned in enumerate(claimed.planned):
                self.requests.append(request_of(planned, claimed.run.spec))
                self._position_of[planned.key] = number, position
        self._latest: list[tuple[int, PlannedSample, Generated]] = []
        self._begun = self._stored_at = time.perf_counter()
        self._shown_at = self._begun

    def add(self, key: Any, outcome: Outcome) -> None:
        """Add the next outcome. Stores its chunk if that is now complete."""
        number, position = self._position_of[key]
        claimed, outcomes = self._claimed[number], self._outcomes[number]
        outcomes[position] = outcome
        if isinstance(outcome, Generated):
            self._latest.append((number, claimed.planned[position], outcome))
            del self._latest[:-PREVIEWED]
        if len(outcomes) == len(claimed.planned):
            self._finish(number)
        elif time.perf_counter() - self._shown_at >= PREVIEW_SECONDS:
            self._show()

    @property
    def answered(self) -> bool:
        """Whether any text was generated."""
        return any(isinstance(outcome, Generated) for outcomes in self._outcomes for outcome in outcomes.values())

    def store_finished(self) -> None:
        """Store the texts of chunks that will not be completed in this turn, so that nobody makes them again."""
        for number, claimed in enumerate(self._claimed):
            if self.ends[number] is None:
                self._store_finished(number, claimed)

    def _store_finished(self, number: int, claimed: chunks.ClaimedChunk) -> None:
        finished = [
            (claimed.planned[position], outcome)
            for position, outcome in sorted(self._outcomes[number].items())
            if isinstance(outcome, Generated)
        ]
        if not finished:
            return
        now = time.perf_counter()
        seconds, self._stored_at = now - self._stored_at, now
        try:
            if len(finished) == len(claimed.planned):  # the worker was stopped while it stored them; nothing is left
                texts = [outcome for _, outcome in finished]
                stored = chunks.store(claimed, texts, seconds=seconds, made_with=self._made_with)
                self.ends[number] = STORED if stored else LOST
                return
            chunks.split(claimed, finished, seconds=seconds, made_with=self._made_with)
        except DatabaseError as error:  # they are made again
            logger.warning("The finished texts of chunk %s could not be stored: %s", claimed.chunk, error)
            if not connection.in_atomic_block:
                connection.close()

    def _finish(self, number: int) -> None:
        """Store one chunk, or fail it for good if the model refused a prompt, because it would refuse it again."""
        claimed = self._claimed[number]
        outcomes = [outcome for _, outcome in sorted(self._outcomes[number].items())]
        reasons = {
            planned.context.external_id: outcome.reason
            for planned, outcome in zip(claimed.planned, outcomes, strict=True)
            if isinstance(outcome, NotGenerated)
        }
        if reasons:
            self._store_finished(number, claimed)
            chunks.fail(claimed, refusals(reasons), final=True)
            self.ends[number] = FAILED
        else:
            texts = [outcome for outcome in outcomes if isinstance(outcome, Generated)]
            now = time.perf_counter()
            seconds, self._stored_at = now - self._stored_at, now
            self.ends[number] = STORED if self._store(claimed, texts, seconds) else LOST
        self._latest = [latest for latest in self._latest if latest[0] != number]

    def _show(self) -> None:
        """Write the latest texts, and how many there are, to the first chunk that is not complete."""
        unfinished = [number for number, end in enumerate(self.ends) if end is None]
        claimed = self._claimed[unfinished[0]]
        outcomes = (outcome for number in unfinished for outcome in self._outcomes[number].values())
        drawn = [outcome for outcome in outcomes if isinstance(outcome, Generated)]
        preview = {
            "n": len(drawn),
            "tokens": sum(generated.n_tokens for generated in drawn),
            "seconds": round(time.perf_counter() - self._stored_at, 3),
            "texts": [
                {
                    "context": planned.context.external_id,
                    "model": claimed.chunk.model.name,
                    "decoder": planned.decoder,
                    "text": chunks.storable(generated.text[:PREVIEWED_CHARACTERS]),
                }
                for _, planned, generated in reversed(self._latest)
            ],
        }
        try:
            chunks.show(claimed, preview)
        except DatabaseError as error:  # nobody sees the texts for a moment; they are still stored later
            logger.warning("The texts of chunk %s could not be shown: %s", claimed.chunk, error)
            if not connection.in_atomic_block:
                connection.close()
        self._shown_at = time.perf_counter()

    def _store(self, claimed: chunks.ClaimedChunk, texts: Sequence[Generated], seconds: float) -> bool:
        """Like ``chunks.store``, but tries again if the database is briefly unavailable: the work is already done."""
        for tries_left in reversed(range(STORE_TRIES)):
            try:
                return chunks.store(claimed, texts, seconds=seconds, made_with=self._made_with)
            except OperationalError:
                if not tries_left or connection.in_atomic_block:
                    raise
                logger.warning("Chunk %s could not be stored; trying again.", claimed.chunk, exc_info=True)
                connection.close()
                time.sleep(2.0)
        return False
