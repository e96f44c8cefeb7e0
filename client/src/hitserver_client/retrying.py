"""When a request is sent again, and after how many seconds.

A write carries an ``Idempotency-Key``, so the server does it once, however often it arrives.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

TRIES = 6
LONGEST_WAIT = 60.0
FIRST_WAIT = 0.5
#: What proxies answer while a server starts or stops.
AWAY = (502, 503, 504)
PROBLEM = "application/problem+json"


def wait_after(attempt: int, status: int | None, headers: Mapping[str, str]) -> float | None:
    """Seconds until the request is sent again. None: the answer is final.

    ``attempt`` counts from 0. ``status`` is None if there was no answer.
    """
    if attempt + 1 >= TRIES:
        return None
    header = headers.get("retry-after", "")
    stated = float(header) if header.isascii() and header.isdigit() else None
    if status in (409, 429):
        return stated if stated is not None and stated <= LONGEST_WAIT else None
    if status == 503 or status is None:
        return stated if stated is not None and stated <= LONGEST_WAIT else _growing(attempt)
    from_a_proxy = not headers.get("content-type", "").startswith(PROBLEM)
    return _growing(attempt) if status in AWAY and from_a_proxy else None


def _growing(attempt: int) -> float:
    """Twice as long each time, and not the same for all clients that wait for one server."""
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0**attempt)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
