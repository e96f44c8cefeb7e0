"""Which decoders each kind of server with the OpenAI API supports, and how to request them.

The API itself has temperature and top_p. Servers accept more parameters, with different names, and have defaults that
must be switched off. The facts come from each server's source or documentation. All kinds but vLLM and hosted models
were tested with the real server (docs/generation.md names the versions).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from generation.backends.base import BackendError, Request
from generation.decoding.decoders import Decoder, Limits

SEEDS = 2**31
ExtraParameters = Callable[[Request, int], dict[str, Any]]


@dataclass(frozen=True)
class Server:
    """One kind of server. ``draws``: parameters it supports. ``exact``, ``least``: whether the end of a text can be
    excluded throughout, or for its first tokens. ``extra_parameters``: the parameters beyond the API's own, from a
    request and the number of tokens that must not end the text. ``lists_models``: whether it lists all models it
    serves. ``lists_end``: whether its log-probabilities may include the end of the text. ``tempers_last``: the
    temperature is applied after truncation. ``most_temperature``: the highest that it accepts (None: any).
    ``one_at_a_time``: parallel requests would only wait, or use each other's seeds."""

    name: str
    draws: frozenset[str]
    exact: bool = False
    least: bool = False
    extra_parameters: ExtraParameters | None = None
    lists_models: bool = True
    lists_end: bool = True
    tempers_last: bool = False
    one_at_a_time: bool = False
    most_temperature: float | None = None

    def refusal(self, decoder: Decoder) -> str:
        """Why this kind of server cannot use the decoder; empty if it can."""
        needed = set(decoder.truncations) | ({"beam"} if decoder.beams > 1 else set())
        needed |= {"n_best"} if decoder.n_best > 1 else set()
        needed |= {"length_penalty"} if decoder.length_penalty != 1.0 else set()
        needed |= {"repetition_penalty"} if decoder.repetition_penalty != 1.0 else set()
        lacking = sorted(needed - self.draws)
        if lacking:
            return f"A server of kind {self.name} does not support {', '.join(lacking)}. It supports {self.supported}."
        if self.most_temperature is not None and decoder.temperature > self.most_temperature:
            return f"A server of kind {self.name} accepts temperatures up to {self.most_temperature:g}."
        if self.tempers_last and decoder.temperature != 1.0 and decoder.top_p is not None:
            return (
                f"A server of kind {self.name} applies a temperature after top_p, not before, so {decoder.name} would "
                "mean something else there; use only one of the two."
            )
        return ""

    @property
    def supported(self) -> str:
        return ", ".join(["greedy", "ancestral", "temperature", *sorted(self.draws)])

    def refusal_of_limits(self, limits: Limits) -> str:
        """Why this kind of server cannot keep to these limits; empty if it can."""
        if limits.exact is not None and not self.exact:
            return f"A server of kind {self.name} cannot write exactly {limits.exact} tokens; vLLM can."
        if limits.exact is None and limits.min_new_tokens > 1 and not self.least:
            return f"A server of kind {self.name} cannot write at least {limits.min_new_tokens} tokens."
        return ""

    def barred(self, limits: Limits, *, throughout: bool = False) -> int:
        """How many of the first tokens must not end the text; all if ``throughout``. n words have n tokens or more."""
        if limits.exact is not None or throughout:
            return limits.most
        n_barred = max(limits.min_new_tokens, limits.min_words) if self.least else 0
        return min(n_barred, limits.most) if n_barred > 1 else 0

    def body(self, request: Request, *, throughout: bool = False) -> dict[str, Any]:
        """The arguments of one call, without the model and the prompt. ``system`` is for the client, which makes
        messages."""
        decoder, limits = request.decoder, request.limits
        barred = self.barred(limits, throughout=throughout)
        chat: dict[str, Any] = {"system": request.system} if request.system else {}
        if request.schema is not None:
            described = {"name": "answers", "strict": True, "schema": dict(request.schema)}
            chat["response_format"] = {"type": "json_schema", "json_schema": described}
        return chat | {
            "max_tokens": limits.most,
            "temperature": decoder.temperature if decoder.samples else 0.0,
            "top_p": decoder.top_p if decoder.top_p is not None else 1.0,
            "seed": request.seed % SEEDS,
            "extra_body": self.extra_parameters(request, barred) if self.extra_parameters is not None else {},
        }


def _vllm(request: Request, barred: int) -> dict[str, Any]:
    decoder = request.decoder
    parameters: dict[str, Any] = {
        "top_k": decoder.top_k or 0,
        "min_p": decoder.min_p or 0.0,
        "repetition_penalty": decoder.repetition_penalty,
    }
    # With ignore_eos, the end is drawn and passed over; with min_tokens, it cannot be drawn.
    return parameters | ({"min_tokens": barred} if barred else {})


def _llama_cpp(request: Request, barred: int) -> dict[str, Any]:
    """llama-server applies the temperature last unless the request gives the order."""
    decoder = request.decoder
    parameters: dict[str, Any] = {
        "top_k": decoder.top_k or 0,
        "min_p": decoder.min_p or 0.0,
        "typical_p": decoder.typical if decoder.typical is not None else 1.0,
        "repeat_penalty": 1.0,
        "samplers": ["temperature", "top_k", "typ_p", "top_p", "min_p"],
    }
    return parameters | ({"ignore_eos": True} if barred >= request.limits.most else {})


def _llama_cpp_python(request: Request, barred: int) -> dict[str, Any]:
    """llama-cpp-python silently ignores the order of samplers, typical and ignore_eos."""
    parameters: dict[str, Any] = {"top_k": request.decoder.top_k or 0, "min_p": 0.0, "repeat_penalty": 1.0}
    return parameters | ({"min_tokens": barred} if barred else {})


def _transformers(request: Request, barred: int) -> dict[str, Any]:
    """``transformers serve`` samples only if the model's settings or these enable it, and uses the model's settings for
    everything that is not given."""
    decoder = request.decoder
    parameters: dict[str, Any] = {
        "do_sample": decoder.samples,
        "num_beams": decoder.beams,
        "repetition_penalty": decoder.repetition_penalty,
        "no_repeat_ngram_size": 0,
        "max_new_tokens": request.limits.most,
        "min_new_tokens": barred,
    }
    if decoder.samples:
        parameters |= {
            "top_k": decoder.top_k or 0,
            "typical_p": decoder.typical if decoder.typical is not None else 1.0,
            "min_p": decoder.min_p or 0.0,
        }
    return {"generation_config": json.dumps(parameters)}


SERVERS = {
    server.name: server
    for server in (
        Server("openai", frozenset({"top_p"}), most_temperature=2.0),
        Server(
            "vllm",
            frozenset({"top_p", "top_k", "min_p", "repetition_penalty"}),
            exact=True,
            least=True,
            extra_parameters=_vllm,
        ),
        Server("llama_cpp", frozenset({"top_p", "top_k", "typical", "min_p"}), exact=True, extra_parameters=_llama_cpp),
        Server(
            "llama_cpp_python",
            frozenset({"top_p", "top_k"}),
            exact=True,
            least=True,
            extra_parameters=_llama_cpp_python,
            lists_end=False,
            tempers_last=True,
            one_at_a_time=True,
        ),
        Server(
            "transformers",
            frozenset({"top_p", "top_k", "typical", "min_p", "beam", "repetition_penalty"}),
            exact=True,
            least=True,
            extra_parameters=_transformers,
            lists_models=False,
            one_at_a_time=True,
        ),
    )
}


def server_by_name(name: str) -> Server:
    if name not in SERVERS:
        raise BackendError(f"The option server is {name!r}; use {', '.join(SERVERS)}.")
    return SERVERS[name]


def server_by_description(api: Any) -> Server | None:
    """The kind of server by its own description (``/openapi.json``), if that shows it."""
    if not isinstance(api, Mapping):
        return None
    info, paths = api.get("info"), api.get("paths")
    if isinstance(info, Mapping) and "llama.cpp Python" in str(info.get("title")):
        return SERVERS["llama_cpp_python"]
    if isinstance(paths, Mapping) and {"/load_model", "/v1/chat/completions"} <= set(paths):
        return SERVERS["transformers"]
    return None


def server_by_owners(owners: set[str]) -> Server:
    """The kind of server by the owner that it reports for its models."""
    if "vllm" in owners:
        return SERVERS["vllm"]
    if {"llamacpp", "llama.cpp", "llama-cpp"} & owners:
        return SERVERS["llama_cpp"]
    return SERVERS["openai"]
