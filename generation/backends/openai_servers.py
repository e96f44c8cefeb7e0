"""What servers that speak the OpenAI API can draw, and how each is told.

The API itself has temperature and top_p. vLLM and llama.cpp take more beside it, and both have defaults of their own
that have to be switched off; llama.cpp also applies its temperature last unless it is told the order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from generation.backends.base import BackendError, Request
from generation.decoders import Decoder, Limits

SEEDS = 2**31


@dataclass(frozen=True)
class Server:
    """``draws``: parameters it takes; ``sizes``: whether the end of a text can be barred (exact and least tokens).
    ``neutral``: what switches its defaults off."""

    name: str
    draws: frozenset[str]
    neutral: tuple[tuple[str, Any], ...] = ()
    exact: bool = False
    least: bool = False

    def refusal(self, decoder: Decoder) -> str:
        wanted = {name for name in ("top_k", "top_p", "typical") if getattr(decoder, name) is not None}
        wanted |= {"beam"} if decoder.beams > 1 else set()
        lacking = sorted(wanted - self.draws)
        if lacking:
            return f"A server of kind {self.name} cannot draw with {', '.join(lacking)}; it can: {self.can}."
        if decoder.temperature > 2 and self.name == "openai":
            return "The OpenAI API takes temperatures up to 2."
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

    def body(self, request: Request) -> dict[str, Any]:
        """Arguments of one call, beside the model and the prompt."""
        decoder, limits = request.decoder, request.limits
        extra: dict[str, Any] = dict(self.neutral)
        if decoder.top_k is not None:
            extra["top_k"] = decoder.top_k
        if decoder.typical is not None:
            extra["typical_p"] = decoder.typical
        if limits.exact is not None:
            extra["ignore_eos"] = True
        if self.least and limits.exact is None and limits.min_new_tokens > 1:
            extra["min_tokens"] = limits.min_new_tokens
        return {
            "max_tokens": limits.most,
            "temperature": decoder.temperature if decoder.samples else 0.0,
            "top_p": decoder.top_p if decoder.top_p is not None else 1.0,
            "seed": request.seed % SEEDS,
            "extra_body": extra,
        }


SERVERS = {
    each.name: each
    for each in (
        Server("openai", frozenset({"top_p"})),
        Server(
            "vllm",
            frozenset({"top_p", "top_k"}),
            neutral=(("top_k", 0), ("min_p", 0.0), ("repetition_penalty", 1.0)),
            exact=True,
            least=True,
        ),
        Server(
            "llama_cpp",
            frozenset({"top_p", "top_k", "typical"}),
            neutral=(
                ("top_k", 0),
                ("min_p", 0.0),
                ("typical_p", 1.0),
                ("repeat_penalty", 1.0),
                ("samplers", ["temperature", "top_k", "typ_p", "top_p"]),
            ),
            exact=True,
        ),
    )
}


def server_of(name: str | None, owners: set[str]) -> Server:
    """By the option ``server``, else by who the server says its models belong to."""
    if name is not None:
        if name not in SERVERS:
            raise BackendError(f"The option server is {name!r}; it takes {', '.join(SERVERS)}.")
        return SERVERS[name]
    if "vllm" in owners:
        return SERVERS["vllm"]
    if {"llamacpp", "llama.cpp", "llama-cpp"} & owners:
        return SERVERS["llama_cpp"]
    return SERVERS["openai"]
