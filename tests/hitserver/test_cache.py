"""The cache in Redis holds JSON and nothing that runs, and nobody needs it to be there."""

from __future__ import annotations

import json
import pickle
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
import redis
from django.core.cache import caches
from django.core.cache.backends.filebased import FileBasedCache
from django.test import RequestFactory, override_settings

from common import brake
from hitserver.cache import WAIT_SECONDS, JsonSerializer
from tests.services import ROOT, free_port
from tests.support import clean_environment


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
    ours = {**server_cache(), "LOCATION": redis_url, "KEY_PREFIX": f"test-{uuid.uuid4().hex}"}
    with override_settings(CACHES={"default": ours}):
        cache = caches["default"]
        assert cache.add("count", 0, 60)
        assert not cache.add("count", 5, 60)
        assert [cache.incr("count"), cache.incr("count"), cache.decr("count")] == [1, 2, 1]
        cache.set("receipt", "taken-abc", 60)
        assert (cache.get("count"), cache.get("receipt")) == (1, "taken-abc")
        cache.delete_many(["count", "receipt"])
        assert cache.get("count", 0) == 0


# --- Redis or the disk is away ----------------------------------------------------------------------------------


@pytest.fixture
def cache_without_redis(settings: Any) -> Any:
    """The server's cache, whose Redis nobody has started."""
    settings.CACHES = {"default": {**server_cache(), "LOCATION": f"redis://127.0.0.1:{free_port()}/0"}}
    return caches["default"]


def server_cache() -> dict[str, Any]:
    """The cache as the settings make it for a Redis."""
    code = "from hitserver import settings; import json; print(json.dumps(settings.CACHES['default']))"
    environment = clean_environment({"CELERY_BROKER_URL": "redis://127.0.0.1/", "HITSERVER_VAR": tempfile.gettempdir()})
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_without_redis_the_process_counts_by_itself(cache_without_redis: Any) -> None:
    assert cache_without_redis.add("count", 0, 60)
    assert not cache_without_redis.add("count", 5, 60)
    assert [
        cache_without_redis.incr("count"),
        cache_without_redis.incr("count"),
        cache_without_redis.decr("count"),
    ] == [
        1,
        2,
        1,
    ]
    with pytest.raises(ValueError):
        cache_without_redis.incr("nothing")


def test_without_redis_the_brakes_still_hold_and_one_line_says_so(
    cache_without_redis: Any, caplog: pytest.LogCaptureFixture
) -> None:
    here = RequestFactory(REMOTE_ADDR="192.0.2.7").get("/")
    begin = time.monotonic()

    assert sum(brake.may_try(here, "ada") for _ in range(30)) == brake.MOST_FOR_A_NAME
    assert [bool(brake.take(here, "start 1", most=2, seconds=60)) for _ in range(3)] == [True, True, False]
    brake.forgive(here, "ada")
    assert brake.may_try(here, "ada")
    assert time.monotonic() - begin < 5
    assert len(caplog.records) == 1
    assert "The cache does not work" in caplog.text


def test_a_redis_that_does_not_answer_holds_up_one_request_in_a_while(settings: Any) -> None:
    """It takes connections, and then nothing happens, as on a machine that hangs."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        settings.CACHES = {"default": {**server_cache(), "LOCATION": f"redis://127.0.0.1:{port}/0"}}
        begin = time.monotonic()
        for _ in range(50):
            caches["default"].get("x")
        assert time.monotonic() - begin < 2.5 * WAIT_SECONDS


def test_redis_is_used_again_when_it_is_back(settings: Any, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.CACHES = {"default": {**server_cache(), "LOCATION": redis_url, "KEY_PREFIX": uuid.uuid4().hex}}
    cache, now = caches["default"], time.monotonic()
    with monkeypatch.context() as away:
        away.setattr(redis.Redis, "set", _refused)
        cache.set("x", 1, 60)
    cache.set("y", 2, 60)
    assert cache.get("x") == 1  # from memory: nobody looks for Redis so soon
    monkeypatch.setattr(time, "monotonic", lambda: now + 60)
    cache.set("z", 3, 60)
    assert cache.get_many(["x", "y", "z"]) == {"z": 3}


def _refused(*_: Any, **__: Any) -> None:
    raise redis.exceptions.ConnectionError("Connection refused.")


def test_a_full_disk_refuses_nobody(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings.CACHES = {"default": {"BACKEND": "hitserver.cache.FileCache", "LOCATION": tmp_path / "cache"}}

    def no_space_left(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FileBasedCache, "_write_content", no_space_left)
    cache = caches["default"]
    assert cache.add("unsent-start-1", "receipt", 60)
    assert not cache.add("unsent-start-1", "receipt", 60)
    assert cache.get("unsent-start-1") == "receipt"
    assert len(caplog.records) == 1
