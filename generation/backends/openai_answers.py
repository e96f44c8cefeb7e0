"""Reads what a server sent, which may be anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from generation.backends.base import BackendError
from generation.backends.batch_rows import HALF_A_CHARACTER
from generation.decoding.decoders import Limits
from generation.decoding.sentences import first_of, first_sentence_end

# For the logarithm of 0, llama.cpp writes the lowest float there is.
LEAST = -1e30


@dataclass(frozen=True)
class Answer:
    """One text; ``pieces`` and ``log_ps`` by token if the server reports them. ``lists_end``: whether they may include
    one for the end of the text. ``counted``: ``n_tokens`` is the server's own count."""

    text: str
    finish: str
    n_tokens: int
    prompt_tokens: int
    pieces: tuple[str, ...] = ()
    log_ps: tuple[float, ...] = ()
    lists_end: bool = True
    counted: bool = True

    def cut_to(self, limits: Limits) -> tuple[str, float | None, str, int]:
        """Text, log p, why it ended, number of tokens; up to the end of the sentence, or to a text that ends it, if the
        limits require it."""
        reason = "length" if self.finish == "length" else "end"
        end, cut = None, "sentence"
        if limits.stop == "sentence":
            end = first_sentence_end(self.text, min_words=limits.min_words)
        stopped = first_of(limits.stop_strings, self.text)
        if stopped is not None and (end is None or stopped < end):
            end, cut = stopped, "stop"
        if end is None or (reason == "end" and end == len(self.text)):
            # Of all tokens, including the end. llama.cpp leaves out the parts of a character that several tokens make
            # up, llama-cpp-python and others the end. The end's own piece is empty, or a mark that is not in the text.
            complete = bool(self.log_ps) and len(self.log_ps) == self.n_tokens
            if reason == "end":
                shows_end = not self.pieces or not self.pieces[-1] or "".join(self.pieces) != self.text
                complete = complete and self.lists_end and shows_end
            return self.text.rstrip(HALF_A_CHARACTER), sum(self.log_ps) if complete else None, reason, self.n_tokens
        if "".join(self.pieces)[:end] != self.text[:end] or len(self.pieces) != len(self.log_ps):
            return self.text[:end], None, cut, max(1, round(self.n_tokens * end / len(self.text)))
        count, length = 0, 0
        while length < end:
            length += len(self.pieces[count])
            count += 1
        return self.text[:end], sum(self.log_ps[:count]), cut, count

    def ended_early(self, limits: Limits) -> bool:
        """Whether it ended by itself before the least number of words for a sentence end."""
        sentence = limits.stop == "sentence" and self.finish != "length"
        return sentence and len(self.text.split()) < limits.min_words


def read_answer(raw: Any, where: str, *, chat: bool, hide: Callable[[str], str] = str) -> Answer:
    """The answer as the API defines it. Raises BackendError with what is wrong with it."""
    choices = getattr(raw, "choices", None)
    if not choices:
        shown = raw if isinstance(raw, str) else type(raw).__name__
        raise BackendError(f"The server at {where} sent a response without a text: {hide(str(shown))[:120]!r}.")
    choice = choices[0]
    message = getattr(choice, "message", None)
    text = getattr(message, "content", None) if chat else getattr(choice, "text", None)
    if chat and text is None and message is not None:
        # The model declined, or wrote nothing: the API's answer to that has no content.
        text = str(getattr(message, "refusal", None) or "")
    if not isinstance(text, str):
        raise BackendError(f"The server at {where} sent a response without a text.")
    # Completions give two lists, chats one of objects; llama.cpp gives the latter for both, and the library then leaves
    # its objects as mappings.
    logprobs = getattr(choice, "logprobs", None)
    listed = getattr(logprobs, "content", None)
    if listed:
        pieces, log_ps = [_field(token, "token") for token in listed], [_field(token, "logprob") for token in listed]
    else:
        pieces, log_ps = getattr(logprobs, "tokens", None) or [], getattr(logprobs, "token_logprobs", None) or []
    if not log_ps or not all(isinstance(log_p, (int, float)) and log_p > LEAST for log_p in log_ps):
        pieces, log_ps = [], []
    usage = getattr(raw, "usage", None)
    n_tokens, prompt_tokens = getattr(usage, "completion_tokens", None), getattr(usage, "prompt_tokens", None)
    return Answer(
        text=text,
        finish=str(getattr(choice, "finish_reason", "") or ""),
        n_tokens=n_tokens if isinstance(n_tokens, int) else len(log_ps) or -(-len(text) // 4),
        prompt_tokens=prompt_tokens if isinstance(prompt_tokens, int) else 0,
        pieces=tuple(map(str, pieces)),
        log_ps=tuple(map(float, log_ps)),
        counted=isinstance(n_tokens, int),
    )


def server_message(error: Any, hide: Callable[[str], str] = str) -> str:
    """The server's message about an error, in one short line, with secrets hidden. The text of an HTML page is left
    out."""
    body = getattr(error, "body", None)
    message = (body.get("message") or body.get("detail")) if isinstance(body, dict) else body
    if not isinstance(message, str):
        message = ""
    text = hide(str(message or getattr(error, "message", "") or error).strip())
    kind = getattr(getattr(error, "response", None), "headers", {}).get("content-type", "")
    if "<html" in text.lower() or "html" in kind:
        return "a page of HTML"
    return text.splitlines()[0][:300] if text else "nothing"


def _field(token: Any, name: str) -> Any:
    return token.get(name) if isinstance(token, dict) else getattr(token, name, None)
