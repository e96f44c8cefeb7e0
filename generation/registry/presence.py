"""Which processes hold models: what each does, and when it was last seen.

In each process, a thread writes the process's row every few seconds. ``seen_at`` shows whether the process is still
alive, independently of the task queue.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import DatabaseError, connections
from django.db.models import QuerySet
from django.utils import timezone

from generation.backends.requirements import NONE_HERE, runnable
from generation.models import ModelWorker

logger = logging.getLogger(__name__)

RUNS, SUGGESTIONS = "runs", "suggestions"
SEEN_SECONDS = 5.0
#: Longer than a process waits to write to SQLite, so that one delay does not make a worker look dead.
ALIVE_FOR = timedelta(seconds=30)
FORGOTTEN_AFTER = timedelta(days=1)
IDLE, WORKING, WITHOUT = "idle", "working", "no models"


class Presence:
    """The row of this process. One per process: see ``of_this_process``."""

    def __init__(self, role: str = RUNS) -> None:
        self.role = role
        self.name = f"{socket.gethostname()[:60]}:{os.getpid()}"
        self.state, self.message = (IDLE, "") if runnable() else (WITHOUT, NONE_HERE)
        self.models: list[str] = []
        self._changed, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    def start(self) -> None:
        if self.state == WITHOUT:
            logger.warning(NONE_HERE)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._changed.set()
        self._thread.join(timeout=10)

    @contextmanager
    def working(self, message: str) -> Iterator[None]:
        """Show the process as working while the block runs."""
        before = self.state, self.message
        self._show(WORKING, message)
        try:
            yield
        finally:
            self._show(*before)

    def loaded(self, model: str) -> None:
        """Record that the process has used a model, which may be closed again by now."""
        if model not in self.models:
            self.models = [*self.models, model][-10:]

    def _show(self, state: str, message: str) -> None:
        self.state, self.message = state, message
        self._changed.set()

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                self._changed.clear()
                self._write_row()
                self._changed.wait(SEEN_SECONDS)
            ModelWorker.objects.filter(name=self.name).delete()
        except DatabaseError:
            pass  # the row becomes old, and others delete it
        finally:
            connections.close_all()

    def _write_row(self) -> None:
        values = {
            "role": self.role,
            "state": self.state,
            "message": self.message,
            "models_loaded": self.models,
            "seen_at": timezone.now(),
        }
        try:
            ModelWorker.objects.update_or_create(name=self.name, defaults=values)
        except DatabaseError as error:
            logger.warning(
                "This worker could not write that it is alive: %s", str(error).strip() or type(error).__name__
            )
            connections.close_all()


def alive(role: str = RUNS) -> QuerySet[ModelWorker]:
    """Processes of this role that were seen in the last half minute, by name."""
    return all_alive().filter(role=role)


def all_alive() -> QuerySet[ModelWorker]:
    """Processes of all roles that were seen in the last half minute."""
    return ModelWorker.objects.filter(seen_at__gte=timezone.now() - ALIVE_FOR).order_by("role", "name")


def delete_old_rows() -> None:
    """Delete the rows of processes that were killed long ago, whatever their role."""
    ModelWorker.objects.filter(seen_at__lt=timezone.now() - FORGOTTEN_AFTER).delete()


_presence: Presence | None = None


def of_this_process() -> Presence:
    """This process's presence, started on first use. A forked child gets a new one."""
    global _presence
    if _presence is None or not _presence.name.endswith(f":{os.getpid()}"):
        _presence = Presence()
        _presence.start()
    return _presence


def leave() -> None:
    """End this process's presence, if it has one."""
    global _presence
    if _presence is not None and _presence.name.endswith(f":{os.getpid()}"):
        _presence.stop()
    _presence = None
