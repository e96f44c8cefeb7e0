"""The cache in Redis holds JSON and nothing that runs."""

from __future__ import annotations

import pickle
import uuid
from typing import Any

import pytest
from django.core.cache import caches
from django.test import override_settings

from hitserver.cache import JsonSerializer


@pytest.mark.parametrize("value", [0, 7, -1, True, None, "text", "7", ["a", 1], {"a": {"b": None}}, 1.5])
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    written = JsonSerializer().dumps(value)
    stored = str(written).encode() if isinstance(written, int) else written  # Redis writes numbers as text
    found = JsonSerializer().loads(stored)
    assert (found, type(found)) == (value, type(value))


def test_pickled_data_are_never_run() -> None:
    class Harm:
        def __reduce__(self) -> Any:
            return exec, ("raise SystemExit('it ran')",)

    with pytest.raises(ValueError):
        JsonSerializer().loads(pickle.dumps(Harm()))


def test_redis_counts_and_forgets(redis_url: str) -> None:
    redis = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": redis_url,
        "OPTIONS": {"serializer": "hitserver.cache.JsonSerializer"},
        "KEY_PREFIX": f"test-{uuid.uuid4().hex}",
    }
    with override_settings(CACHES={"default": redis}):
        cache = caches["default"]
        assert cache.add("count", 0, 60)
        assert not cache.add("count", 5, 60)
        assert [cache.incr("count"), cache.incr("count"), cache.decr("count")] == [1, 2, 1]
        cache.set("receipt", "taken-abc", 60)
        assert (cache.get("count"), cache.get("receipt")) == (1, "taken-abc")
        cache.delete_many(["count", "receipt"])
        assert cache.get("count", 0) == 0
