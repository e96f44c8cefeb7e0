"""The log-probability of texts that somebody else wrote, under a model that is loaded here.

Zhang et al. 2020 (section 3) place people's texts by it beside those of decoders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from generation.backends.base import Backend, BackendError, NotGenerated
from generation.backends.batch_rows import common_length
from generation.backends.padding import padded
from generation.backends.sampling import refuse_nan
from generation.backends.tokens import Tokens
from generation.backends.transformers_backend import TransformersBackend

#: Tokens of one pass, padding included: their logits are what takes memory.
TOKENS = 1024


@dataclass(frozen=True)
class TextScore:
    """``token_log_ps``: the natural log-probability of each of the text's tokens, given the prompt and those before."""

    token_log_ps: tuple[float, ...]

    @property
    def log_p(self) -> float:
        """That of the whole text, as `Generated.log_p` has it for a text that did not end by itself."""
        return sum(self.token_log_ps)


def score_texts(backend: Backend, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[int, TextScore | NotGenerated]]:
    """The score of each (prompt, text), with its number, in the order in which they are done.

    Prompt and text are read as one, with a space between them if neither has white space there. The first token that is
    not the prompt's alone belongs to the text. The end of the text is not counted. For an encoder–decoder model the
    prompt is the source, which cannot be empty. BackendError: not a model of the backend transformers.
    """
    if not isinstance(backend, TransformersBackend) or backend.model is None:
        raise BackendError("Only models of the backend transformers can score texts. Register the model with it.")
    rows = []
    for number, (prompt, text) in enumerate(pairs):
        row = tokens_of(backend, prompt, text)
        if isinstance(row, NotGenerated):
            yield number, row
        else:
            rows.append((number, *row))
    rows.sort(key=lambda row: len(row[1]))
    if backend.vocabulary.starts:
        yield from _scores_of_targets(backend, rows)
        return
    while rows:
        longest = len(rows[-1][1])
        part = [rows.pop() for _ in range(min(len(rows), max(1, TOKENS // longest)))]
        device = backend.model.device
        tokens = torch.zeros((len(part), longest), dtype=torch.long)
        for place, (_, row_tokens, _) in enumerate(part):
            tokens[place, : len(row_tokens)] = torch.tensor(row_tokens)
        tokens = tokens.to(device)
        with torch.inference_mode():
            # Padding comes last, where no token of the text can see it.
            logits = backend.model(input_ids=tokens, use_cache=False).logits[:, :-1].float()
            log_ps = logits.log_softmax(-1).gather(-1, tokens[:, 1:, None])[:, :, 0].cpu()
        for (number, row_tokens, first), row_log_ps in zip(part, log_ps, strict=True):
            own = row_log_ps[first - 1 : len(row_tokens) - 1]
            refuse_nan(own)
            yield number, TextScore(tuple(own.tolist()))


def _scores_of_targets(
    backend: TransformersBackend, rows: list[tuple[int, list[int], int]]
) -> Iterator[tuple[int, TextScore]]:
    """The same for rows whose first tokens are a source."""
    starts = list(backend.vocabulary.starts)
    while rows:
        longest = len(rows[-1][1])
        part = [rows.pop() for _ in range(min(len(rows), max(1, TOKENS // longest)))]
        device = torch.device(backend.model.device)
        sources, mask = padded([row[:first] for _, row, first in part], device)
        texts, _ = padded([[*starts, *row[first:]] for _, row, first in part], device)
        with torch.inference_mode():
            out = backend.model(input_ids=sources, attention_mask=mask, decoder_input_ids=texts, use_cache=False)
            log_ps = out.logits[:, :-1].float().log_softmax(-1).gather(-1, texts[:, 1:, None])[:, :, 0].cpu()
        for (number, row, first), row_log_ps in zip(part, log_ps, strict=True):
            own = row_log_ps[len(starts) - 1 :][: len(row) - first]
            refuse_nan(own)
            yield number, TextScore(tuple(own.tolist()))


def _source_and_text(vocabulary: Tokens, prompt: str, text: str) -> tuple[list[int], int] | NotGenerated:
    """All tokens, those of the source first, and which of them is the first of the text."""
    if not prompt.strip():
        return NotGenerated("The source is empty: an encoder–decoder model needs one; give a prompt.")
    source, target = [*vocabulary.head, *vocabulary.encode(prompt), *vocabulary.tail], vocabulary.encode(text)
    most = vocabulary.text_length - len(vocabulary.starts)
    for what, tokens, room in (("source", source, vocabulary.context_length), ("text", target, most)):
        if len(tokens) > room:
            return NotGenerated(f"The {what} has {len(tokens)} tokens and the model takes {room}; shorten it.")
    return [*source, *target], len(source)


def tokens_of(backend: TransformersBackend, prompt: str, text: str) -> tuple[list[int], int] | NotGenerated:
    """All tokens, and which of them is the first of the text."""
    vocabulary = backend.vocabulary
    if not text.strip():
        return NotGenerated("The text is empty.")
    if vocabulary.starts:
        return _source_and_text(vocabulary, prompt, text)
    before = [*vocabulary.head, *vocabulary.encode(prompt)] if prompt else list(vocabulary.head)
    if vocabulary.tail:  # a chat: the text is the whole of the answer
        tokens = [*before, *vocabulary.tail, *vocabulary.encode(text)]
        first = len(before) + len(vocabulary.tail)
    else:
        between = " " if prompt and not prompt[-1].isspace() and not text[0].isspace() else ""
        tokens = [*vocabulary.head, *vocabulary.encode(prompt + between + text)]
        first = common_length(before, tokens)
    first = max(first, 1)  # nothing comes before the very first token, so it has no probability
    if len(tokens) > vocabulary.context_length:
        return NotGenerated(
            f"Prompt and text have {len(tokens)} tokens and the model's context is {vocabulary.context_length}; "
            "shorten them."
        )
    if first >= len(tokens):
        return NotGenerated("The text is a single token and nothing comes before it; give a prompt.")
    return tokens, first
