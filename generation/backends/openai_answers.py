"""Reading what a server sent back: it may be anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from generation.backends.base import BackendError
from generation.decoders import Limits
from generation.texts import first_sentence_end


@dataclass(frozen=True)
class Answer:
    """One text; ``pieces`` and ``log_ps`` by token where the server gives them."""

    text: str
    finish: str
    n_tokens: int
    prompt_tokens: int
    pieces: tuple[str, ...] = ()
    log_ps: tuple[float, ...] = ()

    def cut_to(self, limits: Limits) -> tuple[str, float | None, str, int]:
        """Text, log p, why it ended, number of tokens; up to the sentence end where the limits ask for one."""
        whole = sum(self.log_ps) if self.log_ps else None
        reason = "length" if self.finish == "length" else "end"
        end = first_sentence_end(self.text, min_words=limits.min_words) if limits.stop == "sentence" else None
        if end is None or (reason == "end" and end == len(self.text)):
            return self.text, whole, reason, self.n_tokens
        if "".join(self.pieces) != self.text or len(self.pieces) != len(self.log_ps):
            return self.text[:end], None, "sentence", max(1, round(self.n_tokens * end / len(self.text)))
        count, length = 0, 0
        while length < end:
            length += len(self.pieces[count])
            count += 1
        return self.text[:end], sum(self.log_ps[:count]), "sentence", count


def read_answer(raw: Any, where: str, *, chat: bool) -> Answer:
    """The answer as the API defines it. Raises BackendError naming what is wrong with it."""
    choices = getattr(raw, "choices", None)
    if not choices:
        shown = raw if isinstance(raw, str) else type(raw).__name__
        raise BackendError(f"The server at {where} gave an answer without a text: {str(shown)[:120]!r}.")
    choice = choices[0]
    text = getattr(getattr(choice, "message", None), "content", None) if chat else getattr(choice, "text", None)
    if not isinstance(text, str):
        raise BackendError(f"The server at {where} gave an answer without a text.")
    pieces, log_ps = _tokens(getattr(choice, "logprobs", None))
    usage = getattr(raw, "usage", None)
    n_tokens = getattr(usage, "completion_tokens", None)
    return Answer(
        text=text,
        finish=str(getattr(choice, "finish_reason", "") or ""),
        n_tokens=n_tokens if isinstance(n_tokens, int) else len(log_ps) or -(-len(text) // 4),
        prompt_tokens=_whole(getattr(usage, "prompt_tokens", None)),
        pieces=pieces,
        log_ps=log_ps,
    )


def said(error: Any) -> str:
    """What the server said about an error, in one short line; a page of HTML says nothing."""
    body = getattr(error, "body", None)
    message = body.get("message") if isinstance(body, dict) else None
    text = str(message or getattr(error, "message", "") or error).strip()
    kind = getattr(getattr(error, "response", None), "headers", {}).get("content-type", "")
    if "<html" in text.lower() or "html" in kind:
        return "a page of HTML"
    return text.splitlines()[0][:300] if text else "nothing"


def _tokens(logprobs: Any) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Completions give two lists, chats one of objects; llama.cpp gives objects for both."""
    listed = getattr(logprobs, "content", None)
    if listed:
        return _usable([each.token for each in listed], [each.logprob for each in listed])
    found = getattr(logprobs, "token_logprobs", None)
    return _usable(getattr(logprobs, "tokens", None) or [], found) if found else ((), ())


def _usable(pieces: list[Any], log_ps: list[Any]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    if not all(isinstance(each, (int, float)) for each in log_ps):
        return (), ()
    return tuple(str(each) for each in pieces), tuple(float(each) for each in log_ps)


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0
