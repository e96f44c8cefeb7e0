"""Several servers of one model: shares, a server that fails and comes back, servers that are not alike."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from generation.backends import open_backend, openai_pool
from generation.backends.addresses import Address, AddressError, read_addresses
from generation.backends.base import BackendError, Generated, ModelSpec, Request, ServerAway
from generation.decoding.decoders import Decoder, Limits
from generation.models import Sample
from generation.runs.run_worker import work_on
from tests.generation.support.openai_server import Server, completion
from tests.generation.support.run_factories import make_model, make_run
from tests.services import PATIENCE_SECONDS


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Server]]:
    servers = [Server(), Server(), Server()]
    monkeypatch.setattr(openai_pool, "SHORTEST_PAUSE", 0.2)
    yield servers
    for server in servers:
        server.close()


def addresses(servers: list[Server], weights: tuple[int, ...] = (1, 1, 1)) -> str:
    return ", ".join(f"{server.url}*{weight}" for server, weight in zip(servers, weights, strict=True))


def opened(servers: list[Server], weights: tuple[int, ...] = (1, 1, 1), **options: Any) -> Any:
    settings = {"retries": 1, "timeout": 5, "concurrency": 2} | options
    return open_backend(ModelSpec("openai", "m", base_url=addresses(servers, weights), options=tuple(settings.items())))


def requests(count: int) -> list[Request]:
    return [
        Request(number, f"Text {number}", Decoder(), Limits(max_new_tokens=3), seed=number) for number in range(count)
    ]


def slow(server: Server, body: dict[str, Any]) -> tuple[int, str]:
    time.sleep(0.02)
    return completion(server, body)


def broken(server: Server, body: dict[str, Any]) -> tuple[int, str]:
    return 503, '{"message": "overloaded"}'


def asked(servers: list[Server]) -> list[int]:
    return [len(server.asked) for server in servers]


def test_requests_are_shared_by_weight(three: list[Server]) -> None:
    """Nobody answers before 12 requests wait at once: all that may, with 2 per weight."""
    full = threading.Barrier(12)

    def answer_together(server: Server, body: dict[str, Any]) -> tuple[int, str]:
        full.wait(PATIENCE_SECONDS)
        return completion(server, body)

    for server in three:
        server.answering = answer_together
    backend = opened(three, (1, 1, 4), timeout=round(PATIENCE_SECONDS))
    outcomes = backend.generate(requests(120))
    assert all(isinstance(outcome, Generated) for outcome in outcomes)
    assert [server.most_active for server in three] == [2, 2, 8]
    assert asked(three) == [20, 20, 80]
    backend.close()


def test_what_a_broken_server_was_asked_goes_to_another_and_it_is_left_alone(three: list[Server]) -> None:
    three[0].answering = broken
    backend = opened(three)
    outcomes = backend.generate(requests(60))
    assert [outcome.text for outcome in outcomes] == [" It rained. Then"] * 60
    assert len(three[0].asked) <= 2 + 1  # those that it had when it first failed, and perhaps one trial
    backend.close()


def test_a_server_that_is_well_again_gets_its_share(three: list[Server]) -> None:
    three[0].answering = broken
    backend = opened(three)
    backend.generate(requests(12))
    for server in three:
        server.answering = slow
    before = len(three[0].asked)
    time.sleep(0.5)
    backend.generate(requests(60))
    assert len(three[0].asked) - before > 5
    backend.close()


def test_a_server_that_comes_back_with_another_model_gets_nothing(three: list[Server]) -> None:
    three[0].answering = broken
    backend = opened(three)
    backend.generate(requests(12))
    three[0].answering, three[0].facts = completion, {"id": "other"}
    before = len(three[0].asked)
    time.sleep(0.5)
    backend.generate(requests(30))
    assert len(three[0].asked) == before
    backend.close()


def test_all_servers_away(three: list[Server]) -> None:
    backend = opened(three)
    for server in three:
        server.answering = broken
    with pytest.raises(ServerAway):
        backend.generate(requests(8))
    with pytest.raises(
        ServerAway, match=r"None of the 3 servers can answer.*overloaded.*overloaded.*overloaded"
    ) as away:
        backend.generate(requests(1))
    assert 0 < away.value.pause <= 1
    backend.close()


def test_it_opens_while_one_is_away_and_not_while_all_are(three: list[Server]) -> None:
    three[1].close()
    backend = opened(three)
    assert len(backend.generate(requests(9))) == 9
    backend.close()
    three[0].close()
    three[2].close()
    with pytest.raises(ServerAway, match=r"None of the 3 servers can answer\. .*cannot be reached"):
        opened(three)


def test_servers_that_are_not_alike_are_refused(three: list[Server]) -> None:
    three[0].facts, three[1].facts, three[2].facts = ({"max_model_len": length} for length in (4096, 4096, 2048))
    with pytest.raises(BackendError, match=r"must be alike.*4096 tokens.*2048\. Start them in the same way"):
        opened(three)


@pytest.mark.django_db(transaction=True)
def test_a_run_on_three_servers_of_which_one_is_killed(three: list[Server], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generation.runs.run_worker.runnable", lambda: ("openai",))
    killed = threading.Event()

    def dies(server: Server, body: dict[str, Any]) -> tuple[int, str]:
        if len(server.asked) == 20:
            killed.set()
            threading.Thread(target=server.close).start()
        return slow(server, body)

    three[0].answering = dies
    for server in three[1:]:
        server.answering = slow
    options = {"retries": 2, "timeout": 5, "concurrency": 4}
    make_model(name="served", backend="openai", source="m", base_url=addresses(three), options=options)
    run = make_run(models=["served"], samples=40, limits={"max_new_tokens": 3}, chunk_size=16)
    work_on(run_id=run.pk, worker="node")
    run.refresh_from_db()
    assert killed.is_set()
    assert run.state == "done"
    places = Counter(Sample.objects.filter(run=run).values_list("context__external_id", "decoder", "number"))
    assert len(places) == run.n_wanted == 3 * 2 * 40
    assert set(places.values()) == {1}
    assert min(asked(three)[1:]) > 60


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The address is missing"),
        ("http://a/v1, ftp://b/v1", "Number 2 of the addresses is not"),
        ("http://a/v1,,http://b/v1", "Number 2 of the addresses is not"),
        ("http://a/v1*0, http://b/v1", "The weight of http://a/v1 is 0; use 1 to 100"),
        ("http://a/v1, http://a/v1/*2", "http://a/v1 is there twice"),
        (",".join(f"http://{number}/v1" for number in range(65)), "There are 65 addresses; use at most 64"),
    ],
)
def test_addresses_that_cannot_be_used(text: str, message: str) -> None:
    with pytest.raises(AddressError, match=message):
        read_addresses(text)


def test_addresses_with_weights() -> None:
    read = read_addresses("http://a:1/v1/ * 3, https://[::1]:8000/v1")
    assert read == [Address("http://a:1/v1", 3), Address("https://[::1]:8000/v1", 1)]
