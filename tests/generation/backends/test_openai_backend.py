"""The backend ``openai``: what it asks a server for, and what it makes of the answers."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("openai", reason="openai is not installed (script/setup --models)")

from generation.backends.base import BackendError, NotGenerated
from generation.decoding.decoders import parse_decoder
from tests.generation.support.openai_server import PIECES, Server, answer, completion, opened
from tests.generation.support.tiny_models import request


def test_a_text_has_its_log_probability(server: Server) -> None:
    (outcome,) = opened(server).generate([request("One two three", seed=7, max_new_tokens=5)])
    assert (outcome.text, outcome.finish_reason, outcome.n_tokens, outcome.prompt_tokens) == (
        "".join(PIECES),
        "length",
        5,
        3,
    )
    assert outcome.log_p == pytest.approx(-7.5)
    assert outcome.log_q == outcome.log_p  # nothing was truncated: both distributions are one
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
    server.answering = lambda _, body: answer(body, pieces, finish=finish, text=" It rained.", n_tokens=n_tokens)
    (outcome,) = opened(server).generate([request(max_new_tokens=8)])
    assert outcome.log_p == (None if log_p is None else pytest.approx(log_p))


def test_a_missing_logarithm_gives_no_log_probability(server: Server) -> None:
    server.answering = lambda _, body: (200, answer(body, PIECES)[1].replace("-0.5", "-3.4028234663852886e+38"))
    (outcome,) = opened(server).generate([request(max_new_tokens=5)])
    assert (outcome.text, outcome.log_p) == ("".join(PIECES), None)


@pytest.mark.parametrize("status", [400, 500])
def test_a_server_that_gives_no_log_probabilities_is_asked_for_none(server: Server, status: int) -> None:
    def none(server: Server, body: dict[str, Any]) -> tuple[int, str]:
        if "logprobs" in body:
            time.sleep(0.1)  # so that several calls are refused at once
            return status, '{"error": {"message": "logprobs is not supported for models created with ..."}}'
        return answer(body, (), text=" It rained.", n_tokens=2)

    server.answering = none
    backend = opened(server, retries=1)
    outcome = backend.generate([request(key=number, max_new_tokens=2) for number in range(4)])
    assert [outcome.text for outcome in outcome] == [" It rained."] * 4
    assert not backend.facts().gives_log_p
    n_asked = len(server.asked)
    (outcome,) = backend.generate([request(max_new_tokens=2)])
    assert (outcome.text, outcome.log_p, len(server.asked)) == (" It rained.", None, n_asked + 1)


@pytest.mark.parametrize(
    ("decoder", "log_p", "log_q"),
    [("ancestral", -1.5, -1.5), ("temperature=0.5", None, -1.5), ("top_p=0.9", None, -1.5), ("greedy", None, None)],
)
def test_a_server_that_processes_its_log_probabilities_gives_log_q(
    server: Server, decoder: str, log_p: float | None, log_q: float | None
) -> None:
    server.owner = "vllm"
    backend = opened(server, logprobs="processed")
    (outcome,) = backend.generate([request("It", decoder, max_new_tokens=2)])
    assert (outcome.log_p, outcome.log_q) == (log_p, log_q)
    assert (backend.facts().gives_log_p, backend.facts().gives_log_q) == (False, True)


def test_an_unknown_kind_of_log_probabilities_is_refused(server: Server) -> None:
    with pytest.raises(BackendError, match=r"The option logprobs is 'cooked'\. Use raw .* or processed"):
        opened(server, logprobs="cooked")


def test_log_q_is_not_made_up(server: Server) -> None:
    backend = opened(server)
    (outcome,) = backend.generate([request(decoder="top_p=0.9")])
    assert outcome.log_p is not None and outcome.log_q is None
    assert backend.facts().gives_log_p and not backend.facts().gives_log_q


def test_a_sentence_is_cut_and_its_tokens_counted(server: Server) -> None:
    (outcome,) = opened(server).generate([request(max_new_tokens=5, stop="sentence")])
    assert (outcome.text, outcome.finish_reason, outcome.n_tokens) == (" It rained.", "sentence", 2)
    assert outcome.log_p == pytest.approx(-1.5)


def test_calls_are_made_in_parallel_but_not_all_at_once(server: Server) -> None:
    def slow(server: Server, body: dict[str, Any]) -> tuple[int, str]:
        time.sleep(0.1)
        return completion(server, body)

    server.answering = slow
    outcomes = opened(server, concurrency=4).generate([request(key=number) for number in range(12)])
    assert len(outcomes) == 12 and 2 <= server.most_active <= 4


@pytest.mark.parametrize(
    ("owner", "decoder", "parameters"),
    [
        ("somebody", "greedy", {"temperature": 0.0}),
        ("somebody", "temperature=0.7,top_p=0.9", {"temperature": 0.7, "top_p": 0.9}),
        ("vllm", "top_k=40", {"top_k": 40, "min_p": 0.0, "repetition_penalty": 1.0}),
        ("vllm", "ancestral", {"top_k": 0, "top_p": 1.0}),
        ("vllm", "min_p=0.1,repetition_penalty=1.2", {"min_p": 0.1, "repetition_penalty": 1.2}),
        ("llamacpp", "min_p=0.1", {"min_p": 0.1, "repeat_penalty": 1.0}),
        ("llamacpp", "typical=0.3", {"typical_p": 0.3, "top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0}),
        ("llamacpp", "temperature=0.5,top_k=9", {"samplers": ["temperature", "top_k", "typ_p", "top_p", "min_p"]}),
    ],
)
def test_each_kind_of_server_gets_requests_in_its_own_format(
    server: Server, owner: str, decoder: str, parameters: dict[str, Any]
) -> None:
    server.owner = owner
    opened(server).generate([request(decoder=decoder)])
    assert server.asked[-1] | parameters == server.asked[-1]


TRANSFORMERS = {"info": {"title": "FastAPI"}, "paths": {"/load_model": {}, "/v1/chat/completions": {}}}
LLAMA_CPP_PYTHON = {"info": {"title": "🦙 llama.cpp Python API"}, "paths": {"/v1/chat/completions": {}}}


@pytest.mark.parametrize(
    ("decoder", "limits", "parameters"),
    [
        ("greedy", {}, {"do_sample": False, "num_beams": 1, "min_new_tokens": 0}),
        ("beam=4", {"exact": 12}, {"do_sample": False, "num_beams": 4, "min_new_tokens": 12, "max_new_tokens": 12}),
        ("ancestral", {}, {"do_sample": True, "top_k": 0, "typical_p": 1.0, "repetition_penalty": 1.0}),
        ("typical=0.3", {"min_words": 5}, {"do_sample": True, "typical_p": 0.3, "min_new_tokens": 5}),
    ],
)
def test_transformers_serve_is_asked_to_sample(
    server: Server, decoder: str, limits: dict[str, Any], parameters: dict[str, Any]
) -> None:
    server.api = TRANSFORMERS
    backend = opened(server, model="not/listed")
    backend.generate([request(decoder=decoder, **limits)])
    config = json.loads(server.asked[-1]["generation_config"])
    assert config | parameters == config
    assert backend.concurrency == 1


def test_llama_cpp_python_gets_only_parameters_that_it_supports(server: Server) -> None:
    server.api = LLAMA_CPP_PYTHON
    backend = opened(server)
    backend.generate([request(decoder="temperature=0.5,top_k=9", min_new_tokens=3)])
    parameters = {"top_k": 9, "min_p": 0.0, "repeat_penalty": 1.0, "temperature": 0.5, "min_tokens": 3}
    assert server.asked[-1] | parameters == server.asked[-1]
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
    server.answering = lambda _, body: answer(body, (" It", " rained.", ""), finish="stop")
    exact, least = opened(server).generate([request(exact=30), request(min_new_tokens=5)])
    assert isinstance(exact, NotGenerated) and "wrote 3 tokens and not exactly 30" in exact.reason
    assert isinstance(least, NotGenerated) and "wrote 3 tokens and not at least 5" in least.reason


def test_a_text_that_ended_before_its_words_is_asked_for_without_an_end(server: Server) -> None:
    def short(server: Server, body: dict[str, Any]) -> tuple[int, str]:
        return completion(server, body) if body.get("ignore_eos") else answer(body, (" It", ""), finish="stop")

    server.owner, server.answering = "llamacpp", short
    (outcome,) = opened(server).generate([request(max_new_tokens=5, stop="sentence", min_words=2)])
    assert (outcome.text, outcome.finish_reason, outcome.log_q) == (" It rained.", "sentence", None)
    server.owner = "somebody"
    (outcome,) = opened(server).generate([request(max_new_tokens=5, stop="sentence", min_words=2)])
    assert (outcome.text, outcome.finish_reason) == (" It", "end")  # the API has no words for it


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
