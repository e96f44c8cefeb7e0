"""The next token of many rows at once, each by its own decoder, with its exact log-probabilities.

The end of text is excluded if the request requires it; then come repetition penalty, temperature, truncation,
renormalisation, and the inverse of the cumulative distribution in the order of token numbers. Tokens that tie with the
last one kept are all kept, so that the distribution does not depend on the order of a sort. Rows are processed by kind
of decoder and, on a CPU, a few at a time, so that the passes over a vocabulary stay in cache. A truncation sorts only
as much of the vocabulary as holds its mass.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor

from generation.backends.base import BackendError
from generation.backends.batch_rows import Row
from generation.backends.memory import on_device
from generation.decoding.decoders import Decoder

# What a sort begins with; it grows eightfold until the mass is reached.
FIRST_SORTED = 256
BLOCK = 256
TINY = 2.0**-126
GREEDY = ("greedy",)
BELOW_ONE = 1 - 2.0**-24
CPU_ROWS_AT_ONCE = 16


def draw(logits: Tensor, rows: Sequence[Row], ends: Tensor) -> list[tuple[int, float, float | None]]:
    """Token, log p and log q (None where nothing is drawn) of every row. ``logits``: rows x vocabulary, as the model
    gives them; ``ends``: the tokens that end a text."""
    by_kind: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        decoder = row.request.decoder
        by_kind[_kind_of(decoder) if decoder.samples else GREEDY].append(number)
    at_once = CPU_ROWS_AT_ONCE if logits.device.type == "cpu" else 256
    order: list[int] = []
    drawn = []
    for kind, numbers in by_kind.items():
        for first in range(0, len(numbers), at_once):
            part = numbers[first : first + at_once]
            picked = logits if len(part) == len(rows) else logits.index_select(0, on_device(part, logits.device))
            drawn.append(_draw(picked, [rows[number] for number in part], kind, ends))
            order += part
    by_row = torch.empty(3, len(rows), dtype=torch.float64)
    by_row[:, order] = torch.cat(drawn, 1).to("cpu")
    refuse_nan(by_row[1])
    tokens, log_p, log_q = by_row.tolist()
    return [
        (int(token), p, q if row.request.decoder.samples else None)
        for row, token, p, q in zip(rows, tokens, log_p, log_q, strict=True)
    ]


def _kind_of(decoder: Decoder) -> tuple[str, ...]:
    """The truncations that change something, in their order."""
    return tuple(name for name in decoder.truncations if name in ("top_k", "min_p") or getattr(decoder, name) < 1)


def refuse_nan(log_p: Tensor) -> None:
    """Raise BackendError if a log-probability is not a number; one such logit makes all of its row so."""
    if bool(log_p.isnan().any()):
        raise BackendError(
            "The model gives NaN (not a number) instead of probabilities; use bfloat16, or float32: register it under "
            "another name with that dtype. If it has that dtype, its files may be damaged."
        )


def _draw(logits: Tensor, rows: Sequence[Row], kind: tuple[str, ...], ends: Tensor) -> Tensor:
    """Tokens, log p and log q as three rows of float64."""
    raw = scores = logits.float()
    barred = [number for number, row in enumerate(rows) if row.end_barred]
    if barred and len(ends):
        scores = raw.clone()
        index = on_device(barred, scores.device)
        scores[index[:, None], ends[None, :]] = -torch.inf
    if any(row.request.decoder.repetition_penalty != 1.0 for row in rows):
        scores = _penalised(raw.clone() if scores is raw else scores, rows)
    if kind == GREEDY:
        tokens = scores.argmax(-1)
        log_p = raw.gather(-1, tokens[:, None])[:, 0] - _log_sum(raw, raw.softmax(-1))
        return torch.stack([tokens.double(), log_p.double(), torch.zeros_like(log_p, dtype=torch.float64)])
    if any(row.request.decoder.temperature != 1.0 for row in rows):
        scores = scores / _numbers([row.request.decoder.temperature for row in rows], scores)[:, None]
    weights = scores.softmax(-1)
    sums = _sums(weights)
    log_sum = _log_sum(raw, weights, sums) if scores is raw else _log_sum(raw, raw.softmax(-1))
    for truncation in kind:
        weights = _truncated(weights, sums, scores, rows, truncation)
        if truncation != kind[-1]:
            sums = _sums(weights)
    tokens, total = _inverse(weights, _numbers([row.uniform for row in rows], scores, torch.float64))
    index = tokens[:, None]
    log_p = raw.gather(-1, index)[:, 0] - log_sum
    log_q = weights.gather(-1, index)[:, 0].double().log() - total.log()
    return torch.stack([tokens.double(), log_p.double(), log_q])


def _penalised(scores: Tensor, rows: Sequence[Row]) -> Tensor:
    """The scores, changed in place, with those of the tokens that have been read moved away from being likely."""
    for number, row in enumerate(rows):
        if (penalty := row.request.decoder.repetition_penalty) != 1.0:
            repeated = on_device(sorted(set(row.read)), scores.device)
            values = scores[number, repeated]
            scores[number, repeated] = torch.where(values > 0, values / penalty, values * penalty)
    return scores


def _log_sum(logits: Tensor, softmax: Tensor, sums: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of exponentials, in quick passes, from the likeliest token's logit and share."""
    sums = _sums(softmax) if sums is None else sums
    return logits.amax(-1).double() - softmax.amax(-1).double().log() + sums.log()


def _sums(weights: Tensor) -> Tensor:
    """What the weights of each row sum to (float64). A softmax in float32 over a large vocabulary does not sum to 1:
    shares of it, for the log-probability as for a nucleus, are of this number."""
    return weights.sum(-1, dtype=torch.float64)


def _truncated(weights: Tensor, sums: Tensor, scores: Tensor, rows: Sequence[Row], truncation: str) -> Tensor:
    """The weights, up to one factor per row, with those outside of each row's truncation set to 0."""
    decoders = [row.request.decoder for row in rows]
    if truncation == "min_p":
        shares = _numbers([decoder.min_p or 0.0 for decoder in decoders], weights)
        return weights.masked_fill_(weights < (weights.amax(-1) * shares)[:, None], 0.0)
    if truncation == "top_k":
        counts = [min(decoder.top_k or 1, weights.shape[-1]) for decoder in decoders]
        largest = scores.topk(max(counts), -1).values
        least = largest.gather(-1, on_device(counts, scores.device)[:, None] - 1)
        return weights.masked_fill_(scores < least, 0.0)
    if truncation == "top_p":
        masses = _numbers([decoder.top_p or 1.0 for decoder in decoders], sums)[:, None] * sums[:, None]
        least = _at_mass(weights, weights, masses, largest=True)
        # Divide by the least weight that is kept: comparing with one number takes a tenth of the time of comparing with
        # one per row, and the quotient of two floats is below 1 exactly where the first is less.
        return torch.threshold_(weights.div_(least.clamp_(min=TINY)), BELOW_ONE, 0.0)
    masses = _numbers([decoder.typical or 1.0 for decoder in decoders], sums)[:, None] * sums[:, None]
    surprise = -scores.log_softmax(-1)
    entropy = (weights * surprise).nan_to_num_(0.0).sum(-1, keepdim=True)
    distance = surprise.sub_(entropy).abs_()
    return weights.masked_fill_(distance > _at_mass(distance, weights, masses, largest=False), 0.0)


def _at_mass(order: Tensor, weights: Tensor, masses: Tensor, *, largest: bool) -> Tensor:
    """The value in ``order`` (sorted from its largest or its smallest) of the first token with which the summed weights
    reach the mass. Only rows that have not reached it yet are sorted further."""
    size = order.shape[-1]
    if order.device.type == "cuda":  # which rows need more is a question that would have to be waited for
        return _at_mass_of_all(order, weights, masses, largest=largest)
    reached = torch.empty_like(masses, dtype=order.dtype)
    left = torch.arange(len(order), device=order.device)
    count = min(FIRST_SORTED, size)
    while True:
        values, tokens = order.topk(count, -1, largest=largest, sorted=True)
        summed = weights.gather(-1, tokens).cumsum(-1, dtype=torch.float64)
        reached[left] = values.gather(-1, (summed < masses).sum(-1, keepdim=True).clamp_(max=count - 1))
        short = (summed[:, -1] < masses[:, 0]).nonzero()[:, 0]
        if count == size or not len(short):
            return reached
        order, weights, masses, left = order[short], weights[short], masses[short], left[short]
        count = min(8 * count, size)


def _at_mass_of_all(order: Tensor, weights: Tensor, masses: Tensor, *, largest: bool) -> Tensor:
    """The same from one sort of everything."""
    values, tokens = order.sort(-1, descending=largest)
    summed = weights.gather(-1, tokens).cumsum(-1, dtype=torch.float64)
    return values.gather(-1, (summed < masses).sum(-1, keepdim=True).clamp_(max=order.shape[-1] - 1))


def _inverse(weights: Tensor, uniforms: Tensor) -> tuple[Tensor, Tensor]:
    """The token in whose share of the summed weights the number falls, and the sum (float64). Sums are computed in
    blocks: two short cumulative sums instead of one over the vocabulary."""
    size = weights.shape[-1]
    rest = -size % BLOCK
    if rest:
        weights = torch.nn.functional.pad(weights, (0, rest))
    blocks = weights.view(weights.shape[0], -1, BLOCK)
    before = blocks.sum(-1).double().cumsum(-1)
    total = before[:, -1]
    aim = _below(uniforms * total, total)[:, None]
    # With NaN, a search ends behind the last place, which a GPU answers by stopping for good.
    block = torch.searchsorted(before, aim, right=True).clamp_(max=blocks.shape[1] - 1)
    inside = blocks.gather(1, block[:, :, None].expand(-1, -1, BLOCK))[:, 0].double().cumsum(-1)
    started = torch.where(block > 0, before.gather(-1, (block - 1).clamp(min=0)), torch.zeros_like(aim))
    position = torch.searchsorted(inside, _below((aim - started)[:, 0], inside[:, -1])[:, None], right=True)
    return (block * BLOCK + position)[:, 0].clamp_(max=size - 1), total


def _below(aim: Tensor, total: Tensor) -> Tensor:
    """Rounding must not carry an aim past the last token that has a weight."""
    return torch.minimum(aim, total * (1 - 1e-12)).clamp_(min=0.0)


def _numbers(values: Sequence[float], like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    return on_device(values, like.device, dtype or like.dtype)
