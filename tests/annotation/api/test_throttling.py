"""Limits: how many requests a user and an address may send, and what a program reads about that."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from tests.annotation.api.running_helpers import program
from tests.annotation.console_helpers import make_user, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small_limits(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Three requests a minute for a user, two for an address; the clock stands still. The list holds its time."""
    settings.API_REQUESTS_PER_MINUTE, settings.API_VISITORS_PER_MINUTE = 3, 2
    clock = [1_000_000.0]
    monkeypatch.setattr("annotation.api.throttling.time.time", lambda: clock[0])
    return clock


def ask(client: Client) -> Any:
    return client.get(reverse("api_jobs"))


def left(response: Any) -> tuple[str, ...]:
    return tuple(response.headers[f"RateLimit-{name}"] for name in ("Limit", "Remaining", "Reset"))


def test_each_answer_says_how_many_requests_are_left(small_limits: list[float]) -> None:
    client = signed_in(make_user("reader"))
    assert left(ask(client)) == ("3", "2", "60")
    small_limits[0] += 20
    assert left(ask(client)) == ("3", "1", "40")
    assert left(ask(client)) == ("3", "0", "40")
    refused = ask(client)
    assert (refused.status_code, left(refused)) == (429, ("3", "0", "40"))
    assert int(refused.headers["Retry-After"]) >= 40
    assert refused.headers["Content-Type"] == "application/problem+json"


def test_after_the_window_requests_are_answered_again(small_limits: list[float]) -> None:
    client = signed_in(make_user("reader"))
    for _ in range(4):
        ask(client)
    small_limits[0] += 61
    cache.clear()  # as it forgets what has expired
    assert ask(client).status_code == 200


def test_all_tokens_and_sessions_of_a_user_count_together() -> None:
    user = make_user("reader")
    for client in (program(user), program(user), signed_in(user)):
        assert ask(client).status_code == 200
    assert ask(program(user)).status_code == 429
    assert ask(program(make_user("other"))).status_code == 200


def test_requests_without_a_valid_token_count_for_the_address() -> None:
    guess = Client(headers={"Authorization": "Bearer hits_guess"})
    assert [ask(guess).status_code, ask(Client()).status_code] == [401, 401]
    refused = ask(guess)
    assert (refused.status_code, left(refused)[:2]) == (429, ("2", "0"))
    assert ask(Client(REMOTE_ADDR="203.0.113.9")).status_code == 401
    assert ask(program(make_user("reader"))).status_code == 200


def test_no_limit(settings: Any) -> None:
    settings.API_REQUESTS_PER_MINUTE = settings.API_VISITORS_PER_MINUTE = 0
    client = signed_in(make_user("reader"))
    responses = [ask(client) for _ in range(5)]
    assert {response.status_code for response in responses} == {200}
    assert "RateLimit-Limit" not in responses[0].headers


def test_a_cache_that_does_not_work_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError("No space left on device")

    for name in ("add", "incr", "get"):
        monkeypatch.setattr(cache, name, fail)
    client = signed_in(make_user("reader"))
    assert {ask(client).status_code for _ in range(5)} == {200}
