"""The log-probabilities of several texts behind one prompt, which is read once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from generation.backends.base import Backend, BackendError, NotGenerated
from generation.backends.sampling import refuse_nan
from generation.backends.scoring import score_texts, tokens_of
from generation.backends.transformers_backend import TransformersBackend


@dataclass(frozen=True)
class Alternatives:
    """``log_ps``: the natural log-probability of each text, as `scoring.TextScore.log_p` has it. ``tokens``: how many
    the model read."""

    log_ps: tuple[float, ...]
    tokens: int


def score_alternatives(backend: Backend, prompt: str, texts: Sequence[str]) -> Alternatives | NotGenerated:
    """Texts that begin alike cost little more than one of them. BackendError: not a model of the backend transformers.

    The tokens that all texts begin with, the prompt's among them, are read once; what the model remembers of them is
    then copied for each text.
    """
    if not isinstance(backend, TransformersBackend) or backend.model is None:
        raise BackendError("Only models of the backend transformers can score texts. Register the model with it.")
    rows: list[tuple[list[int], int]] = []
    for text in texts:
        row = tokens_of(backend, prompt, text)
        if isinstance(row, NotGenerated):
            return row
        rows.append(row)
    if backend.vocabulary.starts:  # the source of an encoder–decoder model is read anew for each text
        return _one_by_one(backend, prompt, texts, rows)
    first = min(first for _, first in rows)
    shared = first
    while shared < min(len(tokens) for tokens, _ in rows) - 1 and len({tokens[shared] for tokens, _ in rows}) == 1:
        shared += 1
    if any(tokens[:first] != rows[0][0][:first] for tokens, _ in rows) or {place for _, place in rows} != {first}:
        return _one_by_one(backend, prompt, texts, rows)
    device, longest = backend.model.device, max(len(tokens) for tokens, _ in rows) - shared
    begin = torch.tensor([rows[0][0][:shared]], device=device)
    ends = torch.zeros((len(rows), longest), dtype=torch.long)
    for place, (tokens, _) in enumerate(rows):
        ends[place, : len(tokens) - shared] = torch.tensor(tokens[shared:])
    ends = ends.to(device)
    with torch.inference_mode():
        read = backend.model(input_ids=begin, use_cache=True)
        cache = read.past_key_values
        if not hasattr(cache, "batch_repeat_interleave"):
            return _one_by_one(backend, prompt, texts, rows)
        before = read.logits[0, first - 1 :].float().log_softmax(-1)
        common = before[:-1].gather(-1, begin[0, first:, None]).sum()
        cache.batch_repeat_interleave(len(rows))
        # Padding comes last, where no token of the text can see it.
        after = backend.model(input_ids=ends, past_key_values=cache, use_cache=True).logits[:, :-1].float()
        log_ps = before[-1][ends[:, 0]][:, None]
        own = after.log_softmax(-1).gather(-1, ends[:, 1:, None])[:, :, 0]
        log_ps = torch.cat([log_ps, own], dim=1).cpu()
    totals = [float(common) + float(log_ps[place, : len(row) - shared].sum()) for place, (row, _) in enumerate(rows)]
    refuse_nan(torch.tensor(totals))
    return Alternatives(tuple(totals), shared + sum(len(tokens) - shared for tokens, _ in rows))


def _one_by_one(
    backend: Backend, prompt: str, texts: Sequence[str], rows: Sequence[tuple[list[int], int]]
) -> Alternatives | NotGenerated:
    log_ps = [0.0] * len(texts)
    for number, score in score_texts(backend, [(prompt, text) for text in texts]):
        if isinstance(score, NotGenerated):
            return score
        log_ps[number] = score.log_p
    return Alternatives(tuple(log_ps), sum(len(tokens) for tokens, _ in rows))
