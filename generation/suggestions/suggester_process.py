"""The process that writes live suggestions: it holds the models and answers what is waiting in the database.

It claims waiting suggestions under a lease and puts them into their model's engine, which writes those of all writers
together, one token at a time. Each is stored as soon as it ends. Any number of such processes may run, on any number
of machines: they share only the database. When one is killed its leases run out, and another picks up its requests.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.utils import timezone

from generation.models import LanguageModel, ModelWorker, Suggester
from generation.registry import presence
from generation.registry.checking import end_process_if_broken
from generation.suggestions import serving
from generation.suggestions.asking import close_abandoned
from generation.suggestions.lanes import Lane, OpenBackend
from generation.suggestions.weights import note_weights

logger = logging.getLogger(__name__)
T = TypeVar("T")

DEFAULT_ROWS = 64
LEASE = timedelta(seconds=5)
# The longest time that a new request can go unseen.
POLL_SECONDS = 0.05
PULSE_SECONDS = 1.0
HEARTBEAT_SECONDS = 5.0
REFRESH_SECONDS = 2.0
HOUSEKEEPING_SECONDS = 60.0
PAUSE_WITHOUT_DATABASE = 1.0
# A token of the largest batch takes seconds at most. A process that has made none for this long is stuck in a library.
STUCK_SECONDS = 60.0
# Another model that loads meanwhile slows every step down. If the process ended itself for that, it would have to load
# the same models again, for ever.
STUCK_WHILE_LOADING_SECONDS = 600.0
# How often people see an answer grow.
GROWING_SECONDS = 0.4
# An engine that waits for a server is idle most of the time.
NOTHING_DONE_SECONDS = 0.005


class SuggesterProcess:
    """Answers suggestions until it is stopped. ``models``: the names of the models it holds; if empty, all that active
    suggesters use. ``rows``: the most suggestions in one model's batch."""

    def __init__(
        self,
        *,
        open_backend: OpenBackend,
        models: Sequence[str] = (),
        rows: int = DEFAULT_ROWS,
        lease: timedelta = LEASE,
        poll: float = POLL_SECONDS,
        name: str = "",
    ) -> None:
        self.name = name or f"{socket.gethostname()[:60]}:{os.getpid()}:{secrets.token_hex(3)}"
        self.lanes: dict[int, Lane] = {}
        self.answered = 0
        self._open_backend, self._only, self._rows = open_backend, tuple(models), rows
        self._lease, self._poll = lease, poll
        self._results: list[serving.Result] = []
        self._stop = threading.Event()
        self._due: dict[str, float] = {}
        self.turn_at = time.monotonic()

    def stop(self) -> None:
        """Ask it to end; safe in a signal handler."""
        self._stop.set()

    def run(self, until: Callable[[], bool] | None = None) -> None:
        """Work until asked to stop, or until ``until``, called at every turn, returns true."""
        self._write_row("starting")
        pulse = Pulse(self, self._lease)
        pulse.start()
        try:
            while not self._stop.is_set() and not (until and until()):
                self._stop.wait(self.turn())
        finally:
            pulse.end()
            self._finish()

    def turn(self) -> float:
        """Look for new requests, make one token with every model, store what ended. Returns the seconds to pause."""
        self.turn_at = time.monotonic()
        self._with_database(self._do_what_is_due)
        if self.busy and self._is_due("needless", self._poll):
            self._with_database(self._drop_needless)
        began = time.monotonic()
        for lane in self.lanes.values():
            self._work(lane, lane.step)
            end_process_if_broken(lane.device_error)
        worked = time.monotonic() - began
        if self._results:
            self._with_database(self._store)
        if self.busy and self._is_due("growing", GROWING_SECONDS):
            self._with_database(self._store_growing)
        if not self.busy:
            return self._poll if self.lanes else REFRESH_SECONDS
        return 0.0 if worked > NOTHING_DONE_SECONDS / 10 else NOTHING_DONE_SECONDS

    @property
    def busy(self) -> bool:
        return any(lane.jobs for lane in list(self.lanes.values()))

    @property
    def stuck(self) -> bool:
        """Whether it has been working on the same step for so long that it cannot be trusted to end it."""
        loads = any(lane.state == "loading" for lane in list(self.lanes.values()))
        return self.busy and time.monotonic() - self.turn_at > (STUCK_WHILE_LOADING_SECONDS if loads else STUCK_SECONDS)

    def _jobs(self) -> list[int]:
        return [pk for lane in self.lanes.values() for pk in lane.jobs]

    # --- What is due ---

    def _do_what_is_due(self) -> None:
        if self._is_due("refresh", REFRESH_SECONDS):
            self._refresh_lanes()
        if self._is_due("housekeeping", HOUSEKEEPING_SECONDS):
            close_abandoned()
            presence.delete_old_rows()
        if self.lanes and self._is_due("exhausted", PULSE_SECONDS):
            serving.answer_exhausted_from_pool(now=timezone.now())
        claims = self._is_due("claim", self._poll)
        room = {pk: lane.room for pk, lane in self.lanes.items() if lane.room > 0} if claims else {}
        if room and serving.anything_waits():
            claimed = serving.claim(
                name=self.name, room=room, lease=self._lease, now=timezone.now(), besides=set(self._jobs())
            )
            for pk, lane in self.lanes.items():
                suggestions = [row for row in claimed if row.suggester.model_id == pk]
                if suggestions:
                    self._work(lane, partial(lane.add, suggestions))

    def _is_due(self, what: str, every: float) -> bool:
        now = time.monotonic()
        if now < self._due.get(what, 0.0):
            return False
        self._due[what] = now + every
        return True

    def _refresh_lanes(self) -> None:
        """Open the models that active suggesters use, and close those that none of them uses any more."""
        used = LanguageModel.objects.filter(suggesters__active=True).distinct()
        needed = {model.pk: model for model in used if not self._only or model.name in self._only}
        for pk, lane in list(self.lanes.items()):
            lane.wanted = pk in needed
            lane.tend()
            if not lane.wanted and not lane.jobs and lane.state != "loading":
                lane.close()
                del self.lanes[pk]
        for pk, model in needed.items():
            if pk not in self.lanes:
                self.lanes[pk] = Lane(model=model, open_backend=self._open_backend, rows=self._rows)
        # Weights are compared for each suggester once after its model was opened, and again when they were accepted.
        if any(lane.state == "ready" for lane in self.lanes.values()):
            active = list(Suggester.objects.filter(active=True).only("pk", "model_id", "origin"))
            for lane in self.lanes.values():
                for suggester in lane.uncompared(active):
                    note_weights(suggester_id=suggester.pk, now=lane.origin)
                    lane.compared.add((suggester.pk, repr(suggester.origin)))

    def _drop_needless(self) -> None:
        """Called right before the next tokens are made: nothing is computed for a writer who has left meanwhile."""
        unbegun = {pk for lane in self.lanes.values() for pk in lane.unbegun}
        dropped = serving.needless(suggestions=self._jobs(), unbegun=unbegun, now=timezone.now())
        for lane in self.lanes.values():
            lane.drop(dropped)
        if dropped:
            serving.release(name=self.name, suggestions=dropped)

    # --- Work and its results ---

    def _work(self, lane: Lane, do: Callable[[], list[serving.Result]]) -> None:
        """Collect what the engine makes. If it fails, its requests are released and the model is opened again."""
        try:
            self._results += do()
        except Exception as error:
            logger.exception("The engine of model %s failed.", lane.name)
            lost = lane.broke(error)
            self._with_database(lambda: serving.release(name=self.name, suggestions=lost, counted=True))

    def _store(self) -> int:
        count = serving.store(name=self.name, results=self._results, now=timezone.now())
        self.answered += count
        self._results = []
        return count

    def _store_growing(self) -> None:
        texts = {pk: text for lane in self.lanes.values() for pk, text in lane.growing().items()}
        if texts:
            serving.store_growing(name=self.name, texts=texts)

    def _with_database(self, do: Callable[[], T]) -> T | None:
        """Do this if the database is available. If not, models continue, and results wait until it is back."""
        if time.monotonic() < self._due.get("database", 0.0):
            return None
        try:
            return do()
        except (OperationalError, InterfaceError) as error:
            logger.warning("The database does not respond: %s", str(error).strip())
            connection.close()
            self._due["database"] = time.monotonic() + PAUSE_WITHOUT_DATABASE
            return None

    def _finish(self) -> None:
        """Store what is ready, release the rest."""
        row = ModelWorker.objects.filter(name=self.name)
        for do in (self._store, lambda: serving.release(name=self.name), row.delete):
            try:
                do()
            except DatabaseError as error:
                logger.warning("Not written at the end: %s", str(error).strip())
        for lane in self.lanes.values():
            lane.close()
        self.lanes.clear()

    # --- Health ---

    def _write_row(self, state: str) -> None:
        ModelWorker.objects.update_or_create(
            name=self.name,
            defaults={
                "role": presence.SUGGESTIONS,
                "state": state,
                "models_loaded": sorted(lane.name for lane in self.lanes.values() if lane.state == "ready"),
                "message": self.message(),
                "seen_at": timezone.now(),
            },
        )

    def beat(self) -> None:
        """Write that the process is alive, and what it is doing."""
        self._write_row(self.state)

    @property
    def state(self) -> str:
        states = {lane.state for lane in list(self.lanes.values())}
        return next((state for state in ("failed", "loading", "ready") if state in states), "idle")

    def message(self) -> str:
        lanes = list(self.lanes.values())
        count = sum(len(lane.jobs) for lane in lanes)
        return " ".join([*(lane.in_words() for lane in lanes), f"{count} being written, {self.answered} answered."])


class Pulse(threading.Thread):
    """Keeps the leases and the heartbeat while the main thread is busy with a long step, and kills a process that
    hangs."""

    def __init__(self, process: SuggesterProcess, lease: timedelta) -> None:
        super().__init__(name="pulse", daemon=True)
        self._process, self._lease = process, lease
        self._end = threading.Event()
        self._every = min(PULSE_SECONDS, lease.total_seconds() / 3)
        self._beat_at = 0.0

    def run(self) -> None:
        while not self._end.wait(self._every):
            self.end_if_stuck()
            try:
                if self._process.busy:
                    serving.extend(name=self._process.name, lease=self._lease, now=timezone.now())
                if time.monotonic() >= self._beat_at:
                    self._beat_at = time.monotonic() + HEARTBEAT_SECONDS
                    self._process.beat()
            except DatabaseError as error:
                logger.warning("No heartbeat: %s", str(error).strip())
                connection.close()
        connection.close()

    def end(self) -> None:
        self._end.set()
        self.join(timeout=10)

    def end_if_stuck(self) -> None:
        """End the whole process if its main thread hangs."""
        if self._process.stuck:
            seconds = time.monotonic() - self._process.turn_at
            logger.critical("No token in %.0f s: this process hangs and ends itself.", seconds)
            os._exit(1)
