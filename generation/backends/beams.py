"""Beam search by transformers' own ``generate``: rows that agree in decoder and limits, a batch at a time.

A beam draws nothing, so log q is None; log p comes from one more pass over the texts that won.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig

from generation.backends.base import Generated, NotGenerated, Outcome
from generation.backends.batch_rows import Row, Vocabulary
from generation.backends.memory import Room, is_out_of_memory, release
from generation.backends.padding import padded
from generation.backends.sampling import refuse_nan


def search(model: Any, waiting: deque[Row], vocabulary: Vocabulary, *, room: Room) -> list[tuple[Row, list[Outcome]]]:
    """Remove the first row and those like it from ``waiting`` and search for all of them: the n-best texts of each, the
    best first. If memory runs out, half as many are searched at once; a row that does not fit alone is refused."""
    first = waiting[0]
    alike = [row for row in waiting if _kind(row) == _kind(first)]
    for row in alike:
        waiting.remove(row)
    beams = first.request.decoder.beams
    at_once = max(1, room.rows_of(max(row.columns for row in alike)) // beams)
    done: list[tuple[Row, list[Outcome]]] = []
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
            reason = f"Out of memory: one text with {beams} beams does not fit; use fewer."
            done.append((batch[0], [NotGenerated(reason)]))
        alike = alike[len(batch) :]
    return done


def _search_if_it_fits(model: Any, rows: Sequence[Row], vocabulary: Vocabulary) -> list[list[Outcome]] | None:
    """None if memory ran out. What the search held is free again once this has returned."""
    try:
        return _search(model, rows, vocabulary)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
    return None


def _kind(row: Row) -> tuple[Any, ...]:
    return row.request.decoder, row.request.limits, row.most


def _search(model: Any, rows: Sequence[Row], vocabulary: Vocabulary) -> list[list[Outcome]]:
    decoder = rows[0].request.decoder
    ends = sorted(vocabulary.ends)
    padding = ends[0] if ends else 0
    most, least = rows[0].most, min(rows[0].request.limits.least, rows[0].most)
    config = GenerationConfig(  # type: ignore[no-untyped-call]
        num_beams=decoder.beams,
        num_return_sequences=decoder.n_best,
        length_penalty=decoder.length_penalty,
        do_sample=False,
        max_new_tokens=most,
        min_new_tokens=least,
        eos_token_id=ends or None,
        pad_token_id=padding,
        decoder_start_token_id=vocabulary.starts[0] if vocabulary.starts else None,
    )
    inputs, width = _inputs(model, rows, vocabulary, padding)
    generated = model.generate(**inputs, generation_config=config)[:, width:]
    found: list[list[Outcome]] = [[] for _ in rows]
    for number, continuation in enumerate(generated.tolist()):
        row = rows[number // decoder.n_best]
        length = next((n for n, token in enumerate(continuation[:most], start=1) if token in vocabulary.ends), most)
        text = continuation[:length]
        log_p = _log_p(model, row, text, vocabulary)
        refuse_nan(log_p)
        score = float(log_p.double().sum()) / length**decoder.length_penalty
        row.restart()
        found[number // decoder.n_best].append(replace(_finished(row, text, log_p.tolist()), score=score))
    return found


def _inputs(model: Any, rows: Sequence[Row], vocabulary: Vocabulary, padding: int) -> tuple[dict[str, Tensor], int]:
    """What ``generate`` gets, and how many tokens come before the texts in what it returns."""
    if vocabulary.starts:
        tokens, mask = padded([row.prompt for row in rows], torch.device(model.device))
        starts = torch.tensor([vocabulary.starts] * len(rows), device=model.device)
        return {"input_ids": tokens, "attention_mask": mask, "decoder_input_ids": starts}, len(vocabulary.starts)
    width = max(len(row.prompt) for row in rows)
    tokens = torch.full((len(rows), width), padding, dtype=torch.long)
    mask = torch.zeros_like(tokens)
    for number, row in enumerate(rows):
        tokens[number, width - len(row.prompt) :] = torch.tensor(row.prompt)
        mask[number, width - len(row.prompt) :] = 1
    return {"input_ids": tokens.to(model.device), "attention_mask": mask.to(model.device)}, width


def _log_p(model: Any, row: Row, text: Sequence[int], vocabulary: Vocabulary) -> Tensor:
    """Each token's log p, from one pass over the text alone, which needs no padding."""
    before = vocabulary.starts or row.prompt
    sequence = torch.tensor([[*before, *text]], device=model.device)
    if vocabulary.starts:
        source = torch.tensor([row.prompt], device=model.device)
        logits: Tensor = model(input_ids=source, decoder_input_ids=sequence, use_cache=False).logits
    else:
        logits = model(input_ids=sequence, use_cache=False).logits
    log_softmax = logits[0, len(before) - 1 : -1].float().log_softmax(-1)
    return log_softmax.gather(-1, sequence[0, len(before) :, None])[:, 0]


def _finished(row: Row, tokens: Sequence[int], log_p: Sequence[float]) -> Generated:
    for token, token_log_p in zip(tokens, log_p, strict=True):
        done = row.take(token, token_log_p, None)
        if done is not None:
            return done
    raise RuntimeError("A beam ended without an end. This is a bug.")
