"""How many requests a requester can send: each has a bucket of tokens, refilled at a steady rate.

A request uses one token, or is refused if there is none. No two use the same token: the bucket is read and written
under a lock, or inside Redis. With Redis (`CELERY_BROKER_URL`), all machines share the buckets and Redis's clock
refills them. Without it, and while it does not answer, the processes of one machine share them as files, and each
machine allows the full rate.
"""

import fcntl
import logging
import os
import struct
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from django.utils.crypto import salted_hmac
from redis.backoff import NoBackoff
from redis.retry import Retry

from common.outage import Outage
from marketplace.wire.errors import ThrottlingError

logger = logging.getLogger(__name__)
outage = Outage("Redis, which counts requesters' requests,", "Until it does, each machine allows the full rate.")

_BUCKET = struct.Struct("<dd")  # tokens, and the time of that count
_FOLDER = "marketplace-buckets"
# KEYS: the bucket. ARGV: rate, burst, seconds after which an unused bucket is full and can be deleted.
_TAKE = """
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local rate, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local tokens = tonumber(bucket[1] or burst)
local at = tonumber(bucket[2] or now)
tokens = math.min(burst, tokens + math.max(0, now - at) * rate)
local enough = tokens >= 1
if enough then tokens = tokens - 1 end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.6f', tokens), 'at', string.format('%.6f', now))
redis.call('EXPIRE', KEYS[1], ARGV[3])
return enough and 1 or 0
"""


def take_token(requester_id: int) -> None:
    """Uses one of the requester's tokens. Raises ThrottlingError if there is none."""
    rate, burst = settings.MARKETPLACE_RATE_LIMIT, max(1, settings.MARKETPLACE_RATE_BURST)
    if not rate:
        return
    cache: dict[str, Any] = settings.CACHES["default"]
    was_taken: bool | None = None  # nobody knows yet
    if cache["BACKEND"].endswith("RedisCache") and cache["LOCATION"] and not outage.skips():
        try:
            was_taken = taken_from_redis(str(cache["LOCATION"]), _bucket_key(requester_id), rate=rate, burst=burst)
        except redis.RedisError as error:
            outage.begin(logger, error)
        else:
            outage.end(logger)
    if was_taken is None:
        folder = Path(settings.VAR) / _FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        was_taken = taken_from_file(folder / str(requester_id), rate=rate, burst=burst)
    if not was_taken:
        raise ThrottlingError


@lru_cache(maxsize=4)
def _client(address: str) -> "redis.Redis":
    """The client, created at the first request of a process (not before it forks). Threads share its connections."""
    once_more = Retry(NoBackoff(), 1)  # the server may have closed an idle connection
    return redis.Redis.from_url(address, socket_timeout=1, socket_connect_timeout=1, retry=once_more)


def _bucket_key(requester_id: int) -> str:
    """A key that no other installation uses: its requesters have the same numbers."""
    return "hitserver:bucket:" + salted_hmac("marketplace.throttling", str(requester_id)).hexdigest()


def taken_from_redis(address: str, key: str, *, rate: float, burst: float) -> bool:
    """Whether there was a token. Raises RedisError."""
    script = _client(address).register_script(_TAKE)
    return bool(script(keys=[key], args=[rate, burst, int(burst / rate) + 60]))


def taken_from_file(path: Path, *, rate: float, burst: float) -> bool:
    """Whether there was a token. One process or thread at a time reads and writes the bucket."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        now = time.time()
        stored = os.pread(descriptor, _BUCKET.size, 0)
        tokens, filled_at = _BUCKET.unpack(stored) if len(stored) == _BUCKET.size else (burst, now)
        tokens = min(burst, tokens + max(0.0, now - filled_at) * rate)
        enough: bool = tokens >= 1
        os.pwrite(descriptor, _BUCKET.pack(tokens - 1 if enough else tokens, now), 0)
    finally:
        os.close(descriptor)  # also releases the lock
    return enough
