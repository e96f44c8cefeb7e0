"""Limits the pace of calls over all processes of this machine, so that a platform does not have to refuse any."""

from __future__ import annotations

import time
from contextlib import suppress

from django.conf import settings
from django.core.files import locks


def wait_for_turn(account: str, per_second: float) -> float:
    """Wait until the next call is allowed. Returns the seconds waited.

    All processes together make at most ``per_second`` calls per second on one ``account``; 0 means no limit.
    """
    if per_second <= 0:
        return 0.0
    # Reserve the next free moment: ``gap`` after the one reserved last, and not before now.
    last, gap = 0.0, 1 / per_second
    with (settings.VAR / f"pace-{account}").open("a+") as file:
        locks.lock(file, locks.LOCK_EX)
        try:
            file.seek(0)
            now = time.time()
            # If the clock was set back, calls must not stop: no call waits for more than a thousand others.
            with suppress(ValueError):
                last = min(float(file.read() or 0), now + 1000 * gap)
            turn = max(now, last + gap)
            file.seek(0)
            file.truncate()
            file.write(f"{turn:.6f}")
            file.flush()
        finally:
            locks.unlock(file)
    wait = max(0.0, turn - time.time())
    if wait:
        time.sleep(wait)
    return wait
