"""A deterministic backend without a model, suggesters to try it with, and a suggester process that runs it.

python -m tests.generation.support.toy_suggestions --database NAME --name NAME [--step 0.01] [--lease 5]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from generation.backends.base import Facts, Generated, ModelSpec, NotGenerated, OnDone, Outcome, Request
from generation.decoding.decoders import Decoder
from tests.services import ROOT, wait_for

if TYPE_CHECKING:
    from generation.models import LanguageModel, PoolText, Suggester, Suggestion

Script = Callable[[Request], str | NotGenerated]
NAMES = ("Ada", "Bo", "Cy", "Dee", "Eve", "Flo", "Gus", "Hal")


def toy_text(request: Request) -> str:
    """A sentence that prompt, decoder and seed decide."""
    description = f"{request.prompt}|{request.decoder.name}|{request.seed}".encode()
    number = int.from_bytes(hashlib.sha256(description).digest()[:4], "big")
    return f" Then {NAMES[number % 8]} found number {number} under a stone."


@dataclass
class ToyEngine:
    """One word a step for every active request. ``batches``: how many were active at each step."""

    script: Script
    most_active: int
    step_seconds: float = 0.0
    batches: list[int] = field(default_factory=list)
    added: list[list[Request]] = field(default_factory=list)
    cancelled: list[Any] = field(default_factory=list)
    broken: Exception | None = None
    _waiting: list[Request] = field(default_factory=list)
    _active: dict[Any, tuple[Request, str | NotGenerated, int]] = field(default_factory=dict)

    def add(self, requests: Sequence[Request]) -> None:
        self.added.append(list(requests))
        self._waiting += requests

    def cancel(self, key: Any) -> None:
        self.cancelled.append(key)
        self._active.pop(key, None)
        self._waiting = [request for request in self._waiting if request.key != key]

    def step(self) -> list[tuple[Any, Outcome]]:
        if self.broken is not None:
            raise self.broken
        while self._waiting and len(self._active) < self.most_active:
            request = self._waiting.pop(0)
            self._active[request.key] = (request, self.script(request), 0)
        self.batches.append(len(self._active))
        if any("warm up" not in str(key) for key in self._active):
            time.sleep(self.step_seconds)
        return list(self._advance())

    def _advance(self) -> Iterator[tuple[Any, Outcome]]:
        for key, (request, text, done) in list(self._active.items()):
            if isinstance(text, str) and done + 1 < min(len(text.split()), request.limits.most):
                self._active[key] = (request, text, done + 1)
                continue
            del self._active[key]
            yield key, text if isinstance(text, NotGenerated) else self._generated(request, text)

    @staticmethod
    def _generated(request: Request, text: str) -> Generated:
        drawn, words = text, text.split()
        reason = "end"
        if len(words) > request.limits.most:
            drawn, reason = " ".join(words[: request.limits.most]), "length"
        n_tokens = min(len(words), request.limits.most)
        return Generated(drawn, tuple(range(n_tokens)), n_tokens, -2.0 * n_tokens, -1.5 * n_tokens, reason, 0.01, 5)

    def so_far(self, keys: Collection[Any]) -> dict[Any, str]:
        return {
            key: " ".join(text.split()[:done])
            for key, (_, text, done) in self._active.items()
            if key in keys and isinstance(text, str)
        }

    @property
    def unbegun(self) -> set[Any]:
        return {request.key for request in self._waiting}

    @property
    def n_active(self) -> int:
        return len(self._active)

    @property
    def n_waiting(self) -> int:
        return len(self._waiting)


@dataclass
class ToyBackend:
    spec: ModelSpec
    script: Script = toy_text
    step_seconds: float = 0.0
    engines: list[ToyEngine] = field(default_factory=list)
    closed: bool = False
    refuses: str = ""
    origin: Mapping[str, Any] = field(default_factory=dict)

    def facts(self) -> Facts:
        return Facts(1, 1, 1000, 10, "toy", "nowhere", gives_log_p=True, gives_log_q=True, origin=self.origin)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def refused(self, requests: Sequence[Request]) -> dict[Any, str]:
        return {}

    def refusal(self, decoder: Decoder) -> str:
        return self.refuses

    def generate(self, requests: Sequence[Request], on_done: OnDone | None = None) -> list[Outcome]:
        engine = self.open_engine(most_active=len(requests) or 1)
        done: dict[Any, Outcome] = {}
        engine.add(requests)
        while engine.n_active or engine.n_waiting:
            done.update(engine.step())
        return [done[request.key] for request in requests]

    def open_engine(self, *, most_active: int) -> ToyEngine:
        self.engines.append(ToyEngine(self.script, most_active, self.step_seconds))
        return self.engines[-1]

    def close(self) -> None:
        self.closed = True


@dataclass
class ToyShop:
    """Opens toy backends, and keeps them for a look: ``open_backend`` of a suggester process."""

    script: Script = toy_text
    step_seconds: float = 0.0
    origin: Mapping[str, Any] = field(default_factory=dict)
    opened: dict[str, ToyBackend] = field(default_factory=dict)
    n_opened: int = 0

    def __call__(self, spec: ModelSpec) -> ToyBackend:
        self.n_opened += 1
        self.opened[spec.source] = ToyBackend(spec, self.script, self.step_seconds, origin=self.origin)
        return self.opened[spec.source]

    def engine(self, source: str = "toy") -> ToyEngine:
        return self.opened[source].engines[-1]


# --- What it is tried with ---


def make_model(name: str = "toy", **values: Any) -> LanguageModel:
    from generation.models import LanguageModel

    model, _ = LanguageModel.objects.get_or_create(
        name=name, defaults={"backend": "transformers", "source": name, **values}
    )
    return model


def make_suggester(name: str = "a", *, model: str = "toy", decoder: str = "ancestral", **values: Any) -> Suggester:
    from generation.suggestions.definitions import create_suggester

    return create_suggester(name=name, model=make_model(model), decoder=decoder, **values)


def make_pool(suggester: Suggester, *texts: str, round: int = 0) -> list[PoolText]:
    from generation.models import PoolText

    return [PoolText.objects.create(suggester=suggester, round=round, text=text) for text in texts]


def ask_for(suggester: Suggester, key: str = "k", **values: Any) -> Suggestion:
    from generation.suggestions.asking import ask_suggesters

    arguments: dict[str, Any] = {"story_fields": {"story": "It rained."}, "round": 1, "seed": 1, **values}
    return ask_suggesters(suggesters=[suggester], key=key, **arguments)[0]


# --- As a process ---


@contextmanager
def toy_process(name: str, *, step: float = 0.01, lease: float = 5.0) -> Iterator[subprocess.Popen[bytes]]:
    """A suggester process on the test's own database, ready when the block begins."""
    from django.db import connection

    from generation.models import ModelWorker

    database = str(connection.settings_dict["NAME"])
    command = [sys.executable, "-m", "tests.generation.support.toy_suggestions", "--database", database, "--name", name]
    process = subprocess.Popen([*command, "--step", str(step), "--lease", str(lease)], cwd=ROOT, env=_environment())
    try:
        wait_for(lambda: ModelWorker.objects.filter(name=name, state="ready").exists(), f"process {name}")
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait(timeout=10)


def _environment() -> Mapping[str, str]:
    return {**os.environ, "HITSERVER_PARTS": "studies"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--database", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--step", type=float, default=0.01)
    parser.add_argument("--lease", type=float, default=5.0)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitserver.settings")
    import django
    from django.conf import settings

    settings.DATABASES["default"]["NAME"] = options.database
    django.setup()
    from generation.suggestions import suggester_process

    suggester_process.HEARTBEAT_SECONDS = 0.2
    process = suggester_process.SuggesterProcess(
        open_backend=ToyShop(step_seconds=options.step),
        name=options.name,
        lease=timedelta(seconds=options.lease),
    )
    signal.signal(signal.SIGTERM, lambda number, frame: process.stop())
    process.run()


if __name__ == "__main__":
    main()
