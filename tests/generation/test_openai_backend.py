"""The backend ``openai`` against a small HTTP server that answers well, slowly, wrongly or not at all."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("openai", reason="openai is not installed (script/setup --models)")

from generation.backends import open_backend
from generation.backends.base import BackendError, Generated, ModelSpec, Refused
from tests.generation.tiny import request

Answering = Callable[["Server", dict[str, Any]], tuple[int, str]]
PIECES = (" It", " rained.", " Then", " it", " stopped.")


def completion(server: Server, asked: dict[str, Any]) -> tuple[int, str]:
    chosen = PIECES[: asked["max_tokens"]]
    logprobs = {"tokens": chosen, "token_logprobs": [-0.5 * (number + 1) for number in range(len(chosen))]}
    choice = {"index": 0, "text": "".join(chosen), "finish_reason": "length", "logprobs": logprobs}
    usage = {"prompt_tokens": len(asked["prompt"].split()), "completion_tokens": len(chosen), "total_tokens": 0}
    return 200, json.dumps(
        {"id": "1", "object": "text_completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    )


class Server:
    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.answering: Answering = completion
        self.owner, self.active, self.most_active = "somebody", 0, 0
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                models = {
                    "object": "list",
                    "data": [{"id": "m", "object": "model", "created": 1, "owned_by": outer.owner}],
                }
                self.answer(200, json.dumps(models))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.keys.append(self.headers.get("Authorization", ""))
                with outer.lock:
                    outer.asked.append(body)
                    outer.active += 1
                    outer.most_active = max(outer.most_active, outer.active)
                try:
                    self.answer(*outer.answering(outer, body))
                finally:
                    with outer.lock:
                        outer.active -= 1

            def answer(self, status: int, text: str) -> None:
                sent = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/html" if text.startswith("<") else "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


def opened(server: Server, *, model: str = "m", key_variable: str = "", **options: Any) -> Any:
    given = {"retries": 1, "timeout": 5} | options
    return open_backend(
        ModelSpec("openai", model, base_url=server.url, key_variable=key_variable, options=tuple(given.items()))
    )


def test_a_text_with_its_log_probability(server: Server) -> None:
    (made,) = opened(server).generate([request("One two three", seed=7, max_new_tokens=5)])
    assert (made.text, made.finish_reason, made.n_tokens, made.prompt_tokens) == ("".join(PIECES), "length", 5, 3)
    assert made.log_p == pytest.approx(-7.5)
    assert made.log_q == made.log_p  # nothing was truncated: both distributions are one
    assert server.asked[-1] | {"seed": 7, "temperature": 1.0, "top_p": 1.0, "logprobs": 1} == server.asked[-1]


def test_log_q_is_not_made_up(server: Server) -> None:
    backend = opened(server)
    (made,) = backend.generate([request(decoder="top_p=0.9")])
    assert made.log_p is not None and made.log_q is None
    assert backend.facts().gives_log_p and not backend.facts().gives_log_q


def test_a_sentence_is_cut_and_its_tokens_counted(server: Server) -> None:
    (made,) = opened(server).generate([request(max_new_tokens=5, stop="sentence")])
    assert (made.text, made.finish_reason, made.n_tokens) == (" It rained.", "sentence", 2)
    assert made.log_p == pytest.approx(-1.5)


def test_calls_go_out_together_but_not_all(server: Server) -> None:
    def slow(server: Server, asked: dict[str, Any]) -> tuple[int, str]:
        time.sleep(0.1)
        return completion(server, asked)

    server.answering = slow
    outcomes = opened(server, concurrency=4).generate([request(key=number) for number in range(12)])
    assert len(outcomes) == 12 and 2 <= server.most_active <= 4


@pytest.mark.parametrize(
    ("owner", "decoder", "sent"),
    [
        ("somebody", "greedy", {"temperature": 0.0}),
        ("somebody", "temperature=0.7,top_p=0.9", {"temperature": 0.7, "top_p": 0.9}),
        ("vllm", "top_k=40", {"top_k": 40, "min_p": 0.0, "repetition_penalty": 1.0}),
        ("vllm", "ancestral", {"top_k": 0, "top_p": 1.0}),
        ("llamacpp", "typical=0.3", {"typical_p": 0.3, "top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0}),
        ("llamacpp", "temperature=0.5,top_k=9", {"samplers": ["temperature", "top_k", "typ_p", "top_p"]}),
    ],
)
def test_each_kind_of_server_is_told_in_its_own_words(
    server: Server, owner: str, decoder: str, sent: dict[str, Any]
) -> None:
    server.owner = owner
    opened(server).generate([request(decoder=decoder)])
    assert server.asked[-1] | sent == server.asked[-1]


@pytest.mark.parametrize(
    ("owner", "decoder", "limits", "why"),
    [
        ("somebody", "top_k=40", {}, "cannot draw with top_k; it can: greedy, ancestral, temperature, top_p"),
        ("vllm", "typical=0.5", {}, "cannot draw with typical"),
        ("llamacpp", "beam=4", {}, "cannot draw with beam"),
        ("somebody", "ancestral", {"exact": 30}, "exactly 30 tokens"),
        ("llamacpp", "ancestral", {"min_new_tokens": 5}, "at least 5 tokens"),
    ],
)
def test_what_a_server_cannot_do_is_refused_before_it_is_asked(
    server: Server, owner: str, decoder: str, limits: dict[str, Any], why: str
) -> None:
    server.owner = owner
    (refused,) = opened(server).generate([request(decoder=decoder, **limits)])
    assert isinstance(refused, Refused) and why in refused.reason
    assert not server.asked


def test_the_key_comes_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAB_KEY", raising=False)
    with pytest.raises(BackendError, match="LAB_KEY, which holds the server's key, is not set"):
        opened(server, key_variable="LAB_KEY")
    monkeypatch.setenv("LAB_KEY", "s3cret")
    backend = opened(server, key_variable="LAB_KEY")
    backend.generate([request()])
    assert server.keys[-1] == "Bearer s3cret"
    assert "s3cret" not in repr(backend.spec)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((500, '{"error": {"message": "boom"}}'), "answered 500 2 times: boom"),
        ((503, "<html><body>down</body></html>"), "answered 503 2 times: a page of HTML"),
        ((429, '{"error": {"message": "slow down"}}'), "answered 429 2 times: slow down"),
        ((200, "<html>welcome</html>"), "without a text"),
        ((200, '{"choices": [{"te'), "cannot be read"),
        ((200, "{}"), "without a text"),
        ((200, '{"choices": []}'), "without a text"),
        ((200, '{"choices": [{"text": null}]}'), "without a text"),
        ((401, '{"error": {"message": "no such key"}}'), "does not accept the key"),
        ((404, '{"error": {"message": "gone"}}'), "knows no model 'm'"),
    ],
)
def test_wrong_answers_are_told_plainly(server: Server, answer: tuple[int, str], why: str) -> None:
    backend = opened(server)
    server.answering = lambda server, asked: answer
    with pytest.raises(BackendError) as caught:
        backend.generate([request()])
    assert why in str(caught.value)


def test_a_server_that_recovers_is_asked_again(server: Server) -> None:
    def second_time(server: Server, asked: dict[str, Any]) -> tuple[int, str]:
        return (500, "{}") if len(server.asked) < 2 else completion(server, asked)

    server.answering = second_time
    (made,) = opened(server).generate([request()])
    assert isinstance(made, Generated) and len(server.asked) == 2


def test_a_server_that_is_too_slow(server: Server) -> None:
    def asleep(server: Server, asked: dict[str, Any]) -> tuple[int, str]:
        time.sleep(3)
        return completion(server, asked)

    backend = opened(server, timeout=1)
    server.answering = asleep
    with pytest.raises(BackendError, match="did not answer within 1 s, 2 times over"):
        backend.generate([request()])


def test_no_server_at_all() -> None:
    with pytest.raises(BackendError, match="cannot be reached"):
        open_backend(ModelSpec("openai", "m", base_url="http://127.0.0.1:9/v1", options=(("retries", 1),)))
    with pytest.raises(BackendError, match="base_url is ''"):
        open_backend(ModelSpec("openai", "m"))


def test_a_model_the_server_does_not_have(server: Server) -> None:
    with pytest.raises(BackendError, match="has no model 'gpt-9'; it has m"):
        opened(server, model="gpt-9")


def test_a_prompt_that_is_too_long_is_cut_until_it_fits(server: Server) -> None:
    def small(server: Server, asked: dict[str, Any]) -> tuple[int, str]:
        if len(asked["prompt"]) > 100:
            return 400, '{"error": {"message": "This model\'s maximum context length is 20 tokens."}}'
        return completion(server, asked)

    server.answering = small
    prompt = "Keep this. " + "word " * 100
    made, refused = opened(server).generate([request(prompt, keep=11), request(prompt, cut_left=False)])
    assert isinstance(made, Generated) and made.cut_tokens > 50
    assert any(each["prompt"].startswith("Keep this. ") and len(each["prompt"]) <= 100 for each in server.asked)
    assert isinstance(refused, Refused) and "maximum context length" in refused.reason


def test_in_an_engine_one_bad_call_does_not_end_the_others(server: Server) -> None:
    def sometimes(server: Server, asked: dict[str, Any]) -> tuple[int, str]:
        return (500, "{}") if asked["seed"] == 2 else completion(server, asked)

    server.answering = sometimes
    engine = opened(server).open_engine(most_active=4)
    engine.add([request(key=seed, seed=seed) for seed in (1, 2, 3)])
    done = {}
    while engine.n_active or engine.n_waiting:
        done.update(engine.step())
    assert isinstance(done[2], Refused)
    assert isinstance(done[1], Generated) and isinstance(done[3], Generated)


def test_a_cancelled_call_does_not_come_back(server: Server) -> None:
    engine = opened(server).open_engine(most_active=1)
    engine.add([request(key=number) for number in range(3)])
    engine.cancel(2)
    done = {}
    while engine.n_active or engine.n_waiting:
        done.update(engine.step())
    assert set(done) == {0, 1}
