"""The backend ``openai``: keys and addresses, servers that fail, and prompts that are too long."""

from __future__ import annotations

import time
from typing import Any

import pytest

pytest.importorskip("openai", reason="openai is not installed (script/setup --models)")

from generation.backends import open_backend
from generation.backends.base import BackendError, Generated, ModelSpec, NotGenerated
from tests.generation.support.openai_server import Server, answer, completion, opened
from tests.generation.support.tiny_models import request

LAB_KEY = "HITSERVER_MODEL_KEY_LAB"


@pytest.mark.parametrize("name", ["HITSERVER_SECRET_KEY", "PATH", "HITSERVER_MODEL_KEY_"])
def test_no_other_variable_is_sent_to_a_server(server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "s3cret")
    with pytest.raises(BackendError, match="names a variable that may not hold a key"):
        opened(server, key_variable=name)
    assert not server.keys


def test_a_server_that_is_not_listed_gets_nothing(server: Server, settings: Any) -> None:
    settings.MODEL_SERVERS = ["gpu-1.lab", "127.0.0.1:1"]
    with pytest.raises(BackendError, match=r"HITSERVER_MODEL_SERVERS=gpu-1.lab,127.0.0.1:1,127.0.0.1 and start"):
        opened(server)
    assert not server.keys


def test_a_redirect_is_not_followed(server: Server) -> None:
    elsewhere = Server()
    try:
        backend = opened(server, retries=1)
        server.answering = lambda *_: (307, "")
        server.location = f"{elsewhere.url}/completions"
        with pytest.raises(BackendError, match="responded with 307"):
            backend.generate([request()])
        assert not elsewhere.asked
    finally:
        elsewhere.close()


def test_the_key_comes_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LAB_KEY, raising=False)
    with pytest.raises(BackendError, match=f"{LAB_KEY}, which holds the server's key, is not set"):
        opened(server, key_variable=LAB_KEY)
    monkeypatch.setenv(LAB_KEY, "s3cret")
    backend = opened(server, key_variable=LAB_KEY)
    backend.generate([request()])
    assert server.keys[-1] == "Bearer s3cret"
    assert "s3cret" not in repr(backend.spec)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((500, '{"error": {"message": "boom"}}'), "responded with 500 2 times: boom"),
        ((503, "<html><body>down</body></html>"), "responded with 503 2 times: a page of HTML"),
        ((429, '{"error": {"message": "slow down"}}'), "responded with 429 2 times: slow down"),
        ((200, "<html>welcome</html>"), "without a text"),
        ((200, '{"choices": [{"te'), "cannot be read"),
        ((200, "{}"), "without a text"),
        ((200, '{"choices": []}'), "without a text"),
        ((200, '{"choices": [{"text": null}]}'), "without a text"),
        ((401, '{"error": {"message": "no such key"}}'), "does not accept the key"),
        ((404, '{"error": {"message": "gone"}}'), "has no model 'm'"),
        ((403, '{"detail": "no entry"}'), "does not accept the key (no variable is named for it): no entry"),
        ((503, '{"error": "the worker is dead"}'), "responded with 503 2 times: the worker is dead"),
    ],
)
def test_wrong_responses_are_reported_plainly(server: Server, answer: tuple[int, str], why: str) -> None:
    backend = opened(server)
    server.answering = lambda server, body: answer
    with pytest.raises(BackendError) as caught:
        backend.generate([request()])
    assert why in str(caught.value)


def test_a_server_that_recovers_is_asked_again(server: Server) -> None:
    def second_time(server: Server, body: dict[str, Any]) -> tuple[int, str]:
        return (500, "{}") if len(server.asked) < 2 else completion(server, body)

    server.answering = second_time
    (outcome,) = opened(server).generate([request()])
    assert isinstance(outcome, Generated) and len(server.asked) == 2


def test_a_server_that_is_too_slow(server: Server) -> None:
    def asleep(server: Server, body: dict[str, Any]) -> tuple[int, str]:
        time.sleep(3)
        return completion(server, body)

    backend = opened(server, timeout=1)
    server.answering = asleep
    with pytest.raises(BackendError, match="did not respond within 1 s, 2 times"):
        backend.generate([request()])


def test_no_server_at_all() -> None:
    with pytest.raises(BackendError, match="cannot be reached"):
        open_backend(ModelSpec("openai", "m", base_url="http://127.0.0.1:9/v1", options=(("retries", 1),)))
    with pytest.raises(BackendError, match="The address is missing"):
        open_backend(ModelSpec("openai", "m"))


def test_a_model_that_the_server_does_not_have_is_refused(server: Server) -> None:
    with pytest.raises(BackendError, match="has no model 'gpt-9'; it has m"):
        opened(server, model="gpt-9")


def test_a_prompt_that_is_too_long_is_cut_until_it_fits(server: Server) -> None:
    def small(server: Server, body: dict[str, Any]) -> tuple[int, str]:
        if len(body["prompt"]) > 100:
            return 400, '{"error": {"message": "This model\'s maximum context length is 20 tokens."}}'
        return completion(server, body)

    server.answering = small
    prompt = "Keep this. " + "word " * 100
    outcome, refused = opened(server).generate([request(prompt, keep=11), request(prompt, cut_left=False)])
    assert isinstance(outcome, Generated) and outcome.cut_tokens > 50
    assert any(body["prompt"].startswith("Keep this. ") and len(body["prompt"]) <= 100 for body in server.asked)
    assert isinstance(refused, NotGenerated) and "maximum context length" in refused.reason


@pytest.mark.parametrize("facts", [{}, {"max_model_len": 60}])
def test_a_prompt_that_leaves_no_room_is_cut_too(server: Server, facts: dict[str, Any]) -> None:
    """A server may take a prompt that fills its context, and write a token or two."""

    def full(server: Server, body: dict[str, Any]) -> tuple[int, str]:
        room = 60 - len(body["prompt"].split())
        if room < 1:
            return 400, '{"error": {"message": "maximum context length"}}'
        return answer(body, (" a",) * min(room, body["max_tokens"]))

    server.answering, server.facts = full, facts
    outcome, short = opened(server).generate(
        [request("word " * 58, max_new_tokens=20), request("word " * 58, max_new_tokens=20, cut_left=False)]
    )
    assert (outcome.n_tokens, short.n_tokens) == (20, 2)
    assert 35 <= outcome.prompt_tokens <= 40 and outcome.cut_tokens >= 18


def test_in_an_engine_one_bad_call_does_not_end_the_others(server: Server) -> None:
    def sometimes(server: Server, body: dict[str, Any]) -> tuple[int, str]:
        return (500, "{}") if body["seed"] == 2 else completion(server, body)

    server.answering = sometimes
    engine = opened(server).open_engine(most_active=4)
    engine.add([request(key=seed, seed=seed) for seed in (1, 2, 3)])
    done = {}
    while engine.n_active or engine.n_waiting:
        done.update(engine.step())
    assert isinstance(done[2], NotGenerated)
    assert isinstance(done[1], Generated) and isinstance(done[3], Generated)


def test_a_cancelled_call_does_not_come_back(server: Server) -> None:
    engine = opened(server).open_engine(most_active=1)
    engine.add([request(key=number) for number in range(3)])
    assert 2 in engine.unbegun
    engine.cancel(2)
    assert 2 not in engine.unbegun
    done = {}
    while engine.n_active or engine.n_waiting:
        done.update(engine.step())
    assert set(done) == {0, 1}
