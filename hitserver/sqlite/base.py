"""SQLite for several threads and processes that write often.

SQLite lets one transaction write at a time and makes the others poll with pauses that grow to a tenth of a second.
Here a writing transaction first waits in a line: within the process for a lock that wakes the next thread at once,
between processes for a lock on a file beside the database. Only then does it begin, so that it hardly ever meets
SQLite's own busy handler, which stays behind it for whoever does not queue (a shell, a backup).
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from django.db.backends.sqlite3 import base

POLL_SECONDS = 0.00002
_line: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


class Turn:
    """A place in the line for one database file. Not getting it in time is no error: SQLite decides then."""

    def __init__(self, name: str, seconds: float) -> None:
        self.lock = _line[name]
        self.path = Path(f"{name}-queue")
        self.seconds = seconds
        self.file = -1
        self.held = False

    def take(self) -> None:
        if self.held:
            return
        deadline = time.monotonic() + self.seconds
        if not self.lock.acquire(timeout=self.seconds):
            return
        self.held = True
        if self.file < 0:
            self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def leave(self) -> None:
        if self.held:
            fcntl.flock(self.file, fcntl.LOCK_UN)
            self.held = False
            self.lock.release()

    def close(self) -> None:
        self.leave()
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


class DatabaseWrapper(base.DatabaseWrapper):
    """Takes its turn before BEGIN and leaves the line after COMMIT or ROLLBACK."""

    _turn: Turn | None = None

    def _queue(self) -> Turn | None:
        name = str(self.settings_dict["NAME"])
        if self.is_in_memory_db():
            return None
        if self._turn is None or self._turn.path != Path(f"{name}-queue"):
            self._turn = Turn(name, float(self.settings_dict["OPTIONS"].get("timeout", 5)))
        return self._turn

    def _start_transaction_under_autocommit(self) -> None:
        if turn := self._queue():
            turn.take()
        try:
            super()._start_transaction_under_autocommit()
        except BaseException:
            self._leave()
            raise

    def _commit(self) -> Any:
        try:
            return super()._commit()
        finally:
            # A commit that failed keeps its transaction open until the rollback that follows.
            if self.connection is None or not self.connection.in_transaction:
                self._leave()

    def _rollback(self) -> Any:
        try:
            return super()._rollback()
        finally:
            self._leave()

    def _close(self) -> Any:
        try:
            return super()._close()
        finally:
            if self._turn is not None:
                self._turn.close()

    def _leave(self) -> None:
        if self._turn is not None:
            self._turn.leave()
