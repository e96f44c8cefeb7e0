"""A model held open for live suggestions, with the requests in its engine.

All suggesters of one language model share one lane, so the requests of all writers share its batches. A separate thread
loads and warms up the model; after that, only the process's main thread uses the engine.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from common.problems import Invalid
from generation.backends.base import (
    Backend,
    BackendError,
    Engine,
    Facts,
    ModelSpec,
    NoMemory,
    NotGenerated,
    Outcome,
    Request,
    is_device_broken,
)
from generation.backends.model_origin import WEIGHTS, made_with, versions
from generation.decoding.conversations import STOPS, messages_in, without_begun_stop
from generation.decoding.decoders import Decoder, DecoderError, Limits, parse_decoder
from generation.decoding.seeds import draw_seed
from generation.models import LanguageModel, Suggester, Suggestion
from generation.registry.open_models import spec_of
from generation.suggestions.cleaning import clean, clean_answer
from generation.suggestions.definitions import limits_of, rules_of
from generation.suggestions.serving import Result
from generation.suggestions.weights import why_not_these

logger = logging.getLogger(__name__)
OpenBackend = Callable[[ModelSpec], Backend]
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
MOST_REFUSED_KEPT = 10
WARM_UP = "Once upon a time there was a small house at the edge of the forest."
_OF_MODEL = ("name", "backend", "source", "revision", "dtype", "device", "base_url", "chat", "options")
UNUSABLE = "No usable suggestion in {tries} tries: {why}."


@dataclass
class Job:
    """One suggestion in the engine: how it is drawn, and its unusable draws so far."""

    suggestion: Suggestion
    decoder: Decoder
    limits: Limits
    refused: list[dict[str, Any]] = field(default_factory=list)

    @property
    def seed(self) -> int:
        return draw_seed(self.suggestion.seed, len(self.refused))

    @property
    def tries(self) -> int:
        return self.suggestion.tries + len(self.refused)

    @property
    def key(self) -> tuple[int, int]:
        return self.suggestion.pk, len(self.refused)

    def request(self) -> Request:
        row = self.suggestion
        return Request(
            key=self.key,
            prompt=row.prompt,
            decoder=self.decoder,
            limits=self.limits,
            seed=self.seed,
            keep=row.keep,
            messages=messages_in(row.conversation),
        )


class Lane:
    """One model and its engine. ``state``: loading, ready, or failed (it is opened again after a pause)."""

    def __init__(self, *, model: LanguageModel, open_backend: OpenBackend, rows: int) -> None:
        self.model, self.name, self.rows = model, model.name, rows
        self.state, self.message = "loading", ""
        self.jobs: dict[int, Job] = {}
        self.wanted = True
        self.origin: dict[str, Any] = {}
        self.compared: set[tuple[int, str]] = set()
        self._open_backend = open_backend
        self._backend: Backend | None = None
        self._engine: Engine | None = None
        self._facts: Facts | None = None
        self._pause, self._again_at = FIRST_PAUSE, 0.0
        self.device_error: Exception | None = None
        self._begin()

    # --- Opening and closing ---

    def _begin(self) -> None:
        self.state = "loading"
        threading.Thread(target=self._open, name=f"load-{self.name}", daemon=True).start()

    def _open(self) -> None:
        started = time.monotonic()
        try:
            backend = self._open_backend(spec_of(self.model))
            engine = backend.open_engine(most_active=self.rows)
            _warm_up(engine)
            self._backend, self._engine, self._facts = backend, engine, backend.facts()
            self.origin, self.compared = made_with(backend), set()
        except BackendError as error:
            self._failed(str(error))
        except Exception as error:  # any error from a library: the other models continue
            self.device_error = error if is_device_broken(error) else None
            logger.exception("Model %s could not be opened.", self.name)
            self._failed(f"{type(error).__name__}: {error}")
        else:
            self.message = ""
            self.state = "ready"
            logger.info("Model %s is ready after %.1f s.", self.name, time.monotonic() - started)

    def _failed(self, message: str) -> None:
        self.message, self._again_at = message[:2000], time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        self.state = "failed"
        logger.error("Model %s: %s", self.name, self.message)

    def uncompared(self, suggesters: Iterable[Suggester]) -> list[Suggester]:
        """The suggesters of this model whose weights were not compared since it was opened, or have other ones now."""
        if self.state != "ready":
            return []
        return [
            row
            for row in suggesters
            if row.model_id == self.model.pk and (row.pk, repr(row.origin)) not in self.compared
        ]

    def in_words(self) -> str:
        """The state as a sentence."""
        if self.state == "loading":
            return f"{self.name} is being loaded."
        if self.state == "ready":
            return f"{self.name} is ready."
        reason = self.message.strip()
        return f"{self.name} does not work: {reason}{'' if reason.endswith(('.', '!', '?')) else '.'}"

    def tend(self) -> None:
        """Open the model again if it failed long enough ago."""
        if self.state == "failed" and time.monotonic() >= self._again_at:
            self._begin()

    def broke(self, error: Exception) -> list[int]:
        """The engine failed: close it and return the suggestions that were in it. If memory ran out, the next engine
        gets less room."""
        lost = list(self.jobs)
        self.device_error = error if is_device_broken(error) else None
        if isinstance(error, NoMemory):
            self.rows = max(1, self.rows // 2)
        self.close()
        self._failed(str(error) if isinstance(error, BackendError) else f"{type(error).__name__}: {error}")
        return lost

    def close(self) -> None:
        self.jobs.clear()
        engine, backend = self._engine, self._backend
        self._engine = self._backend = None
        # The engine must release its part of the model first. Most engines hold nothing and have no such method.
        getattr(engine, "close", lambda: None)()
        if backend is not None:
            backend.close()

    # --- Working ---

    @property
    def room(self) -> int:
        return self.rows - len(self.jobs) if self.state == "ready" and self.wanted else 0

    def add(self, suggestions: Sequence[Suggestion]) -> list[Result]:
        """Begin these. Returns a result with the reason for each that cannot begin."""
        jobs, refused = [], []
        for row in suggestions:
            try:
                job = Job(row, parse_decoder(row.suggester.decoder), self._limits_of(row))
            except (DecoderError, Invalid) as error:
                refused.append(Result(row.pk, "", f"Suggester {row.suggester.name}: {error}", tries=row.tries))
                continue
            why = self._backend.refusal(job.decoder) if self._backend else ""
            if mismatch := why_not_these(row.suggester, self.origin):
                refused.append(Result(row.pk, "", mismatch, tries=row.tries))
            elif why:
                refused.append(Result(row.pk, "", f"Model {self.name}: {why}", tries=row.tries))
            else:
                jobs.append(job)
        self.jobs.update({job.suggestion.pk: job for job in jobs})
        self._send(jobs)
        return refused

    def step(self) -> list[Result]:
        """Make one token for all. Returns what ended with it. An unusable text is drawn again with the next seed."""
        if self._engine is None or not self.jobs:
            return []
        results, to_redraw = [], []
        for key, outcome in self._engine.step():
            job = self.jobs.get(key[0])
            if job is None:
                continue
            result = self._judge(job, outcome)
            if result is None:
                to_redraw.append(job)
            else:
                del self.jobs[job.suggestion.pk]
                results.append(result)
        self._send(to_redraw)
        self._pause = FIRST_PAUSE
        return results

    def growing(self) -> dict[int, str]:
        """The answers in conversations as far as they are written, by suggestion.

        Nobody sees an answer grow that could still be refused for a word that it contains.
        """
        answers = {
            job.key: pk
            for pk, job in self.jobs.items()
            if job.suggestion.conversation and not job.suggestion.suggester.word_list
        }
        if not answers or self._engine is None:
            return {}
        texts = self._engine.so_far(answers.keys())
        return {answers[key]: clean_answer(without_begun_stop(text), word_list="").text for key, text in texts.items()}

    def _limits_of(self, row: Suggestion) -> Limits:
        """Those of the suggester; of an answer in a conversation, what the study allows."""
        if not row.conversation:
            return limits_of(row.suggester)
        stops = () if self.model.chat else STOPS
        return Limits(max_new_tokens=row.conversation["most_tokens"], stop_strings=stops)

    @property
    def unbegun(self) -> set[int]:
        """The jobs that the engine has not begun to compute."""
        return {pk for pk, _ in self._engine.unbegun} & self.jobs.keys() if self._engine is not None else set()

    def drop(self, suggestions: Iterable[int]) -> None:
        """Stop working on these."""
        for pk in suggestions:
            job = self.jobs.pop(pk, None)
            if job is not None and self._engine is not None:
                self._engine.cancel(job.key)

    def _send(self, jobs: Sequence[Job]) -> None:
        if jobs and self._engine is not None:
            self._engine.add([job.request() for job in jobs])

    def _judge(self, job: Job, outcome: Outcome) -> Result | None:
        """What the writer gets; None if it is worth drawing again."""
        row, suggester = job.suggestion, job.suggestion.suggester
        if isinstance(outcome, NotGenerated):
            return Result(row.pk, "", f"Model {self.name}: {outcome.reason}", tries=job.tries)
        raw = outcome.text.replace("\x00", "")  # PostgreSQL cannot store it
        if row.conversation:
            cleaned = clean_answer(raw, word_list=suggester.word_list)
        else:
            cleaned = clean(raw, prompt=row.prompt, rules=rules_of(suggester), ended=outcome.finish_reason == "end")
        drawn = {"seed": job.seed, "finish_reason": outcome.finish_reason, "seconds": round(outcome.seconds, 3)}
        prompt_sizes = {"prompt_tokens": outcome.prompt_tokens, "cut_tokens": outcome.cut_tokens}
        facts = self._facts
        parameters = {
            "model": {name: getattr(self.model, name) for name in _OF_MODEL},
            "dtype": facts.dtype if facts else "",
            "device": facts.device if facts else "",
            "decoder": job.decoder.name,
            "limits": job.limits.as_json(),
            "keep": job.suggestion.keep,
            "refused": job.refused[:MOST_REFUSED_KEPT],
            "weights": {name: facts.origin[name] for name in WEIGHTS if facts and name in facts.origin},
            "versions": versions(),
        }
        result = Result(
            suggestion=row.pk,
            text=cleaned.text,
            why=UNUSABLE.format(tries=job.tries, why=cleaned.why) if cleaned.why else "",
            tries=job.tries,
            raw_text=raw,
            n_tokens=outcome.n_tokens,
            log_p=outcome.log_p,
            log_q=outcome.log_q,
            parameters=parameters | drawn | prompt_sizes,
        )
        if cleaned.text or job.tries >= suggester.tries or not job.decoder.samples:
            return result
        job.refused.append(drawn | {"text": raw, "why": cleaned.why})
        return None


def _warm_up(engine: Engine) -> None:
    """Make the first tokens, which are slow: buffers are allocated and kernels chosen."""
    limits = Limits(max_new_tokens=4)
    for rows in (1, 4):
        engine.add([Request(("warm up", rows, row), WARM_UP, Decoder(), limits, seed=row) for row in range(rows)])
        deadline = time.monotonic() + 120
        while (engine.n_active or engine.n_waiting) and time.monotonic() < deadline:
            for _, outcome in engine.step():
                if isinstance(outcome, NotGenerated):
                    raise BackendError(f"It does not respond: {outcome.reason}")
