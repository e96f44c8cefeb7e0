"""The backend ``openai``: any server with the OpenAI API (vLLM, llama.cpp, transformers serve, a hosted model).

The address may be a list of servers with weights (see ``addresses``). Options: ``concurrency`` (calls at once, of each
server times its weight), ``timeout`` (seconds for one call), ``retries`` (of calls that were answered
with 429 or 5xx, timed out or broke off; each waits longer), ``context`` (tokens, if the server does not report it),
``server`` (a name of ``openai_servers.SERVERS``, detected if missing), ``logprobs`` (raw or processed: which
distribution the server's log-probabilities belong to). Token counts are the server's; ``count_tokens`` is an estimate,
because the server's tokenizer is not available here.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from generation.backends.addresses import read_addresses
from generation.backends.base import BackendError, Facts, Generated, ModelSpec, NotGenerated, OnDone, Outcome, Request
from generation.backends.model_origin import versions
from generation.backends.openai_answers import Answer
from generation.backends.openai_client import RETRIES, TIMEOUT
from generation.backends.openai_pool import Servers
from generation.decoding.conversations import transcript, without_oldest
from generation.decoding.decoders import Decoder, Limits

OPTIONS = ("concurrency", "timeout", "retries", "context")
RAW, PROCESSED = "raw", "processed"
CONCURRENCY = 16
CHARACTERS_A_TOKEN = 4
# A prompt that is too long by an unknown amount loses this share of its beginning until the server accepts it. If the
# surplus is known, it loses this much more than that, because tokens differ in length.
CUT, SPARE, MOST_CUTS = 0.25, 1.05, 12
#: With these, a server shows which parameters it accepts.
PROBED, PROBED_TOKENS = Decoder(temperature=0.5, top_p=0.5), 16
TOO_LONG = ("context length", "context size", "maximum context", "too long", "exceeds the available", "max_model_len")


@dataclass
class Bill:
    """Tokens that a server read and wrote for one text, those of earlier tries among them."""

    read: int = 0
    written: int = 0

    def add(self, answer: Answer | NotGenerated) -> None:
        if isinstance(answer, Answer):
            self.read, self.written = self.read + answer.prompt_tokens, self.written + answer.n_tokens


class OpenAIBackend:
    """See ``base.Backend``. A call that fails for good raises BackendError in a run, which can try again later. In an
    engine, where others wait, it ends as NotGenerated."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        options = dict(spec.options)
        kind = options.pop("server", None)
        mode = options.pop("logprobs", RAW)
        if mode not in (RAW, PROCESSED):
            raise BackendError(
                f"The option logprobs is {mode!r}. Use {RAW} (the model's own, the default) or {PROCESSED} (what the "
                "decoder drew from: vllm serve --logprobs-mode processed_logprobs)."
            )
        self._processed = mode == PROCESSED
        self._options = replace(spec, options=tuple(options.items())).checked_options(OPTIONS)
        self._servers = Servers(
            spec,
            timeout=self._options.get("timeout", TIMEOUT),
            retries=self._options.get("retries", RETRIES),
            kind=kind,
        )
        self.server, self._listing = self._servers.server, self._servers.listing
        concurrency = self._options.get("concurrency")
        if self.server.one_at_a_time and concurrency not in (None, 1):
            raise BackendError(
                f"The option concurrency is {concurrency}; a server of kind {self.server.name} writes one text at a "
                "time, and a seed holds only for a text that is alone. Remove the option."
            )
        self._servers.most_at_each = 1 if self.server.one_at_a_time else int(concurrency or CONCURRENCY)
        self.concurrency = self._servers.places
        self._gives_any: bool | None = None

    def facts(self) -> Facts:
        if self._gives_any is None:
            limits = Limits(max_new_tokens=PROBED_TOKENS)
            if self.server.name == "openai":  # hosted models may refuse these; the client remembers it
                self._servers.ask("The", self.server.body(Request(None, "The", PROBED, limits, seed=1)))
            answer = self._servers.ask("The", self.server.body(Request(None, "The", Decoder(), limits, seed=1)))
            if isinstance(answer, NotGenerated):
                raise BackendError(answer.reason)
            self._gives_any = bool(answer.log_ps)
        gives_any = self._gives_any
        return Facts(
            parameters=self._listing.parameters,
            memory_bytes=None,
            context_length=self._context,
            vocabulary=self._listing.vocabulary,
            dtype="as served",
            device=", ".join(urlsplit(address.url).netloc for address in read_addresses(self.spec.base_url)),
            origin={"server": self.server.name, "versions": versions("openai")},
            gives_log_p=gives_any and not self._processed,
            gives_log_q=gives_any and self._processed,
            fixed=tuple(sorted(self._servers.fixed)),
        )

    def count_tokens(self, text: str) -> int:
        return -(-len(text) // CHARACTERS_A_TOKEN)

    def refusal(self, decoder: Decoder) -> str:
        request = Request(None, "The", decoder, Limits(), seed=1)
        return self.server.refusal(decoder) or self._servers.why_fixed(self.server.body(request))

    def refused(self, requests: Sequence[Request]) -> dict[Any, str]:
        return {}

    def generate(self, requests: Sequence[Request], on_done: OnDone | None = None) -> list[Outcome]:
        with ThreadPoolExecutor(self.concurrency) as pool:
            waiting = {pool.submit(self.answer, request): number for number, request in enumerate(requests)}
            outcomes: dict[int, Outcome] = {}
            failure: BackendError | None = None
            try:
                while waiting:
                    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in done:
                        number = waiting.pop(future)
                        try:
                            outcomes[number] = future.result()
                        except BackendError as error:  # calls that have begun may still be answered, and paid for
                            failure = failure or error
                            waiting = {call: position for call, position in waiting.items() if not call.cancel()}
                        else:
                            if on_done is not None:
                                on_done(requests[number].key, outcomes[number])
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        if failure is not None:
            raise failure
        return [outcomes[number] for number in range(len(requests))]

    def open_engine(self, *, most_active: int) -> OpenAIEngine:
        return OpenAIEngine(self, most_active=min(most_active, self.concurrency))

    def close(self) -> None:
        self._servers.close()

    def answer(self, request: Request) -> Outcome:
        """One text. Raises BackendError if the server cannot be used now."""
        limits = request.limits
        why = self.server.refusal(request.decoder) or self.server.refusal_of_limits(limits)
        if not request.prompt.strip():
            why = "The prompt is empty; a text needs at least one word to continue from."
        if why:
            return NotGenerated(why)
        started, bill = time.perf_counter(), Bill()
        prompt, answer = self._ask_with_fitting_prompt(request, bill)
        barred = self.server.barred(limits)
        if isinstance(answer, Answer) and self.server.exact and answer.ended_early(limits):
            answer, barred = self._servers.ask(prompt, self.server.body(request, throughout=True)), limits.most
            bill.add(answer)
        if isinstance(answer, NotGenerated):
            return answer
        context = self._context
        if context is not None and answer.prompt_tokens >= context:
            return NotGenerated(
                f"The prompt has {answer.prompt_tokens} tokens and the model's context is {context}; shorten it, or "
                "let it be cut from the left."
            )
        # A server may ignore parameters that it does not support, so the number of tokens is checked.
        if answer.counted and answer.n_tokens < limits.least:
            expected = f"exactly {limits.exact}" if limits.exact else f"at least {limits.min_new_tokens}"
            full = " The model's context may be full: shorten the prompt." if answer.finish == "length" else ""
            return NotGenerated(
                f"The server at {self._servers.names} wrote {answer.n_tokens} tokens and not {expected}.{full}"
            )
        answer = replace(answer, lists_end=answer.lists_end and self.server.lists_end)
        whole = transcript(request.messages) if request.messages and self.spec.chat else request.prompt
        cut = (len(whole) - len(prompt)) * answer.prompt_tokens // max(len(prompt), 1)
        text, log_p, reason, count = answer.cut_to(limits)
        if reason == "length" and answer.counted and count < limits.most:
            reason = "context"
        # Without temperature, truncation and excluded ends, the two distributions are the same.
        plain = request.decoder.name == "ancestral" and not barred
        return Generated(
            text=text,
            token_ids=(),
            n_tokens=count,
            log_p=log_p if plain or not self._processed else None,
            log_q=log_p if plain or (self._processed and request.decoder.samples) else None,
            finish_reason=reason,
            seconds=time.perf_counter() - started,
            prompt_tokens=answer.prompt_tokens,
            cut_tokens=max(cut, 0),
            billed=(bill.read, bill.written),
        )

    def _ask_with_fitting_prompt(self, request: Request, bill: Bill) -> tuple[str, Answer | NotGenerated]:
        """The prompt, shortened from the left until the server accepts it, and the server's answer. A prompt fits if it
        leaves the room that ``Limits.reserved`` names."""
        prompt, body, limits = request.prompt, self.server.body(request), request.limits
        messages = request.messages if self.spec.chat else ()
        for _ in range(MOST_CUTS):
            prompt = transcript(messages) if messages else prompt
            answer = self._servers.ask(prompt, body, messages)
            bill.add(answer)
            surplus = 0  # characters
            if isinstance(answer, NotGenerated):
                if any(words in answer.reason.lower() for words in TOO_LONG):
                    surplus = int(len(prompt) * CUT) + 1
            else:
                # A server that stopped because its context was full has shown its length.
                stopped_short = answer.finish == "length" and answer.n_tokens < limits.most
                context = self._context or (answer.prompt_tokens + answer.n_tokens if stopped_short else None)
                if context is not None and answer.prompt_tokens:
                    over = (answer.prompt_tokens - (context - limits.reserved(context))) / answer.prompt_tokens
                    surplus = int(len(prompt) * over * SPARE) + 1 if over > 0 else 0
            if messages:
                shorter, least = messages, len(prompt) - surplus
                while shorter and len(transcript(shorter)) > least:
                    shorter = without_oldest(shorter)
                if surplus < 1 or not shorter:
                    break
                messages = shorter
                continue
            cuttable = prompt[request.keep :]
            surplus = min(surplus, len(cuttable) - 1)
            if not request.cut_left or surplus < 1:
                break
            prompt = prompt[: request.keep] + cuttable[surplus:]
        return prompt, answer

    @property
    def _context(self) -> int | None:
        return self._options.get("context") or self._listing.context


class OpenAIEngine:
    """See ``base.Engine``: calls run in threads, and a step collects what has arrived. The server batches."""

    STEP_SECONDS = 0.05

    def __init__(self, backend: OpenAIBackend, *, most_active: int) -> None:
        self._backend, self._most = backend, most_active
        self._pool = ThreadPoolExecutor(most_active, thread_name_prefix="openai")
        self._waiting: dict[Future[Outcome], Any] = {}

    @property
    def n_active(self) -> int:
        return min(len(self._waiting), self._most)

    @property
    def n_waiting(self) -> int:
        return max(len(self._waiting) - self._most, 0)

    @property
    def unbegun(self) -> set[Any]:
        return {key for future, key in self._waiting.items() if not future.running() and not future.done()}

    def so_far(self, keys: Collection[Any]) -> dict[Any, str]:
        """Nothing: an answer of the server is read whole."""
        return {}

    def add(self, requests: Sequence[Request]) -> None:
        for request in requests:
            self._waiting[self._pool.submit(self._answer, request)] = request.key

    def cancel(self, key: Any) -> None:
        for future in [future for future, its in self._waiting.items() if its == key]:
            future.cancel()
            del self._waiting[future]

    def step(self) -> list[tuple[Any, Outcome]]:
        if not self._waiting:
            return []
        done, _ = wait(self._waiting, timeout=self.STEP_SECONDS, return_when=FIRST_COMPLETED)
        return [(self._waiting.pop(future), future.result()) for future in done]

    def _answer(self, request: Request) -> Outcome:
        try:
            return self._backend.answer(request)
        except BackendError as error:
            return NotGenerated(str(error))
