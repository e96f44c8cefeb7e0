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
        self._since: float | None = None
        self._try_after = 0.0

    @property
    def is_on(self) -> bool:
        return self._since is not None

    def skips(self) -> bool:
        """Whether the service failed so recently that nobody should wait for it. If it is time to look again, False for
        one caller only."""
        if self._since is None:
            return False
        with self._lock:
            if self._since is None or time.monotonic() < self._try_after:
                return self._since is not None
            self._try_after = time.monotonic() + self.pause_seconds
            return False

    def begin(self, logger: logging.Logger, error: BaseException) -> None:
        """Call this when the service has failed. Logs a warning if it worked before."""
        with self._lock:
            is_new, now = self._since is None, time.monotonic()
            self._since = self._since if self._since is not None else now
            self._try_after = now + self.pause_seconds
        if is_new:
            logger.warning("%s does not work: %s. %s", self.service, str(error).rstrip("."), self.while_away)

    def end(self, logger: logging.Logger) -> None:
        """Call this when the service has worked. Logs how long it was away, if it was."""
        if self._since is None:
            return
        with self._lock:
            since, self._since = self._since, None
        if since is not None:
            logger.warning("%s works again after %.0f seconds.", self.service, time.monotonic() - since)

    def forget(self) -> None:
        """Start over, as in a new process."""
        self._since = None
