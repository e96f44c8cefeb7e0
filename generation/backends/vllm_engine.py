"""Texts through vLLM's engine, which batches them: each is a request of its own, cut by the same rules as elsewhere.

A text that must have some words before it may end is drawn in two requests: the first bars the end, and the second
continues it once the words are there. Which tokens are drawn depends on the text and its seed alone.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import replace
from itertools import count
from typing import Any

from generation.backends.base import BackendError, EngineDied, Generated, NotGenerated, Outcome, Request
from generation.backends.batch_rows import Row, Vocabulary, begin
from generation.backends.capabilities import decoder_refusal
from generation.backends.vllm_library import Library
from generation.decoding.seeds import draw_seed

#: Names of requests, which must differ in one engine.
_numbers = count(1)


class VllmEngine:
    """See ``base.Engine``: the requests run in the library's loop, and a step collects what has ended."""

    STEP_SECONDS = 0.05

    def __init__(self, library: Library, vocabulary: Vocabulary, *, most_active: int, with_log_p: bool) -> None:
        self._library, self._vocabulary, self._with_log_p = library, vocabulary, with_log_p
        self._most = most_active
        self._places = asyncio.Semaphore(most_active)
        self._running: dict[Any, Future[None]] = {}
        self._begun: set[Any] = set()
        self._failure: BackendError | None = None
        self._ended: queue.SimpleQueue[tuple[Any, Outcome | BackendError]] = queue.SimpleQueue()

    @property
    def n_active(self) -> int:
        return min(len(self._running), self._most)

    @property
    def n_waiting(self) -> int:
        return max(len(self._running) - self._most, 0)

    @property
    def unbegun(self) -> set[Any]:
        return set(self._running) - self._begun

    def add(self, requests: Sequence[Request]) -> None:
        for request in requests:
            self._running[request.key] = self._library.begin(self._answer(request))

    def cancel(self, key: Any) -> None:
        if (running := self._running.pop(key, None)) is not None:
            running.cancel()
        self._begun.discard(key)

    def cancel_all(self) -> None:
        for key in list(self._running):
            self.cancel(key)

    def step(self) -> list[tuple[Any, Outcome]]:
        """See ``base.Engine``. Raises the first failure that is not of one request alone."""
        if self._failure is not None:
            raise self._failure
        ended: list[tuple[Any, Outcome]] = []
        wait = bool(self._running)
        while self._running and self._failure is None:
            try:
                key, outcome = self._ended.get(timeout=self.STEP_SECONDS) if wait else self._ended.get_nowait()
            except queue.Empty:
                break
            wait = False
            if self._running.pop(key, None) is None:  # cancelled
                continue
            self._begun.discard(key)
            if isinstance(outcome, BackendError):
                self._failure = outcome
            else:
                ended.append((key, outcome))
        if wait and self._library.dead:
            self._failure = EngineDied(f"vLLM's engine of {self._library.source} has ended.")
        if self._failure is not None and not ended:
            raise self._failure
        return ended

    async def _answer(self, request: Request) -> None:
        outcome: Outcome | BackendError
        try:
            async with self._places:
                outcome = await self._write(request)
        except ValueError as error:  # the engine does not take such a request
            outcome = NotGenerated(f"vLLM refused it: {error}")
        except BackendError as error:
            outcome = error
        except Exception as error:  # any error from the library becomes a message
            outcome = BackendError(f"vLLM could not write a text: {type(error).__name__}: {error}")
        self._ended.put((request.key, outcome))

    async def _write(self, request: Request) -> Outcome:
        if why := decoder_refusal("vllm", request.decoder):
            return NotGenerated(why)
        row = begin(request, self._vocabulary)
        if isinstance(row, NotGenerated):
            return row
        text: Generated | None = None
        while text is None:
            text = await self._draw(row)
        decoder, limits = request.decoder, request.limits
        # Without temperature, truncation and excluded ends, the draw was from the model's own distribution.
        if decoder.name == "ancestral" and not limits.least and not limits.min_words:
            return replace(text, log_p=text.log_q)
        if not self._with_log_p:
            return replace(text, log_p=None)
        log_ps = await self._library.score(row.prompt, text.token_ids, _name())
        return replace(text, log_p=sum(log_ps))

    async def _draw(self, row: Row) -> Generated | None:
        """Draw the row's next tokens. The finished text, or None where the end was barred and need not be any more."""
        decoder, limits, lacks_words = row.request.decoder, row.request.limits, row.lacks_words
        left = row.most - len(row.tokens)
        drawn = self._library.draw(
            (*row.prompt, *row.tokens),
            _name(),
            temperature=decoder.temperature if decoder.samples else 0.0,
            top_k=decoder.top_k or 0,
            top_p=decoder.top_p if decoder.top_p is not None else 1.0,
            min_p=decoder.min_p or 0.0,
            repetition_penalty=decoder.repetition_penalty,
            seed=draw_seed(row.request.seed, -len(row.tokens)),
            max_tokens=left,
            min_tokens=left if lacks_words else min(max(limits.least - len(row.tokens), 0), left),
            stop_token_ids=sorted(self._vocabulary.ends),
        )
        async with aclosing(drawn):
            async for tokens in drawn:
                self._begun.add(row.request.key)
                for token, log_q in tokens:
                    text = row.take(token, log_q, log_q if decoder.samples else None)
                    if text is not None:
                        return text
                    if lacks_words and not row.lacks_words:
                        return None
        raise BackendError(f"vLLM ended a text of {self._library.source} after {len(row.tokens)} of {row.most} tokens.")


def _name() -> str:
    return f"text-{next(_numbers)}"
