"""Celery's scheduler, which notes that it is alive each time it has looked for tasks to send."""

from __future__ import annotations

import time
from typing import Any

from celery.beat import PersistentScheduler


class Scheduler(PersistentScheduler):  # type: ignore[misc]  # Celery has no types
    """The sign comes from the loop that sends tasks, not from a thread, so a loop that hangs gives none."""

    _next_sign = 0.0

    def tick(self, *args: Any, **kwargs: Any) -> Any:
        seconds = super().tick(*args, **kwargs)
        if time.monotonic() >= self._next_sign:
            from hitserver.watch import signs  # models can be imported only now

            self._next_sign = time.monotonic() + signs.EVERY_SECONDS
            signs.give_sign(signs.Kind.SCHEDULER)
        return seconds
