"""The next token of many rows at once, each by its own decoder, with its exact log-probabilities.

The end of text is barred where the request bars it; then temperature, truncation, renormalisation, and the inverse of
the cumulative distribution in the order of token numbers. Where tokens tie with the last one kept, all of them are
kept, so that the distribution does not depend on the order of a sort. Rows are taken by kind of decoder and, on a CPU,
a few at a time, so that the passes over a vocabulary stay in cache. A truncation sorts only as much of the vocabulary
as holds its mass.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor

from generation.backends.rows import Row

# What a sort begins with; it grows eightfold until the mass is reached.
FIRST_SORTED = 256
BLOCK = 256
CPU_ROWS_AT_ONCE = 16


def draw(logits: Tensor, rows: Sequence[Row], ends: Tensor) -> list[tuple[int, float, float | None]]:
    """Token, log p and log q (None where nothing is drawn) of every row. ``logits``: rows x vocabulary, as the model
    gives them; ``ends``: the tokens that end a text."""
    by_kind: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        by_kind[_kind(row)].append(number)
    at_once = CPU_ROWS_AT_ONCE if logits.device.type == "cpu" else 256
    found = torch.empty(3, len(rows), dtype=torch.float64)
    pending = []
    for kind, numbers in by_kind.items():
        for first in range(0, len(numbers), at_once):
            part = numbers[first : first + at_once]
            picked = logits if len(part) == len(rows) else logits[torch.tensor(part, device=logits.device)]
            pending.append((part, _draw(picked, [rows[number] for number in part], kind, ends)))
    for part, drawn in pending:
        found[:, part] = drawn.to("cpu")
    tokens, log_p, log_q = found.tolist()
    return [
        (int(token), p, q if row.request.decoder.samples else None)
        for row, token, p, q in zip(rows, tokens, log_p, log_q, strict=True)
    ]


def _kind(row: Row) -> str:
    decoder = row.request.decoder
    if not decoder.samples:
        return "greedy"
    if decoder.top_k is not None:
        return "top_k"
    if decoder.top_p is not None and decoder.top_p < 1:
        return "top_p"
    if decoder.typical is not None and decoder.typical < 1:
        return "typical"
    return "all"


def _draw(logits: Tensor, rows: Sequence[Row], kind: str, ends: Tensor) -> Tensor:
    """Tokens, log p and log q as three rows of float64."""
    scores = logits.float()
    log_sum = scores.logsumexp(-1)
    barred = [number for number, row in enumerate(rows) if row.end_barred]
    raw = scores
    if barred and len(ends):
        scores = scores.clone() if scores is raw else scores
        at = torch.tensor(barred, device=scores.device)
        scores[at[:, None], ends[None, :]] = -torch.inf
    if kind == "greedy":
        tokens = scores.argmax(-1)
        log_p = raw.gather(-1, tokens[:, None])[:, 0] - log_sum
        return torch.stack([tokens.double(), log_p.double(), torch.zeros_like(log_p, dtype=torch.float64)])
    temperatures = _numbers([row.request.decoder.temperature for row in rows], scores)
    if any(row.request.decoder.temperature != 1.0 for row in rows):
        scores = scores / temperatures[:, None]
    highest = scores.amax(-1, keepdim=True)
    weights = (scores - highest).exp_()
    if kind != "all":
        weights = _truncated(weights, scores, rows, kind)
    tokens, total = _inverse(weights, _numbers([row.uniform for row in rows], scores, torch.float64))
    at = tokens[:, None]
    log_p = raw.gather(-1, at)[:, 0] - log_sum
    log_q = (scores.gather(-1, at) - highest)[:, 0].double() - total.log()
    return torch.stack([tokens.double(), log_p.double(), log_q])


def _truncated(weights: Tensor, scores: Tensor, rows: Sequence[Row], kind: str) -> Tensor:
    """The weights with those outside of each row's truncation set to 0."""
    decoders = [row.request.decoder for row in rows]
    if kind == "top_k":
        counts = [min(decoder.top_k or 1, weights.shape[-1]) for decoder in decoders]
        largest = scores.topk(max(counts), -1).values
        least = largest.gather(-1, torch.tensor(counts, device=scores.device)[:, None] - 1)
        return weights.masked_fill_(scores < least, 0.0)
    total = weights.sum(-1, keepdim=True)
    if kind == "top_p":
        masses = _numbers([decoder.top_p or 1.0 for decoder in decoders], scores)[:, None] * total
        return weights.masked_fill_(weights < _at_mass(weights, weights, masses, largest=True), 0.0)
    masses = _numbers([decoder.typical or 1.0 for decoder in decoders], scores)[:, None] * total
    surprise = (scores.amax(-1, keepdim=True) - scores) + total.log()
    entropy = (weights * surprise).nan_to_num_(0.0).sum(-1, keepdim=True) / total
    distance = (surprise - entropy).abs_()
    return weights.masked_fill_(distance > _at_mass(distance, weights, masses, largest=False), 0.0)


def _at_mass(order: Tensor, weights: Tensor, masses: Tensor, *, largest: bool) -> Tensor:
    """The value in ``order`` (sorted from its largest or its smallest) of the first token with which the summed
    weights reach the mass."""
    size = weights.shape[-1]
    sorted_so_far = min(FIRST_SORTED, size)
    while True:
        values, at = order.topk(sorted_so_far, -1, largest=largest, sorted=True)
        summed = weights.gather(-1, at).cumsum(-1)
        if sorted_so_far == size or bool((summed[:, -1:] >= masses).all()):
            reached = (summed < masses).sum(-1, keepdim=True).clamp_(max=sorted_so_far - 1)
            return values.gather(-1, reached)
        sorted_so_far = min(8 * sorted_so_far, size)


def _inverse(weights: Tensor, uniforms: Tensor) -> tuple[Tensor, Tensor]:
    """The token in whose share of the summed weights the number falls, and the sum (float64). Sums go by blocks: two
    short cumulative sums instead of one over the vocabulary."""
    rest = -weights.shape[-1] % BLOCK
    if rest:
        weights = torch.nn.functional.pad(weights, (0, rest))
    blocks = weights.view(weights.shape[0], -1, BLOCK)
    before = blocks.sum(-1).double().cumsum(-1)
    total = before[:, -1]
    aim = _below(uniforms * total, total)[:, None]
    block = torch.searchsorted(before, aim, right=True)
    inside = blocks.gather(1, block[:, :, None].expand(-1, -1, BLOCK))[:, 0].double().cumsum(-1)
    started = torch.where(block > 0, before.gather(-1, (block - 1).clamp(min=0)), torch.zeros_like(aim))
    place = torch.searchsorted(inside, _below((aim - started)[:, 0], inside[:, -1])[:, None], right=True)
    return (block * BLOCK + place)[:, 0], total


def _below(aim: Tensor, total: Tensor) -> Tensor:
    """Rounding must not carry an aim past the last token that has a weight."""
    return torch.minimum(aim, total * (1 - 1e-12)).clamp_(min=0.0)


def _numbers(values: Sequence[float], like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    return torch.tensor(values, dtype=dtype or like.dtype, device=like.device)
