"""The backend ``openai``: any server that speaks the OpenAI API (vLLM, llama.cpp, a hosted one).

Options: ``concurrency`` (calls at once), ``timeout`` (seconds a call may take), ``retries`` (of calls answered with 429
or 5xx, or cut off; each waits longer), ``context`` (tokens, where known), ``server`` (openai, vllm or llama_cpp; found
out where not given). Token numbers are the server's; without its tokenizer ``count_tokens`` is an estimate.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from generation.backends.base import BackendError, Facts, Generated, ModelSpec, OnDone, Outcome, Refused, Request
from generation.backends.openai_answers import Answer, read_answer, said
from generation.backends.openai_servers import Server, server_of
from generation.backends.options import checked_options
from generation.decoders import Decoder, Limits

OPTIONS = ("concurrency", "timeout", "retries", "context")
CONCURRENCY, TIMEOUT, RETRIES = 16, 120, 4
CHARACTERS_A_TOKEN = 4
# A prompt that is too long loses so much of its beginning, again and again, until the server takes it.
CUT, MOST_CUTS = 0.25, 12
TOO_LONG = ("context length", "context size", "maximum context", "too long", "exceeds the available", "max_model_len")


class OpenAIBackend:
    """See ``base.Backend``. A call that fails for good raises BackendError when a run asked for it (it can be tried
    again later), and ends as Refused in an engine, where others wait."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        options = dict(spec.options)
        kind = options.pop("server", None)
        self._options = checked_options(replace(spec, options=tuple(options.items())), OPTIONS)
        self.concurrency = int(self._options.get("concurrency", CONCURRENCY))
        self._client = self._open_client()
        self.server: Server = server_of(kind, self._owners())
        self._gives_log_p: bool | None = None

    def facts(self) -> Facts:
        return Facts(
            parameters=None,
            memory_bytes=None,
            context_length=self._options.get("context"),
            vocabulary=None,
            dtype="",
            device=urlsplit(self.spec.base_url).netloc,
            gives_log_p=self._has_log_p(),
            gives_log_q=False,
        )

    def count_tokens(self, text: str) -> int:
        return -(-len(text) // CHARACTERS_A_TOKEN)

    def refusal(self, decoder: Decoder) -> str:
        return self.server.refusal(decoder)

    def generate(self, requests: Sequence[Request], on_done: OnDone | None = None) -> list[Outcome]:
        with ThreadPoolExecutor(self.concurrency) as pool:
            waiting = {pool.submit(self.answer, request): number for number, request in enumerate(requests)}
            outcomes: dict[int, Outcome] = {}
            try:
                while waiting:
                    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in done:
                        number = waiting.pop(future)
                        outcomes[number] = future.result()
                        if on_done is not None:
                            on_done(requests[number].key, outcomes[number])
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [outcomes[number] for number in range(len(requests))]

    def open_engine(self, *, most_active: int) -> OpenAIEngine:
        return OpenAIEngine(self, most_active=min(most_active, self.concurrency))

    def close(self) -> None:
        self._client.close()

    def answer(self, request: Request) -> Outcome:
        """One text. Raises BackendError where the server cannot be used now."""
        why = self.server.refusal(request.decoder) or self.server.refusal_of_limits(request.limits)
        if not request.prompt.strip():
            why = "The prompt is empty; a text needs at least one word to go on from."
        if why:
            return Refused(why)
        started, prompt = time.perf_counter(), request.prompt
        for _ in range(MOST_CUTS):
            found = self._call(request, prompt)
            if not isinstance(found, Refused) or not _is_too_long(found) or not request.cut_left:
                break
            rest = prompt[request.keep :]
            if len(rest) < 2:
                break
            prompt = prompt[: request.keep] + rest[int(len(rest) * CUT) + 1 :]
        if isinstance(found, Refused):
            return found
        cut = (len(request.prompt) - len(prompt)) * found.prompt_tokens // max(len(prompt), 1)
        return _generated(found, request, cut, time.perf_counter() - started)

    def _call(self, request: Request, prompt: str) -> Answer | Refused:
        import openai

        body = self.server.body(request)
        try:
            if self.spec.chat:
                messages: Any = [{"role": "user", "content": prompt}]
                raw: Any = self._client.chat.completions.create(
                    model=self.spec.source, messages=messages, logprobs=True, **body
                )
            else:
                raw = self._client.completions.create(model=self.spec.source, prompt=prompt, logprobs=1, **body)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            return Refused(f"The server at {self.spec.base_url} refused it: {said(error)}")
        except Exception as error:
            raise self._plain(error) from error
        return read_answer(raw, self.spec.base_url, chat=self.spec.chat)

    def _open_client(self) -> Any:
        try:
            import openai
        except ImportError:
            raise BackendError(
                "The library openai is not installed. Install it with: pip install -r requirements-models.txt"
            ) from None
        if urlsplit(self.spec.base_url).scheme not in ("http", "https"):
            raise BackendError(
                f"base_url is {self.spec.base_url!r}; it takes the server's address, such as http://127.0.0.1:8000/v1."
            )
        key = "none"
        if self.spec.key_variable:
            key = os.environ.get(self.spec.key_variable, "")
            if not key:
                raise BackendError(
                    f"The environment variable {self.spec.key_variable}, which holds the server's key, is not set for "
                    "this process."
                )
        return openai.OpenAI(
            base_url=self.spec.base_url,
            api_key=key,
            timeout=float(self._options.get("timeout", TIMEOUT)),
            max_retries=int(self._options.get("retries", RETRIES)),
        )

    def _owners(self) -> set[str]:
        """Who the listed models belong to. A server that lists none may still answer."""
        import openai

        try:
            listed = self._client.models.list()
            names = {str(each.id) for each in listed.data}
            owners = {str(getattr(each, "owned_by", "")).lower() for each in listed.data}
        except openai.NotFoundError:
            return set()
        except (AttributeError, TypeError):
            raise BackendError(
                f"{self.spec.base_url} answers, but not as the OpenAI API does; does the address end in /v1?"
            ) from None
        except Exception as error:
            raise self._plain(error) from error
        if names and self.spec.source not in names:
            some = ", ".join(sorted(names)[:8])
            raise BackendError(f"The server at {self.spec.base_url} has no model {self.spec.source!r}; it has {some}.")
        return owners

    def _has_log_p(self) -> bool:
        if self._gives_log_p is None:
            request = Request(None, "The", Decoder(), Limits(max_new_tokens=2), seed=1)
            found = self.answer(request)
            if isinstance(found, Refused):
                raise BackendError(found.reason)
            self._gives_log_p = found.log_p is not None
        return self._gives_log_p

    def _plain(self, error: Exception) -> BackendError:
        import openai

        where, retries = self.spec.base_url, self._options.get("retries", RETRIES)
        if isinstance(error, BackendError):
            return error
        if isinstance(error, openai.APITimeoutError):
            seconds = self._options.get("timeout", TIMEOUT)
            return BackendError(f"The server at {where} did not answer within {seconds} s, {retries + 1} times over.")
        if isinstance(error, openai.APIConnectionError):
            return BackendError(f"The server at {where} cannot be reached or broke off: {error.__cause__ or error}.")
        if isinstance(error, (openai.AuthenticationError, openai.PermissionDeniedError)):
            named = self.spec.key_variable or "no variable is named for it"
            return BackendError(f"The server at {where} does not accept the key ({named}): {said(error)}")
        if isinstance(error, openai.NotFoundError):
            return BackendError(
                f"The server at {where} knows no model {self.spec.source!r}, or no such path: {said(error)}"
            )
        if isinstance(error, openai.APIStatusError):
            return BackendError(
                f"The server at {where} answered {error.status_code} {retries + 1} times: {said(error)}"
            )
        return BackendError(
            f"The server at {where} gave an answer that cannot be read: {type(error).__name__}: {error}"
        )


class OpenAIEngine:
    """See ``base.Engine``: calls go on in threads, and a step takes in what has come back. The server batches."""

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
            return Refused(str(error))


def _generated(answer: Answer, request: Request, cut: int, seconds: float) -> Generated:
    text, log_p, reason, count = answer.cut_to(request.limits)
    decoder = request.decoder
    # With nothing tempered, truncated or barred the two distributions are one.
    plain = decoder.name == "ancestral" and request.limits.exact is None and request.limits.min_new_tokens <= 1
    return Generated(
        text=text,
        token_ids=(),
        n_tokens=count,
        log_p=log_p,
        log_q=log_p if plain else None,
        finish_reason=reason,
        seconds=seconds,
        prompt_tokens=answer.prompt_tokens,
        cut_tokens=max(cut, 0),
    )


def _is_too_long(refused: Refused) -> bool:
    return any(words in refused.reason.lower() for words in TOO_LONG)
