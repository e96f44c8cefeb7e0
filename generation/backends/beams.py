"""Beam search by transformers' own ``generate``: rows that agree in beams and limits, a batch at a time.

A beam draws nothing, so log q is None; log p comes from one more pass over the texts that won.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig

from generation.backends.base import Generated, NotGenerated, Outcome
from generation.backends.batch_rows import Row, Vocabulary
from generation.backends.memory import Room, is_out_of_memory, release
from generation.backends.sampling import refuse_nan


def search(model: Any, waiting: deque[Row], vocabulary: Vocabulary, *, room: Room) -> list[tuple[Row, Outcome]]:
    """Remove the first row and those like it from ``waiting`` and search for all of them. If memory runs out, half as
    many are searched at once; a row that does not fit alone is refused."""
    first = waiting[0]
    alike = [row for row in waiting if _kind(row) == _kind(first)]
    for row in alike:
        waiting.remove(row)
    beams = first.request.decoder.beams
    at_once = max(1, room.rows_of(max(row.columns for row in alike)) // beams)
    done: list[tuple[Row, Outcome]] = []
    while alike:
        batch = alike[:at_once]
        outcomes = _search_if_it_fits(model, batch, vocabulary)
        if outcomes is not None:
            done += zip(batch, outcomes, strict=True)
        else:
            release(torch.device(model.device))
            if len(batch) > 1:
                at_once = len(batch) // 2
                continue
            done.append(
                (batch[0], NotGenerated(f"Out of memory: one text with {beams} beams does not fit; use fewer."))
            )
        alike = alike[len(batch) :]
    return done


def _search_if_it_fits(model: Any, rows: Sequence[Row], vocabulary: Vocabulary) -> list[Generated] | None:
    """None if memory ran out. What the search held is free again once this has returned."""
    try:
        return _search(model, rows, vocabulary)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
    return None


def _kind(row: Row) -> tuple[Any, ...]:
    return row.request.decoder, row.request.limits, row.most


def _search(model: Any, rows: Sequence[Row], vocabulary: Vocabulary) -> list[Generated]:
    ends = sorted(vocabulary.ends)
    padding = ends[0] if ends else 0
    width = max(len(row.prompt) for row in rows)
    tokens = torch.full((len(rows), width), padding, dtype=torch.long)
    mask = torch.zeros_like(tokens)
    for number, row in enumerate(rows):
        row.restart()
        tokens[number, width - len(row.prompt) :] = torch.tensor(row.prompt)
        mask[number, width - len(row.prompt) :] = 1
    most, least = rows[0].most, min(rows[0].request.limits.least, rows[0].most)
    config = GenerationConfig(  # type: ignore[no-untyped-call]
        num_beams=rows[0].request.decoder.beams,
        do_sample=False,
        max_new_tokens=most,
        min_new_tokens=least,
        eos_token_id=ends or None,
        pad_token_id=padding,
    )
    tokens, mask = tokens.to(model.device), mask.to(model.device)
    generated = model.generate(input_ids=tokens, attention_mask=mask, generation_config=config)[:, width:]
    texts, log_ps = [], []
    for row, continuation in zip(rows, generated.tolist(), strict=True):
        length = next((n for n, token in enumerate(continuation[:most], start=1) if token in vocabulary.ends), most)
        text = continuation[:length]
        # One pass for each text, so that none needs padding.
        sequence = torch.tensor([[*row.prompt, *text]], device=model.device)
        logits: Tensor = model(input_ids=sequence, use_cache=False).logits[0, len(row.prompt) - 1 : -1].float()
        log_p = logits.log_softmax(-1).gather(-1, sequence[0, len(row.prompt) :, None])
        refuse_nan(log_p)
        texts.append(text)
        log_ps.append(log_p[:, 0].tolist())
    return [_finished(row, text, log_p) for row, text, log_p in zip(rows, texts, log_ps, strict=True)]


def _finished(row: Row, tokens: Sequence[int], log_p: Sequence[float]) -> Generated:
    for token, token_log_p in zip(tokens, log_p, strict=True):
        done = row.take(token, token_log_p, None)
        if done is not None:
            return done
    raise RuntimeError("A beam ended without an end. This is a bug.")
