"""Handing tasks to the queue without waiting for it. What is not sent is found in the database later."""

from __future__ import annotations

import logging
from collections.abc import Callable

from kombu.exceptions import OperationalError

from common.outage import Outage

logger = logging.getLogger(__name__)
outage = Outage("The task queue", "Pages work, and background work waits until the queue is back.")


def handed_over(send: Callable[[], object]) -> bool:
    """Whether the queue took the task that ``send`` sends. If it did not a moment ago, ``send`` is not even called."""
    if outage.skips():
        return False
    try:
        send()
    except (OperationalError, OSError) as error:
        outage.begin(logger, error)
        return False
    outage.end(logger)
    return True
