"""One text while it is being written: its prompt as tokens, its own random numbers, and when it ends.

The same for every backend that draws tokens itself; nothing here imports a model library.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from common.text_length import count_words
from generation.backends.base import Generated, NotGenerated, Request
from generation.decoding.conversations import Message, without_oldest
from generation.decoding.sentences import first_of, first_sentence_end

HALF_A_CHARACTER = "\ufffd"


class Vocabulary(Protocol):
    """A model's tokens. ``head`` and ``tail`` go around every prompt: a beginning-of-text token, or what a chat has
    before and after the user's turn. ``ends`` are the tokens that end a text. ``starts``: of an encoder–decoder model,
    which reads the prompt as a source of its own, the tokens that come before every text; empty for other models.
    ``text_length``: the most tokens of such a text, with these."""

    head: tuple[int, ...]
    tail: tuple[int, ...]
    ends: frozenset[int]
    context_length: int
    starts: tuple[int, ...]
    text_length: int

    def encode(self, text: str) -> list[int]:
        """Tokens of the text alone."""

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of a continuation; half a character at its end becomes U+FFFD."""

    def conversation(self, messages: Sequence[Message]) -> list[int] | None:
        """Tokens of a conversation up to the next answer, by the model's chat template; None without one.

        What a message contains never becomes a mark of the template. Raises ValueError if the template refuses it.
        """


class Row:
    """A request in progress. ``prompt``: its tokens with head and tail, after any cut."""

    def __init__(self, request: Request, prompt: tuple[int, ...], cut_tokens: int, vocabulary: Vocabulary) -> None:
        self.request, self.prompt, self.cut_tokens = request, prompt, cut_tokens
        self._vocabulary = vocabulary
        limits = request.limits
        room = vocabulary.context_length - len(prompt)
        self.most = min(limits.most, vocabulary.text_length - len(vocabulary.starts) if vocabulary.starts else room)
        self._reads_text = bool(limits.stop or limits.min_words or limits.stop_strings)
        self._uniforms = uniforms(request.seed, self.most) if request.decoder.samples else np.zeros(self.most)
        self.restart()

    def restart(self) -> None:
        """Start again from the first token with the same random numbers, and so with the same text."""
        self.tokens: list[int] = []
        self._log_p: list[float] = []
        self._log_q: list[float] = []
        self._n_words = 0
        self.started = time.perf_counter()

    @property
    def uniform(self) -> float:
        """The number in [0, 1) that decides the next token."""
        return float(self._uniforms[len(self.tokens)])

    @property
    def read(self) -> tuple[int, ...]:
        """What the next token continues: the prompt and the text so far, or the text alone if the prompt is a source of
        its own."""
        return (*(self._vocabulary.starts or self.prompt), *self.tokens)

    @property
    def end_barred(self) -> bool:
        """Whether the next token must not end the text."""
        return len(self.tokens) < self.request.limits.least or self.lacks_words

    @property
    def lacks_words(self) -> bool:
        """Whether the text has fewer words than it must have before it may end."""
        return self._n_words < self.request.limits.min_words

    @property
    def columns(self) -> int:
        """Tokens of prompt and text together, at most."""
        return len(self.prompt) + self.most

    @property
    def text(self) -> str:
        """The text so far, without half a character at its end."""
        return self._vocabulary.decode(self.tokens).rstrip(HALF_A_CHARACTER)

    def take(self, token: int, log_p: float, log_q: float | None) -> Generated | None:
        """Add the next token. Returns the finished text if it was the last."""
        self.tokens.append(token)
        self._log_p.append(log_p)
        if log_q is not None:
            self._log_q.append(log_q)
        if token in self._vocabulary.ends:
            return self._finished(self._vocabulary.decode(self.tokens[:-1]), "end")
        full = len(self.tokens) >= self.most
        if not self._reads_text:
            return self._finished(self._vocabulary.decode(self.tokens), "length") if full else None
        text, limits = self._vocabulary.decode(self.tokens), self.request.limits
        self._n_words = count_words(text) if limits.min_words else 0
        end, reason = None, "sentence"
        if limits.stop == "sentence" and len(self.tokens) >= limits.least:
            end = first_sentence_end(text, min_words=limits.min_words, complete=full)
        stopped = first_of(limits.stop_strings, text)
        if stopped is not None and (end is None or stopped < end):
            end, reason = stopped, "stop"
        if end is None:
            return self._finished(text, "length") if full else None
        # Later tokens, needed to recognise the end, are dropped with their log-probabilities.
        n_tokens = len(self.tokens)
        while n_tokens > 1 and len(self._vocabulary.decode(self.tokens[: n_tokens - 1])) >= end:
            n_tokens -= 1
        self.tokens, self._log_p, self._log_q = self.tokens[:n_tokens], self._log_p[:n_tokens], self._log_q[:n_tokens]
        return self._finished(text[:end], reason)

    def _finished(self, text: str, reason: str) -> Generated:
        return Generated(
            text=text.rstrip(HALF_A_CHARACTER),
            token_ids=tuple(self.tokens),
            n_tokens=len(self.tokens),
            log_p=sum(self._log_p),
            log_q=sum(self._log_q) if self.request.decoder.samples else None,
            finish_reason="context" if reason == "length" and self.most < self.request.limits.most else reason,
            seconds=time.perf_counter() - self.started,
            prompt_tokens=len(self.prompt),
            cut_tokens=self.cut_tokens,
        )


def uniforms(seed: int, count: int) -> npt.NDArray[np.float64]:
    """Numbers in [0, 1) of a seed; the n-th never depends on how many are drawn (Philox, Salmon et al. 2011)."""
    return np.random.Generator(np.random.Philox(key=seed & (2**64 - 1))).random(count)


def common_length(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens two sequences share at their beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(first), len(second)))


def refused(requests: Sequence[Request], vocabulary: Vocabulary) -> dict[Any, str]:
    """Which requests cannot be rows, by key, and why."""
    begun = ((request.key, begin(request, vocabulary)) for request in requests)
    return {key: row.reason for key, row in begun if isinstance(row, NotGenerated)}


def begin(request: Request, vocabulary: Vocabulary) -> Row | NotGenerated:
    """The request as a row, or why it cannot be one.

    A prompt fits if it leaves the room that ``Limits.reserved`` names. If it does not fit, its beginning is removed
    after the first ``keep`` characters; if that is not allowed, it is accepted as long as there is room for the tokens
    that the text needs.
    """
    if not request.prompt.strip():
        return NotGenerated("The prompt is empty. A text needs at least one word to continue from.")
    if request.messages and (row := _begin_with_messages(request, vocabulary)) is not None:
        return row
    context, around = vocabulary.context_length, len(vocabulary.head) + len(vocabulary.tail)
    tokens = vocabulary.encode(request.prompt)
    limits, cut = request.limits, 0
    if vocabulary.starts:
        return _begin_with_source(request, vocabulary, tokens)
    if limits.needed + around >= context:
        return NotGenerated(
            f"The text should have {limits.shortest} and the model's context is {context} tokens, including the "
            "prompt; ask for fewer."
        )
    room = context - around - limits.reserved(context)
    if len(tokens) > room and request.cut_left:
        priming = vocabulary.encode(request.prompt[: request.keep]) if request.keep else []
        cuttable = vocabulary.encode(request.prompt[request.keep :]) if request.keep else tokens
        if len(priming) >= room:
            return NotGenerated(
                f"The priming text alone has {len(priming)} tokens and the model takes {max(room, 0)} before it writes "
                f"{request.limits.most}; shorten the priming text or ask for fewer tokens."
            )
        cut = max(len(priming) + len(cuttable) - room, 0)
        tokens = priming + cuttable[cut:]
    elif len(tokens) + around + limits.needed > context:
        text = f" and the text should have {limits.shortest}" if limits.needed > 1 else ""
        return NotGenerated(
            f"The prompt has {len(tokens)} tokens and the model's context is {context}{text}; shorten it, or let it be "
            "cut from the left."
        )
    return Row(request, (*vocabulary.head, *tokens, *vocabulary.tail), cut, vocabulary)


def _begin_with_messages(request: Request, vocabulary: Vocabulary) -> Row | NotGenerated | None:
    """The next answer in a conversation. None: the model has no chat template, and continues the prompt."""
    messages, room = request.messages, vocabulary.context_length - request.limits.reserved(vocabulary.context_length)
    try:
        tokens = whole = vocabulary.conversation(messages)
        while tokens is not None and len(tokens) > room and (messages := without_oldest(messages)):
            tokens = vocabulary.conversation(messages)
    except ValueError as error:
        return NotGenerated(f"The model's chat template refuses the conversation: {error}")
    if tokens is None or whole is None:
        return None
    if len(tokens) > room:
        return NotGenerated(
            f"The last message alone has {len(tokens)} tokens with what goes around it, and the model takes "
            f"{max(room, 0)} before it writes {request.limits.most}; allow shorter messages or ask for fewer tokens."
        )
    return Row(request, tuple(tokens), len(whole) - len(tokens), vocabulary)


def _begin_with_source(request: Request, vocabulary: Vocabulary, tokens: list[int]) -> Row | NotGenerated:
    """The same for an encoder–decoder model: source and text do not share their room."""
    limits, most = request.limits, vocabulary.text_length - len(vocabulary.starts)
    if limits.needed > most:
        return NotGenerated(
            f"The text should have {limits.shortest} and the model writes {most} at most; ask for fewer."
        )
    room = vocabulary.context_length - len(vocabulary.head) - len(vocabulary.tail)
    if not tokens:
        return NotGenerated("The prompt is empty for this model: its tokenizer makes no token of it.")
    cut = 0
    if len(tokens) > room:
        priming = vocabulary.encode(request.prompt[: request.keep]) if request.keep else []
        if not request.cut_left or len(priming) >= room:
            what = "priming text alone" if request.cut_left else "prompt"
            count = len(priming) if request.cut_left else len(tokens)
            return NotGenerated(
                f"The {what} has {count} tokens and the model reads {room} at most; shorten it"
                f"{'' if request.cut_left else ', or let it be cut from the left'}."
            )
        cuttable = vocabulary.encode(request.prompt[request.keep :]) if request.keep else tokens
        cut = max(len(priming) + len(cuttable) - room, 0)
        tokens = priming + cuttable[cut:]
    return Row(request, (*vocabulary.head, *tokens, *vocabulary.tail), cut, vocabulary)
