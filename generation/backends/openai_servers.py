"""What servers that speak the OpenAI API can draw, and how each is told.

The API itself has temperature and top_p. The servers take more beside it, each in words of its own, and have defaults
of their own that have to be switched off. What is said of each kind here was read off its source or its documentation,
and tried on the real one except for vLLM and hosted models (docs/generation.md says which versions).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from generation.backends.base import BackendError, Request
from generation.decoders import Decoder, Limits

SEEDS = 2**31
Telling = Callable[[Request, int], dict[str, Any]]


def _nothing(request: Request, barred: int) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Server:
    """``draws``: parameters it takes. ``exact``, ``least``: whether the end of a text can be barred for the whole of it
    and for its first tokens. ``tell``: what a request and the number of tokens that must not be the end are called
    there, beside the API's own parameters. ``lists_models``: whether it names all it serves. ``lists_end``: whether the
    log-probabilities it gives may have one for the end of the text. ``tempers_last``: after truncating, not before.
    ``one_at_a_time``: texts asked for together would only wait, or take each other's seeds."""

    name: str
    draws: frozenset[str]
    exact: bool = False
    least: bool = False
    tell: Telling = _nothing
    lists_models: bool = True
    lists_end: bool = True
    tempers_last: bool = False
    one_at_a_time: bool = False
    most_temperature: float | None = None

    def refusal(self, decoder: Decoder) -> str:
        wanted = {name for name in ("top_k", "top_p", "typical") if getattr(decoder, name) is not None}
        wanted |= {"beam"} if decoder.beams > 1 else set()
        lacking = sorted(wanted - self.draws)
        if lacking:
            return f"A server of kind {self.name} cannot draw with {', '.join(lacking)}; it can: {self.can}."
        if self.most_temperature is not None and decoder.temperature > self.most_temperature:
            return f"A server of kind {self.name} takes temperatures up to {self.most_temperature:g}."
        if self.tempers_last and decoder.temperature != 1.0 and decoder.top_p is not None:
            return (
                f"A server of kind {self.name} applies a temperature after top_p, not before, so {decoder.name} would "
                "mean something else there; take one of the two alone."
            )
        return ""

    @property
    def can(self) -> str:
        return ", ".join(["greedy", "ancestral", "temperature", *sorted(self.draws)])

    def refusal_of_limits(self, limits: Limits) -> str:
        if limits.exact is not None and not self.exact:
            return f"A server of kind {self.name} cannot be told to write exactly {limits.exact} tokens; vLLM can."
        if limits.exact is None and limits.min_new_tokens > 1 and not self.least:
            return f"A server of kind {self.name} cannot be told to write at least {limits.min_new_tokens} tokens."
        return ""

    def barred(self, limits: Limits, *, whole: bool = False) -> int:
        """How many of the first tokens must not be the end. A text of n words has n tokens or more. ``whole``: all."""
        if limits.exact is not None or whole:
            return limits.most
        wanted = max(limits.min_new_tokens, limits.min_words) if self.least else 0
        return min(wanted, limits.most) if wanted > 1 else 0

    def body(self, request: Request, *, whole: bool = False) -> dict[str, Any]:
        """Arguments of one call, beside the model and the prompt."""
        decoder, limits = request.decoder, request.limits
        return {
            "max_tokens": limits.most,
            "temperature": decoder.temperature if decoder.samples else 0.0,
            "top_p": decoder.top_p if decoder.top_p is not None else 1.0,
            "seed": request.seed % SEEDS,
            "extra_body": self.tell(request, self.barred(limits, whole=whole)),
        }


def _vllm(request: Request, barred: int) -> dict[str, Any]:
    told: dict[str, Any] = {"top_k": request.decoder.top_k or 0, "min_p": 0.0, "repetition_penalty": 1.0}
    if barred >= request.limits.most:
        return told | {"ignore_eos": True}
    return told | ({"min_tokens": barred} if barred else {})


def _llama_cpp(request: Request, barred: int) -> dict[str, Any]:
    """llama-server applies its temperature last unless it is told the order."""
    decoder = request.decoder
    told: dict[str, Any] = {
        "top_k": decoder.top_k or 0,
        "min_p": 0.0,
        "typical_p": decoder.typical if decoder.typical is not None else 1.0,
        "repeat_penalty": 1.0,
        "samplers": ["temperature", "top_k", "typ_p", "top_p"],
    }
    return told | ({"ignore_eos": True} if barred >= request.limits.most else {})


def _llama_cpp_python(request: Request, barred: int) -> dict[str, Any]:
    """It knows the order of samplers, typical and ignore_eos not at all, and passes them over in silence."""
    told: dict[str, Any] = {"top_k": request.decoder.top_k or 0, "min_p": 0.0, "repeat_penalty": 1.0}
    return told | ({"min_tokens": barred} if barred else {})


def _transformers(request: Request, barred: int) -> dict[str, Any]:
    """``transformers serve`` draws nothing at random unless the model's own settings or these say so, and takes the
    model's own settings for whatever is not said."""
    decoder = request.decoder
    told: dict[str, Any] = {
        "do_sample": decoder.samples,
        "num_beams": decoder.beams,
        "repetition_penalty": 1.0,
        "no_repeat_ngram_size": 0,
        "max_new_tokens": request.limits.most,
        "min_new_tokens": barred,
    }
    if decoder.samples:
        told |= {
            "top_k": decoder.top_k or 0,
            "typical_p": decoder.typical if decoder.typical is not None else 1.0,
            "min_p": 0.0,
        }
    return {"generation_config": json.dumps(told)}


SERVERS = {
    each.name: each
    for each in (
        Server("openai", frozenset({"top_p"}), most_temperature=2.0),
        Server("vllm", frozenset({"top_p", "top_k"}), exact=True, least=True, tell=_vllm),
        Server("llama_cpp", frozenset({"top_p", "top_k", "typical"}), exact=True, tell=_llama_cpp),
        Server(
            "llama_cpp_python",
            frozenset({"top_p", "top_k"}),
            exact=True,
            least=True,
            tell=_llama_cpp_python,
            lists_end=False,
            tempers_last=True,
            one_at_a_time=True,
        ),
        Server(
            "transformers",
            frozenset({"top_p", "top_k", "typical", "beam"}),
            exact=True,
            least=True,
            tell=_transformers,
            lists_models=False,
            one_at_a_time=True,
        ),
    )
}


def named(name: str) -> Server:
    if name not in SERVERS:
        raise BackendError(f"The option server is {name!r}; it takes {', '.join(SERVERS)}.")
    return SERVERS[name]


def described(api: Any) -> Server | None:
    """By what the server says of its own paths (``/openapi.json``), where that tells."""
    if not isinstance(api, Mapping):
        return None
    info, paths = api.get("info"), api.get("paths")
    if isinstance(info, Mapping) and "llama.cpp Python" in str(info.get("title")):
        return SERVERS["llama_cpp_python"]
    if isinstance(paths, Mapping) and {"/load_model", "/v1/chat/completions"} <= set(paths):
        return SERVERS["transformers"]
    return None


def owned_by(owners: set[str]) -> Server:
    """By who the server says its models belong to."""
    if "vllm" in owners:
        return SERVERS["vllm"]
    if {"llamacpp", "llama.cpp", "llama-cpp"} & owners:
        return SERVERS["llama_cpp"]
    return SERVERS["openai"]
