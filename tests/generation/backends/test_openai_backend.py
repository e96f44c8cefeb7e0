"""The backend ``openai`` against a small HTTP server that answers well, slowly, wrongly or not at all."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("openai", reason="openai is not installed (script/setup --models)")

from generation.backends import open_backend
from generation.backends.base import BackendError, Generated, ModelSpec, NotGenerated
from generation.decoding.decoders import parse_decoder
from tests.generation.support.tiny_models import request

Answering = Callable[["Server", dict[str, Any]], tuple[int, str]]
PIECES = (" It", " rained.", " Then", " it", " stopped.")


def completion(server: Server, asked: dict[str, Any]) -> tuple[int, str]:
    return answer(asked, PIECES[: asked["max_tokens"]])


def answer(
    asked: dict[str, Any], chosen: Sequence[str], *, finish: str = "length", text: str | None = None, n_tokens: int = 0
) -> tuple[int, str]:
    """What a server sends; ``chosen`` are the tokens it gives log-probabilities of: -0.5, -1, …"""
    logprobs = {"tokens": chosen, "token_logprobs": [-0.5 * (number + 1) for number in range(len(chosen))]}
    whole = "".join(chosen) if text is None else text
    choice = {"index": 0, "text": whole, "finish_reason": finish, "logprobs": logprobs}
    count = n_tokens or len(chosen)
    usage = {"prompt_tokens": len(asked["prompt"].split()), "completion_tokens": count, "total_tokens": 0}
    return 200, json.dumps(
        {"id": "1", "object": "text_completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    )


class Server:
    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.answering: Answering = completion
        self.owner, self.active, self.most_active = "somebody", 0, 0
        self.api: dict[str, Any] = {}
        self.location = ""
        self.facts: dict[str, Any] = {}
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                if self.path == "/openapi.json":
                    self.answer(200 if outer.api else 404, json.dumps(outer.api))
                    return
                model = {"id": "m", "object": "model", "created": 1, "owned_by": outer.owner} | outer.facts
                self.answer(200, json.dumps({"object": "list", "data": [model]}))

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
                if outer.location:
                    self.send_header("Location", outer.location)
                self.end_headers()
                with suppress(BrokenPipeError):  # whoever asked has given up
                    self.wfile.write(sent)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

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


def test_a_text_has_its_log_probability(server: Server) -> None:
    (made,) = opened(server).generate([request("One two three", seed=7, max_new_tokens=5)])
    assert (made.text, made.finish_reason, made.n_tokens, made.prompt_tokens) == ("".join(PIECES), "length", 5, 3)
    assert made.log_p == pytest.approx(-7.5)
    assert made.log_q == made.log_p  # nothing was truncated: both distributions are one
    assert server.asked[-1] | {"seed": 7, "temperature": 1.0, "top_p": 1.0, "logprobs": 1} == server.asked[-1]


@pytest.mark.parametrize(
    ("pieces", "finish", "n_tokens", "log_p"),
    [
        ((" It", " rained.", ""), "stop", 3, -3.0),  # the end has an empty piece
        ((" It", " rained.", "<end>"), "stop", 3, -3.0),  # or a mark of its own
        ((" It", " rained."), "stop", 2, None),  # or is not told
        ((" It", " rained."), "stop", 3, None),
        ((" It", " rained."), "length", 2, -1.5),
        ((" It", " rained."), "length", 4, None),  # two tokens are not told
    ],
)
def test_log_p_is_of_all_tokens_and_the_end_or_not_at_all(
    server: Server, pieces: Sequence[str], finish: str, n_tokens: int, log_p: float | None
) -> None:
    server.answering = lambda _, asked: answer(asked, pieces, finish=finish, text=" It rained.", n_tokens=n_tokens)
    (made,) = opened(server).generate([request(max_new_tokens=8)])
    assert made.log_p == (None if log_p is None else pytest.approx(log_p))


def test_a_missing_logarithm_gives_no_log_probability(server: Server) -> None:
    server.answering = lambda _, asked: (200, answer(asked, PIECES)[1].replace("-0.5", "-3.4028234663852886e+38"))
    (made,) = opened(server).generate([request(max_new_tokens=5)])
    assert (made.text, made.log_p) == ("".join(PIECES), None)


@pytest.mark.parametrize("status", [400, 500])
def test_a_server_that_gives_no_log_probabilities_is_asked_for_none(server: Server, status: int) -> None:
    def none(server: Server, asked: dict[str, Any]) -> tuple[int, str]:
        if "logprobs" in asked:
            time.sleep(0.1)  # so that several calls are refused at once
            return status, '{"error": {"message": "logprobs is not supported for models created with ..."}}'
        return answer(asked, (), text=" It rained.", n_tokens=2)

    server.answering = none
    backend = opened(server, retries=1)
    made = backend.generate([request(key=number, max_new_tokens=2) for number in range(4)])
    assert [each.text for each in made] == [" It rained."] * 4
    assert not backend.facts().gives_log_p
    n_asked = len(server.asked)
    (made,) = backend.generate([request(max_new_tokens=2)])
    assert (made.text, made.log_p, len(server.asked)) == (" It rained.", None, n_asked + 1)


@pytest.mark.parametrize(
    ("decoder", "log_p", "log_q"),
    [("ancestral", -1.5, -1.5), ("temperature=0.5", None, -1.5), ("top_p=0.9", None, -1.5), ("greedy", None, None)],
)
def test_a_server_that_processes_its_log_probabilities_gives_log_q(
    server: Server, decoder: str, log_p: float | None, log_q: float | None
) -> None:
    server.owner = "vllm"
    backend = opened(server, logprobs="processed")
    (made,) = backend.generate([request("It", decoder, max_new_tokens=2)])
    assert (made.log_p, made.log_q) == (log_p, log_q)
    assert (backend.facts().gives_log_p, backend.facts().gives_log_q) == (False, True)


def test_an_unknown_kind_of_log_probabilities_is_refused(server: Server) -> None:
    with pytest.raises(BackendError, match=r"The option logprobs is 'cooked'\. Use raw .* or processed"):
        opened(server, logprobs="cooked")


def test_log_q_is_not_made_up(server: Server) -> None:
    backend = opened(server)
    (made,) = backend.generate([request(decoder="top_p=0.9")])
    assert made.log_p is not None and made.log_q is None
    assert backend.facts().gives_log_p and not backend.facts().gives_log_q


def test_a_sentence_is_cut_and_its_tokens_counted(server: Server) -> None:
    (made,) = opened(server).generate([request(max_new_tokens=5, stop="sentence")])
    assert (made.text, made.finish_reason, made.n_tokens) == (" It rained.", "sentence", 2)
    assert made.log_p == pytest.approx(-1.5)


def test_calls_are_made_in_parallel_but_not_all_at_once(server: Server) -> None:
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
def test_each_kind_of_server_gets_requests_in_its_own_format(
    server: Server, owner: str, decoder: str, sent: dict[str, Any]
) -> None:
    server.owner = owner
    opened(server).generate([request(decoder=decoder)])
    assert server.asked[-1] | sent == server.asked[-1]


TRANSFORMERS = {"info": {"title": "FastAPI"}, "paths": {"/load_model": {}, "/v1/chat/completions": {}}}
LLAMA_CPP_PYTHON = {"info": {"title": "🦙 llama.cpp Python API"}, "paths": {"/v1/chat/completions": {}}}


@pytest.mark.parametrize(
    ("decoder", "limits", "told"),
    [
        ("greedy", {}, {"do_sample": False, "num_beams": 1, "min_new_tokens": 0}),
        ("beam=4", {"exact": 12}, {"do_sample": False, "num_beams": 4, "min_new_tokens": 12, "max_new_tokens": 12}),
        ("ancestral", {}, {"do_sample": True, "top_k": 0, "typical_p": 1.0, "repetition_penalty": 1.0}),
        ("typical=0.3", {"min_words": 5}, {"do_sample": True, "typical_p": 0.3, "min_new_tokens": 5}),
    ],
)
def test_transformers_serve_is_asked_to_sample(
    server: Server, decoder: str, limits: dict[str, Any], told: dict[str, Any]
) -> None:
    server.api = TRANSFORMERS
    backend = opened(server, model="not/listed")
    backend.generate([request(decoder=decoder, **limits)])
    config = json.loads(server.asked[-1]["generation_config"])
    assert config | told == config
    assert backend.concurrency == 1


def test_llama_cpp_python_gets_only_parameters_that_it_supports(server: Server) -> None:
    server.api = LLAMA_CPP_PYTHON
    backend = opened(server)
    backend.generate([request(decoder="temperature=0.5,top_k=9", min_new_tokens=3)])
    told = {"top_k": 9, "min_p": 0.0, "repeat_penalty": 1.0, "temperature": 0.5, "min_tokens": 3}
    assert server.asked[-1] | told == server.asked[-1]
    assert "typical" in backend.refusal(parse_decoder("typical=0.5"))
    assert "after top_p" in backend.refusal(parse_decoder("temperature=0.5,top_p=0.9"))
    assert backend.refusal(parse_decoder("top_p=0.9")) == ""
    with pytest.raises(BackendError, match="concurrency is 4; a server of kind llama_cpp_python writes one"):
        opened(server, concurrency=4)


def test_the_server_reports_facts_of_its_model(server: Server) -> None:
    server.owner, server.facts = "llamacpp", {"meta": {"n_ctx": 256, "n_params": 134515008, "n_vocab": 49152}}
    facts = opened(server).facts()
    assert (facts.context_length, facts.parameters, facts.vocabulary) == (256, 134515008, 49152)
    server.owner, server.facts = "vllm", {"max_model_len": 512}
    assert opened(server).facts().context_length == 512
    assert opened(server, context=100).facts().context_length == 100


def test_a_server_that_ignores_the_wanted_length_is_found_out(server: Server) -> None:
    server.owner = "vllm"
    server.answering = lambda _, asked: answer(asked, (" It", " rained.", ""), finish="stop")
    exact, least = opened(server).generate([request(exact=30), request(min_new_tokens=5)])
    assert isinstance(exact, NotGenerated) and "wrote 3 tokens and not exactly 30" in exact.reason
    assert isinstance(least, NotGenerated) and "wrote 3 tokens and not at least 5" in least.reason


def test_a_text_that_ended_before_its_words_is_asked_for_without_an_end(server: Server) -> None:
    def short(server: Server, asked: dict[str, Any]) -> tuple[int, str]:
        return completion(server, asked) if asked.get("ignore_eos") else answer(asked, (" It", ""), finish="stop")

    server.owner, server.answering = "llamacpp", short
    (made,) = opened(server).generate([request(max_new_tokens=5, stop="sentence", min_words=2)])
    assert (made.text, made.finish_reason, made.log_q) == (" It rained.", "sentence", None)
    server.owner = "somebody"
    (made,) = opened(server).generate([request(max_new_tokens=5, stop="sentence", min_words=2)])
    assert (made.text, made.finish_reason) == (" It", "end")  # the API has no words for it


@pytest.mark.parametrize(
    ("owner", "decoder", "limits", "why"),
    [
        ("somebody", "top_k=40", {}, "does not support top_k. It supports greedy, ancestral, temperature, top_p"),
        ("vllm", "typical=0.5", {}, "does not support typical"),
        ("llamacpp", "beam=4", {}, "does not support beam"),
        ("somebody", "ancestral", {"exact": 30}, "exactly 30 tokens"),
        ("llamacpp", "ancestral", {"min_new_tokens": 5}, "at least 5 tokens"),
    ],
)
def test_an_unsupported_request_is_refused_before_the_server_is_asked(
    server: Server, owner: str, decoder: str, limits: dict[str, Any], why: str
) -> None:
    server.owner = owner
    (refused,) = opened(server).generate([request(decoder=decoder, **limits)])
    assert isinstance(refused, NotGenerated) and why in refused.reason
    assert not server.asked


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
    with pytest.raises(BackendError, match="did not respond within 1 s, 2 times"):
        backend.generate([request()])


def test_no_server_at_all() -> None:
    with pytest.raises(BackendError, match="cannot be reached"):
        open_backend(ModelSpec("openai", "m", base_url="http://127.0.0.1:9/v1", options=(("retries", 1),)))
    with pytest.raises(BackendError, match="base_url is ''"):
        open_backend(ModelSpec("openai", "m"))


def test_a_model_that_the_server_does_not_have_is_refused(server: Server) -> None:
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
    assert isinstance(refused, NotGenerated) and "maximum context length" in refused.reason


@pytest.mark.parametrize("facts", [{}, {"max_model_len": 60}])
def test_a_prompt_that_leaves_no_room_is_cut_too(server: Server, facts: dict[str, Any]) -> None:
    """A server may take a prompt that fills its context, and write a token or two."""

    def full(server: Server, asked: dict[str, Any]) -> tuple[int, str]:
        room = 60 - len(asked["prompt"].split())
        if room < 1:
            return 400, '{"error": {"message": "maximum context length"}}'
        return answer(asked, (" a",) * min(room, asked["max_tokens"]))

    server.answering, server.facts = full, facts
    made, short = opened(server).generate(
        [request("word " * 58, max_new_tokens=20), request("word " * 58, max_new_tokens=20, cut_left=False)]
    )
    assert (made.n_tokens, short.n_tokens) == (20, 2)
    assert 35 <= made.prompt_tokens <= 40 and made.cut_tokens >= 18


def test_in_an_engine_one_bad_call_does_not_end_the_others(server: Server) -> None:
    def sometimes(server: Server, asked: dict[str, Any]) -> tuple[int, str]:
        return (500, "{}") if asked["seed"] == 2 else completion(server, asked)

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
    engine.cancel(2)
    done = {}
    while engine.n_active or engine.n_waiting:
        done.update(engine.step())
    assert set(done) == {0, 1}
