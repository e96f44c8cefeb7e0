"""Calls to a server with the OpenAI API, with clear messages when they fail."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from common.numbers import whole_number
from generation.backends import server_permissions
from generation.backends.base import BackendError, ModelSpec, NotGenerated, ServerAway
from generation.backends.openai_answers import Answer, read_answer, server_message
from generation.decoding.conversations import Message

TIMEOUT, RETRIES = 120, 4
TOO_BUSY, BROKEN = 429, 500
#: What a model does that accepts no other value of these.
DEFAULTS = {"temperature": 1.0, "top_p": 1.0}


@dataclass(frozen=True)
class Listing:
    """What a server lists: names, owners, and what it reports about the client's model (its context length and the
    like)."""

    names: frozenset[str] = frozenset()
    owners: frozenset[str] = frozenset()
    context: int | None = None
    parameters: int | None = None
    vocabulary: int | None = None


class Client:
    """The openai library's client for one model. All methods raise BackendError if the server cannot be used now."""

    def __init__(self, spec: ModelSpec, *, timeout: int, retries: int) -> None:
        self.spec, self._timeout, self._retries = spec, timeout, retries
        self._key = ""
        self._asks_log_p = True
        self._renames_most = False
        #: Whether the server has not refused JSON schemas yet.
        self._takes_schema = True
        self.fixed: frozenset[str] = frozenset()
        try:
            import openai
        except ImportError:
            raise BackendError(
                "The library openai is not installed. Install it with: pip install -r requirements-models.txt"
            ) from None
        if urlsplit(spec.base_url).scheme not in ("http", "https"):
            raise BackendError(
                f"base_url is {spec.base_url!r}; use the server's address, such as http://127.0.0.1:8000/v1."
            )
        if why := server_permissions.why_not_host(spec.base_url):
            raise BackendError(f"{why} {server_permissions.host_fix(spec.base_url)}")
        key = "none"
        if spec.key_variable:
            if not server_permissions.is_key_variable(spec.key_variable):
                raise BackendError(
                    f"The model names a variable that may not hold a key. {server_permissions.key_fix()}"
                )
            self._key = key = os.environ.get(spec.key_variable, "")
            if not key:
                raise BackendError(
                    f"The environment variable {spec.key_variable}, which holds the server's key, is not set for "
                    "this process."
                )
        seconds = float(timeout)
        # A redirect could bypass the list of servers that may be used.
        http = openai.DefaultHttpxClient(base_url=spec.base_url, timeout=seconds, follow_redirects=False)
        self._client = openai.OpenAI(
            base_url=spec.base_url, api_key=key, timeout=seconds, max_retries=retries, http_client=http
        )

    def close(self) -> None:
        self._client.close()

    def ask(self, prompt: str, body: dict[str, Any], messages: Sequence[Message] = ()) -> Answer | NotGenerated:
        """One text, with log-probabilities unless the server has refused them before. ``messages``: the conversation
        that it answers, in place of the prompt."""
        import openai

        if why := self.why_fixed(body):
            return NotGenerated(why)
        asked_log_p = self._asks_log_p  # calls run in several threads
        parameters = {name: value for name, value in body.items() if name not in self.fixed}
        system = parameters.pop("system", "")
        if not (self.spec.chat and self._takes_schema):
            parameters.pop("response_format", None)
        if self._renames_most and "max_tokens" in parameters:
            parameters["max_completion_tokens"] = parameters.pop("max_tokens")
        if asked_log_p:
            # Without top_logprobs, llama-cpp-python returns none, and llama.cpp twenty per token.
            parameters |= {"logprobs": True, "top_logprobs": 1} if self.spec.chat else {"logprobs": 1}
        raw: Any
        try:
            raw = self._called(messages or [("user", prompt)], system, parameters)
        except openai.APIStatusError as error:
            if self._adapts(error, parameters, asked_log_p):
                return self.ask(prompt, body, messages)
            if isinstance(error, (openai.BadRequestError, openai.UnprocessableEntityError)):
                return NotGenerated(
                    f"The server at {self.spec.base_url} refused it: {server_message(error, self._hide)}"
                )
            raise self.plain(error) from error
        except Exception as error:
            raise self.plain(error) from error
        return read_answer(raw, self.spec.base_url, chat=self.spec.chat, hide=self._hide)

    def _adapts(self, error: Any, parameters: Mapping[str, Any], asked_log_p: bool) -> bool:
        """Whether the server refused something that the next call can do without. The client remembers it."""
        if asked_log_p and "logprobs" in server_message(error, self._hide):
            self._asks_log_p = False
            return True
        if "response_format" in parameters and refuses_schema(error, self._hide):
            self._takes_schema = False
            return True
        # OpenAI's newer models take max_completion_tokens in place of max_tokens, and only the default temperature and
        # top_p.
        refused = str(getattr(error, "param", None) or "")
        if error.status_code not in (400, 422) or refused not in parameters:
            return False
        if refused == "max_tokens":
            self._renames_most = True
        elif refused in DEFAULTS:
            self.fixed |= {refused}
        return refused == "max_tokens" or refused in DEFAULTS

    def _called(self, messages: Sequence[Message], system: str, parameters: dict[str, Any]) -> Any:
        if not self.spec.chat:
            ((_, prompt),) = messages
            return self._client.completions.create(model=self.spec.source, prompt=prompt, **parameters)
        turns: Any = [{"role": "system", "content": system}] if system else []
        turns += [{"role": role, "content": text} for role, text in messages]
        return self._client.chat.completions.create(model=self.spec.source, messages=turns, **parameters)

    def why_fixed(self, body: Mapping[str, Any]) -> str:
        """Why the model cannot use these parameters, if the server has refused them before; empty if it can."""
        changed = [name for name in sorted(self.fixed) if body[name] != DEFAULTS[name]]
        if not changed:
            return ""
        return (
            f"The model {self.spec.source} accepts only the default {' and '.join(changed)}, and this decoder needs "
            "another; use ancestral."
        )

    def listing(self) -> Listing:
        """What the server lists; empty if it has no list, because such a server may still answer."""
        import openai

        try:
            listed = self._client.models.list().data
            mine = next((model for model in listed if str(model.id) == self.spec.source), None)
            meta = getattr(mine, "meta", None)
            meta = meta if isinstance(meta, dict) else {}
            return Listing(
                frozenset(str(model.id) for model in listed),
                frozenset(str(getattr(model, "owned_by", "")).lower() for model in listed),
                context=_size(meta.get("n_ctx")) or _size(getattr(mine, "max_model_len", None)),
                parameters=_size(meta.get("n_params")),
                vocabulary=_size(meta.get("n_vocab")),
            )
        except openai.NotFoundError:
            return Listing()
        except (AttributeError, TypeError):
            raise BackendError(
                f"{self.spec.base_url} responds, but not like the OpenAI API; does the address end in /v1?"
            ) from None
        except Exception as error:
            raise self.plain(error) from error

    def api(self) -> Any:
        """The server's description of its paths, outside of /v1; None if missing or unreadable."""
        import openai

        parts = urlsplit(self.spec.base_url)
        path = parts.path.rstrip("/").removesuffix("/v1") + "/openapi.json"
        try:
            return self._client.get(urlunsplit(parts._replace(path=path)), cast_to=object)
        except openai.APIConnectionError as error:
            raise self.plain(error) from error
        except Exception:  # many servers have no such page, or keep it private
            return None

    def _hide(self, text: str) -> str:
        """The text without the key, which a server may repeat, also as it is written in addresses and in JSON."""
        written = {self._key, quote(self._key, safe=""), json.dumps(self._key)[1:-1]} - {""}
        for secret in written:
            text = text.replace(secret, "(the key)")
        return text

    def plain(self, error: Exception) -> BackendError:
        """An error of the library or of the server as a message for the user."""
        import openai

        where, times = self.spec.base_url, self._retries + 1
        if isinstance(error, BackendError):
            return error
        if isinstance(error, openai.APITimeoutError):
            return ServerAway(f"The server at {where} did not respond within {self._timeout} s, {times} times.")
        if isinstance(error, openai.APIConnectionError):
            return ServerAway(
                f"The server at {where} cannot be reached or broke off: {self._hide(str(error.__cause__ or error))}."
            )
        if isinstance(error, (openai.AuthenticationError, openai.PermissionDeniedError)):
            named = self.spec.key_variable or "no variable is named for it"
            return BackendError(
                f"The server at {where} does not accept the key ({named}): {server_message(error, self._hide)}"
            )
        if isinstance(error, openai.NotFoundError):
            why = server_message(error, self._hide)
            return BackendError(f"The server at {where} has no model {self.spec.source!r}, or no such path: {why}")
        if isinstance(error, openai.APIStatusError):
            seconds = error.response.headers.get("retry-after", "").strip()
            pause = float(whole_number(seconds, least=0, most=86_400) or 0)  # 0 if it is missing or a date
            how = f"and asks for a pause of {pause:.0f} s" if pause else f"{times} times"
            message = (
                f"The server at {where} responded with {error.status_code} {how}: {server_message(error, self._hide)}"
            )
            away = error.status_code == TOO_BUSY or error.status_code >= BROKEN
            return ServerAway(message, pause=pause) if away else BackendError(message)
        why = f"{type(error).__name__}: {self._hide(str(error))}"
        return BackendError(f"The server at {where} sent a response that cannot be read: {why}")


def refuses_schema(error: Any, hide: Callable[[str], str]) -> bool:
    """Whether the server refused a call because of its JSON schema, so that it may take it without one."""
    words = f"{getattr(error, 'param', '') or ''} {server_message(error, hide)}".lower()
    is_refusal = error.status_code in (400, 404, 422, 501)
    return is_refusal and any(word in words for word in ("response_format", "json_schema", "structured output"))


def _size(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
