"""The caches, which count wrong passwords and starts. If Redis or the disk fails, each process counts by itself.

Values are written to Redis as JSON, because reading a pickle can run any code. Otherwise, anyone who can write to the
Redis server could run code in every web process.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from django.core.cache.backends import filebased, locmem
from django.core.cache.backends import redis as redis_cache
from django.core.cache.backends.base import BaseCache
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from common.outage import Outage

logger = logging.getLogger(__name__)
#: How long a request waits for Redis, at most once every few seconds while Redis is away.
WAIT_SECONDS = 1.0
WHILE_AWAY = "Until it does, each process counts wrong passwords and starts by itself."
#: By the cache's address: every thread has its own cache object.
_outages: dict[str, Outage] = {}


def outage_of(server: str) -> Outage:
    return _outages.setdefault(server, Outage("The cache", WHILE_AWAY))


class JsonSerializer:
    """Numbers stay plain, so that Redis can count."""

    def dumps(self, value: Any) -> int | bytes:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:
        return json.loads(data)


def _or_locally(name: str, *, writes: bool = True) -> Callable[..., Any]:
    """The cache's method, or the same method of the process's memory while the cache does not work.

    Only what writes finds out that it works again: a full disk can be read, too.
    """

    def method(self: WithFallback, *args: Any, **kwargs: Any) -> Any:
        if not self.outage.is_on or (writes and not self.outage.skips()):
            try:
                answer = getattr(self.shared, name)(*args, **kwargs)
            except (RedisError, OSError) as error:
                self.outage.begin(logger, error)
            else:
                if writes and self.outage.is_on:
                    self.outage.end(logger)
                return answer
        return getattr(self.local, name)(*args, **kwargs)

    return method


class WithFallback(BaseCache):
    """A cache that processes share, and the process's own memory while that does not work."""

    def __init__(self, server: Any, params: dict[str, Any], shared: BaseCache) -> None:
        super().__init__(params)
        self.shared = shared
        self.local = locmem.LocMemCache(f"instead of {server}", params)
        self.outage = outage_of(str(server))

    add = _or_locally("add")
    set = _or_locally("set")
    touch = _or_locally("touch")
    incr = _or_locally("incr")
    delete = _or_locally("delete")
    clear = _or_locally("clear")
    set_many = _or_locally("set_many")
    delete_many = _or_locally("delete_many")
    get = _or_locally("get", writes=False)
    has_key = _or_locally("has_key", writes=False)
    get_many = _or_locally("get_many", writes=False)

    def close(self, **kwargs: Any) -> None:
        self.shared.close(**kwargs)


class FileCache(WithFallback):
    """Files that the processes of one machine share."""

    def __init__(self, server: Any, params: dict[str, Any]) -> None:
        files = filebased.FileBasedCache(server, params)
        super().__init__(server, params, files)
        self._dir = files._dir  # type: ignore[attr-defined]  # where the brake locks; the stubs leave it out


class RedisCache(WithFallback):
    """A Redis server that all machines share. Nobody waits for it longer than ``WAIT_SECONDS``."""

    def __init__(self, server: Any, params: dict[str, Any]) -> None:
        quick = {
            "serializer": JsonSerializer(),
            "socket_timeout": WAIT_SECONDS,
            "socket_connect_timeout": WAIT_SECONDS,
            "retry": Retry(NoBackoff(), 1),  # the server may have closed an idle connection
        }
        options = {**quick, **params.get("OPTIONS", {})}
        super().__init__(server, params, redis_cache.RedisCache(server, {**params, "OPTIONS": options}))
