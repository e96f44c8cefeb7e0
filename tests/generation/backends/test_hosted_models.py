"""Hosted models that refuse parameters, by OpenAI's published description of its API, played by a fake server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("openai", reason="openai is not installed (script/setup --models)")

from common.problems import Invalid
from generation.backends import open_backend
from generation.backends.base import Generated, ModelSpec, NotGenerated
from generation.decoding.decoders import parse_decoder
from generation.models import LanguageModel
from generation.registry.checking import check_model
from tests.generation.support.openai_server import Server
from tests.generation.support.run_factories import make_model, make_run
from tests.generation.support.tiny_models import request


def refused(param: str, message: str, code: str) -> tuple[int, str]:
    """An error object of the API: message, type, param, code."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return 400, json.dumps({"error": error})


def reasoning_model(server: Server, body: dict[str, Any]) -> tuple[int, str]:
    """Chat only; max_completion_tokens in place of max_tokens, no log-probabilities, only default temperature and
    top_p."""
    if "max_tokens" in body:
        what = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        return refused("max_tokens", what, "unsupported_parameter")
    for name in ("logprobs", "top_logprobs"):
        if name in body:
            what = f"Unsupported parameter: '{name}' is not supported with this model."
            return refused(name, what, "unsupported_parameter")
    if body.get("temperature", 1) != 1:
        what = "Unsupported value: 'temperature' does not support 0.5. Only the default (1) value is supported."
        return refused("temperature", what, "unsupported_value")
    if "top_p" in body:
        what = "Unsupported parameter: 'top_p' is not supported with this model."
        return refused("top_p", what, "unsupported_parameter")
    count = min(3, body["max_completion_tokens"])
    choice = {"index": 0, "message": {"role": "assistant", "content": " It rained."}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 4, "completion_tokens": count, "total_tokens": 4 + count}
    return 200, json.dumps(
        {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    )


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    server.answering = reasoning_model
    yield server
    server.close()


def opened(server: Server) -> Any:
    return open_backend(ModelSpec("openai", "m", base_url=server.url, chat=True, options=(("retries", 1),)))


def test_parameters_are_sent_as_the_model_wants_them(server: Server) -> None:
    backend = opened(server)
    outcomes = backend.generate([request(seed=seed) for seed in range(3)])
    assert all(isinstance(outcome, Generated) and outcome.text == " It rained." for outcome in outcomes)
    server.asked.clear()
    backend.generate([request(max_new_tokens=9)])
    (body,) = server.asked  # what was refused once is not tried again
    assert body["max_completion_tokens"] == 9
    assert not {"max_tokens", "top_p", "logprobs", "top_logprobs"} & set(body)


def test_a_decoder_that_the_model_cannot_use_is_refused_and_not_replaced(server: Server) -> None:
    outcomes = opened(server).generate([request(decoder=name) for name in ("temperature=0.5", "top_p=0.9", "greedy")])
    assert all(isinstance(outcome, NotGenerated) for outcome in outcomes)
    assert "use ancestral" in outcomes[0].reason and "temperature" in outcomes[0].reason
    assert "top_p" in outcomes[1].reason


@pytest.mark.django_db
def test_the_check_finds_out_and_runs_with_other_decoders_are_refused(
    server: Server, everything_installed: None
) -> None:
    backend = opened(server)
    model = check_model(model_id=make_model(backend="openai").pk, backend_of=lambda _: backend)
    assert (model.check_state, model.gives_log_p) == ("passed", False)
    assert model.found["fixed"] == ["temperature", "top_p"]
    assert "ancestral" in backend.refusal(parse_decoder("temperature=0.5"))
    with pytest.raises(Invalid, match="toy accepts only the default temperature and top_p"):
        make_run(decoders=["ancestral", "temperature=0.5"], limits={"max_new_tokens": 5})
    make_run(decoders=["ancestral"], limits={"max_new_tokens": 5})


@pytest.mark.django_db
def test_a_server_that_accepts_everything_has_no_such_limits(server: Server, everything_installed: None) -> None:
    def plain(server: Server, body: dict[str, Any]) -> tuple[int, str]:
        parameters = {name: value for name, value in body.items() if name not in ("max_tokens", "temperature", "top_p")}
        return reasoning_model(server, {"max_completion_tokens": body["max_tokens"], **parameters, "logprobs_": 0})

    server.answering = plain
    backend = opened(server)
    assert check_model(model_id=make_model().pk, backend_of=lambda _: backend).found["fixed"] == []
    assert LanguageModel.objects.get().check_state == "passed"
