"""A backend without a model: its texts follow from prompt, decoder and seed alone, so a test knows them beforehand."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from generation.backends import requirements
from generation.backends.base import Backend, Facts, Generated, ModelSpec, NotGenerated, OnDone, Outcome, Request
from generation.decoding.decoders import Decoder
from generation.models import LanguageModel
from generation.registry import open_models
from generation.runs import run_worker

WORDS = ("the", "old", "bridge", "boat", "river", "snow", "letter", "music", "garden", "winter")


def toy_text(prompt: str, decoder: str, seed: int, n_tokens: int = 5) -> str:
    """What the toy generates: ``n_tokens`` words, the first containing everything that went in."""
    digest = hashlib.sha256(f"{prompt}|{decoder}|{seed}".encode())
    words = [WORDS[byte % len(WORDS)] for byte in digest.digest()[: n_tokens - 1]]
    return " ".join(["", digest.hexdigest()[:8], *words])


@dataclass
class Toy:
    """``before(request number)`` is called for each request and may wait or raise; ``longest``: the most characters
    of a prompt."""

    before: Callable[[int], object] = lambda number: None
    longest: int = 10_000
    seen: list[Request] = field(default_factory=list)
    loads: int = 0
    spec: ModelSpec = field(default_factory=lambda: ModelSpec("transformers", "toy"))

    def facts(self) -> Facts:
        return Facts(1_000, 4_000, 512, len(WORDS), "float32", "cpu", True, True)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def refusal(self, decoder: Decoder) -> str:
        return ""

    def refused(self, requests: Sequence[Request]) -> dict[Any, str]:
        return {request.key: self._why(request) for request in requests if not self._fits(request)}

    def _fits(self, request: Request) -> bool:
        return len(request.prompt) <= self.longest or request.cut_left

    def _why(self, request: Request) -> str:
        return f"it has {len(request.prompt)} characters, the toy takes {self.longest}"

    def generate(self, requests: Sequence[Request], on_done: OnDone | None = None) -> list[Outcome]:
        return [self._one(request, on_done) for request in requests]

    def _one(self, request: Request, on_done: OnDone | None) -> Outcome:
        self.seen.append(request)
        self.before(len(self.seen))
        outcome: Outcome = NotGenerated(self._why(request))
        if self._fits(request):
            n_tokens = request.limits.exact or 5
            text = toy_text(request.prompt, request.decoder.name, request.seed, n_tokens)
            log_q = -0.5 * n_tokens if request.decoder.samples else None
            tokens = tuple(range(n_tokens))
            outcome = Generated(text, tokens, n_tokens, -float(n_tokens), log_q, "length", 0.01, len(request.prompt))
        if on_done is not None:
            on_done(request.key, outcome)
        return outcome

    def open_engine(self, *, most_active: int) -> Any:
        raise NotImplementedError("runs use generate")

    def close(self) -> None:
        pass

    def backend_of(self, model: LanguageModel) -> Backend:
        self.loads += 1
        return self


def install(toy: Toy) -> None:
    """From now on, every model of this process is the toy: for processes that a test starts."""
    for backend in requirements.NEEDS:
        requirements.NEEDS[backend] = ()
    requirements.runnable.cache_clear()
    open_models.backend_of = toy.backend_of
    run_worker.TURN_SECONDS = 0.6  # three chunks of ten at a time, so that a test can kill in between


def slow(seconds: float) -> Toy:
    return Toy(before=lambda number: time.sleep(seconds))
