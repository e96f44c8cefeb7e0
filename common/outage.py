"""What a process remembers while a service that it can do without is away: not to wait for it, and not to log it again.

A request that waited for Redis or the task queue would be slow for as long as they are away. So only one in a few
seconds tries, and all others are told at once.
"""

from __future__ import annotations

import logging
import threading
import time


class Outage:
    """One service, as this process sees it. ``while_away`` completes the sentence about it in the log."""

    def __init__(self, service: str, while_away: str, *, pause_seconds: float = 5.0) -> None:
        self.service, self.while_away, self.pause_seconds = service, while_away, pause_seconds
        self._lock = threading.Lock()
        #: While the service works, callers need nothing else of this object.
        self.is_on = False
        self._since = 0.0
        self._try_after = 0.0

    def skips(self) -> bool:
        """Whether the service failed so recently that nobody should wait for it. If it is time to look again, False for
        one caller only."""
        if not self.is_on:
            return False
        with self._lock:
            if not self.is_on or time.monotonic() < self._try_after:
                return self.is_on
            self._try_after = time.monotonic() + self.pause_seconds
            return False

    def begin(self, logger: logging.Logger, error: BaseException) -> None:
        """Call this when the service has failed. Logs a warning if it worked before."""
        with self._lock:
            is_new, now = not self.is_on, time.monotonic()
            self.is_on = True
            self._since = now if is_new else self._since
            self._try_after = now + self.pause_seconds
        if is_new:
            logger.warning("%s does not work: %s. %s", self.service, str(error).rstrip("."), self.while_away)

    def end(self, logger: logging.Logger) -> None:
        """Call this when the service has worked. Logs how long it was away, if it was."""
        if not self.is_on:
            return
        with self._lock:
            was_on, since, self.is_on = self.is_on, self._since, False
        if was_on:
            logger.warning("%s works again after %.0f seconds.", self.service, time.monotonic() - since)

    def forget(self) -> None:
        """Start over, as in a new process."""
        self.is_on = False
