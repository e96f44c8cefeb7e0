"""How many requests a requester may send: a bucket of tokens each, refilled at a steady rate.

The bucket lies in Django's cache, which the processes of a machine share (all machines, with Redis behind it). In a
cache in memory every web process has a bucket of its own and allows its share of the rate.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.cache import cache

from marketplace.wire.errors import ThrottlingError

LOCK_SECONDS = 2


def take_token(requester_id: int) -> None:
    """Takes one token or refuses the request."""
    rate, burst = _sizes()
    if not rate:
        return
    key = f"marketplace:bucket:{requester_id}"
    with _locked(key):
        now = time.time()
        tokens, filled_at = cache.get(key) or (burst, now)
        tokens = min(burst, tokens + max(0.0, now - filled_at) * rate)
        enough = tokens >= 1
        cache.set(key, (tokens - 1 if enough else tokens, now), timeout=int(burst / rate) + 60)
    if not enough:
        raise ThrottlingError


def _sizes() -> tuple[float, float]:
    alone = "locmem" in str(settings.CACHES["default"]["BACKEND"])  # each process then counts for itself
    shares = max(1, getattr(settings, "WEB_WORKERS", 1)) if alone else 1
    return settings.MARKETPLACE_RATE_LIMIT / shares, max(1.0, settings.MARKETPLACE_RATE_BURST / shares)


@contextmanager
def _locked(key: str) -> Iterator[None]:
    """One at a time. Whoever waited for the whole life of a lock goes on: its holder has died."""
    lock, deadline = f"{key}:lock", time.monotonic() + LOCK_SECONDS
    while not cache.add(lock, 1, timeout=LOCK_SECONDS) and time.monotonic() < deadline:
        time.sleep(0.002)
    try:
        yield
    finally:
        cache.delete(lock)
