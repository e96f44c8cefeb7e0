"""What the brake on guessing passwords counts, and that it counts everything at once."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache, caches
from django.core.cache.backends.filebased import FileBasedCache
from django.test import RequestFactory

from common import brake
from tests.services import ROOT

FILES = "django.core.cache.backends.filebased.FileBasedCache"
REDIS = "django.core.cache.backends.redis.RedisCache"
SIX = "2001:db8:1:2::/64"


@pytest.fixture(autouse=True)
def nobody_has_guessed() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def request(address: str = "192.0.2.7", forwarded: str = "") -> Any:
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    return RequestFactory(REMOTE_ADDR=address, headers=headers).get("/")


def tries(count: int, name: str = "ada", **source: str) -> int:
    """How many of this many guesses were allowed."""
    return sum(brake.may_try(request(**source), name) for _ in range(count))


def test_so_many_guesses_for_a_name_and_no_more() -> None:
    assert tries(brake.MOST_FOR_A_NAME + 5) == brake.MOST_FOR_A_NAME
    assert tries(1, "ADA") == 0
    assert tries(1, "eve") == 1
    assert tries(1, address="192.0.2.8") == 1


def test_so_many_guesses_from_an_address_and_no_more() -> None:
    allowed = sum(tries(1, f"user-{number}") for number in range(brake.MOST_FOR_AN_ADDRESS + 5))
    assert allowed == brake.MOST_FOR_AN_ADDRESS
    assert tries(1, "ada", address="192.0.2.8") == 1


def test_guesses_at_one_name_do_not_stop_the_others_at_an_address() -> None:
    tries(3 * brake.MOST_FOR_AN_ADDRESS)
    assert tries(1, "eve") == 1


def test_the_right_password_forgets_the_wrong_ones_and_counts_for_nothing() -> None:
    for _ in range(2 * brake.MOST_FOR_AN_ADDRESS):
        assert tries(1) == 1
        brake.forgive(request(), "ada")
    assert tries(brake.MOST_FOR_A_NAME) == brake.MOST_FOR_A_NAME


def test_it_is_over_after_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    tries(brake.MOST_FOR_A_NAME)
    assert tries(1) == 0
    pass_by(brake.WINDOW_SECONDS)
    assert tries(1) == 1


@pytest.mark.parametrize(
    ("direct", "forwarded", "counted"),
    [
        ("192.0.2.7", "", "192.0.2.7"),
        ("192.0.2.7", "203.0.113.1", "192.0.2.7"),  # not from a proxy
        ("127.0.0.1", "203.0.113.1", "203.0.113.1"),
        ("127.0.0.1", "203.0.113.1, 198.51.100.4", "198.51.100.4"),  # what came before it, the visitor may have made up
        ("127.0.0.1", "203.0.113.1, 10.0.0.9", "203.0.113.1"),  # two proxies in a row
        ("127.0.0.1", "203.0.113.1, nonsense", "127.0.0.1"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "", SIX),
        ("127.0.0.1", "2001:db8:1:2:ffff::1", SIX),
        ("::ffff:192.0.2.7", "", "192.0.2.7"),
        ("::ffff:127.0.0.1", "203.0.113.1", "203.0.113.1"),
        ("", "203.0.113.1", ""),  # a socket file
    ],
)
def test_the_visitors_address_is_counted(direct: str, forwarded: str, counted: str, settings: Any) -> None:
    settings.PROXY_IPS = ("127.0.0.1", "::1", "10.0.0.9")
    assert brake.address_of(request(direct, forwarded)) == counted


def test_a_whole_ipv6_network_gets_no_more_guesses() -> None:
    assert sum(tries(1, address=f"2001:db8::{number}") for number in range(20)) == brake.MOST_FOR_A_NAME
    assert tries(1, address="2001:db8:0:1::1") == 1


# --- an account from many addresses -----------------------------------------------------------------------------


def from_everywhere(count: int, name: str = "ada") -> int:
    """How many of this many guesses were allowed, each from a different address."""
    return sum(tries(1, name, address=f"198.51.{number // 200}.{number % 200}") for number in range(count))


def test_an_account_guessed_from_many_addresses_is_slowed_to_one_attempt_a_minute() -> None:
    assert from_everywhere(brake.MOST_FOR_AN_ACCOUNT + 20) == brake.MOST_FOR_AN_ACCOUNT + 1
    assert tries(1, "eve") == 1
    pass_by(brake.SLOWED_SECONDS)
    assert from_everywhere(20) == 1


def test_a_slowed_account_is_not_slow_where_its_user_has_signed_in() -> None:
    assert tries(1, address="203.0.113.1") == 1
    brake.forgive(request("203.0.113.1"), "ada")
    from_everywhere(brake.MOST_FOR_AN_ACCOUNT + 20)
    assert tries(brake.MOST_FOR_A_NAME + 1, address="203.0.113.1") == brake.MOST_FOR_A_NAME


def test_the_right_password_does_not_forget_what_others_have_guessed() -> None:
    from_everywhere(brake.MOST_FOR_AN_ACCOUNT)
    assert tries(1) == 1
    brake.forgive(request(), "ada")
    pass_by(brake.SLOWED_SECONDS)
    assert from_everywhere(20) == 1


def test_attempts_that_were_held_back_do_not_count_for_the_account() -> None:
    tries(brake.MOST_FOR_A_NAME)
    from_everywhere(brake.MOST_FOR_AN_ACCOUNT)
    pass_by(brake.SLOWED_SECONDS)
    assert tries(20) == 0
    assert tries(1, address="203.0.113.1") == 1


def pass_by(seconds: float) -> None:
    """Make what the cache holds this much older."""
    for key in (held := brake.cache._expire_info):  # type: ignore[attr-defined]
        held[key] -= seconds


# --- at once ----------------------------------------------------------------------------------------------------


def from_threads(count: int = 40) -> int:
    together = threading.Barrier(count)

    def guess(_: int) -> int:
        together.wait()
        return tries(1)

    with ThreadPoolExecutor(count) as pool:
        return sum(pool.map(guess, range(count)))


def test_guesses_in_threads_are_all_counted_in_memory() -> None:
    assert from_threads() == brake.MOST_FOR_A_NAME


def test_guesses_in_threads_are_all_counted_in_files(settings: Any, tmp_path: Path) -> None:
    settings.CACHES = {"default": {"BACKEND": FILES, "LOCATION": tmp_path}}
    assert from_threads() == brake.MOST_FOR_A_NAME


def test_guesses_in_threads_are_all_counted_in_redis(settings: Any, redis_url: str) -> None:
    settings.CACHES = {"default": {"BACKEND": REDIS, "LOCATION": redis_url, "KEY_PREFIX": f"brake-{id(settings)}"}}
    assert from_threads() == brake.MOST_FOR_A_NAME
    redis: Any = caches["default"]
    key = redis.make_key(brake._key("192.0.2.7", "ada"))
    assert 0 < redis._cache.get_client().ttl(key) <= brake.WINDOW_SECONDS


GUESSER = """
import sys
from pathlib import Path
from django.conf import settings
settings.configure(PROXY_IPS=(), CACHES={"default": {"BACKEND": "%s", "LOCATION": sys.argv[1]}}, ALLOWED_HOSTS=["*"])
from django.test import RequestFactory
from common import brake
print("ready", flush=True)
sys.stdin.readline()
print(sum(brake.may_try(RequestFactory(REMOTE_ADDR="192.0.2.7").get("/"), "ada") for _ in range(10)))
"""


def test_guesses_in_processes_are_all_counted_in_files(tmp_path: Path) -> None:
    command = [sys.executable, "-c", GUESSER % FILES, str(tmp_path)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    processes = [subprocess.Popen(command, **pipes) for _ in range(4)]
    for process in processes:
        assert process.stdout and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    assert sum(int(process.communicate(timeout=20)[0]) for process in processes) == brake.MOST_FOR_A_NAME


def test_a_full_disk_keeps_nobody_out(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.CACHES = {"default": {"BACKEND": FILES, "LOCATION": tmp_path}}

    def no_space_left(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "sign-in.lock").mkdir()
    monkeypatch.setattr(FileBasedCache, "set", no_space_left)
    assert tries(30) == 30
    brake.forgive(request(), "ada")
