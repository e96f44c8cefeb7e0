"""The decode loop of encoder–decoder models (T5, BART, BlenderBot): a prompt is a source that the encoder reads whole.

Rows that join together form a group with buffers of its own, so the texts of a group have one length and no padding.
Everything else is `TorchEngine`'s: decoders, seeds, limits, what happens without memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from generation.backends.batch_rows import Row
from generation.backends.memory import on_device
from generation.backends.padding import padded
from generation.backends.torch_engine import TorchEngine


@dataclass
class Group:
    """Rows that began together, in the order of their buffers. ``states``: what the encoder made of each row's source,
    (rows, tokens, d); ``mask``: which of these are no padding."""

    rows: list[Row]
    states: Tensor
    mask: Tensor
    cache: Any

    @property
    def n_bytes(self) -> int:
        layers = [*self.cache.self_attention_cache.layers, *self.cache.cross_attention_cache.layers]
        held = [tensor for layer in layers for tensor in (layer.keys, layer.values) if isinstance(tensor, Tensor)]
        return sum(tensor.numel() * tensor.element_size() for tensor in (self.states, *held))

    def keep(self, numbers: Sequence[int]) -> None:
        """Only these rows stay."""
        index = on_device(numbers, self.states.device)
        self.rows = [self.rows[number] for number in numbers]
        self.states, self.mask = self.states[index], self.mask[index]
        self.cache.batch_select_indices(index)


class SourceEngine(TorchEngine):
    """See ``base.Engine``. One thread at a time may use it."""

    _groups: list[Group]

    @property
    def held_bytes(self) -> int:
        return sum(group.n_bytes for group in self._groups)

    def _begin_empty(self) -> None:
        self._groups = []
        self._recorded = None

    def _step_of(self, rows: Sequence[Row]) -> Tensor:
        """Logits after each row's last token; ``rows`` are those of the groups, one group after the other."""
        return torch.cat([self._read(group, [[row.tokens[-1]] for row in group.rows]) for group in self._groups])

    def _admit(self) -> list[Tensor]:
        """Read the sources of the rows that join, each once, and what comes before their texts."""
        logits, ordered = [], []
        for sources in self._batches(sorted({row.prompt for row in self._joining}, key=len, reverse=True)):
            states, mask = read_sources(self._model, sources)
            numbers = {source: number for number, source in enumerate(sources)}
            rows = [row for row in self._joining if row.prompt in numbers]
            picked = on_device([numbers[row.prompt] for row in rows], self._device)
            cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
            group = Group(rows, states[picked], mask[picked], cache)
            logits.append(self._read(group, [self._vocabulary.starts] * len(rows)))
            self._groups.append(group)
            ordered += rows
        self._joining = ordered
        return logits

    def _batches(self, sources: Sequence[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
        """The sources, longest first, as many at once as the pace allows."""
        start = 0
        while start < len(sources):
            count = max(1, self._pace.prefill_tokens // len(sources[start]))
            yield list(sources[start : start + count])
            start += count

    def _read(self, group: Group, tokens: Sequence[Sequence[int]]) -> Tensor:
        """Logits after the last of the tokens. Advances the group's buffers."""
        out = self._model(
            encoder_outputs=BaseModelOutput(last_hidden_state=group.states),
            attention_mask=group.mask,
            decoder_input_ids=on_device(tokens, self._device),
            past_key_values=group.cache,
            use_cache=True,
        )
        logits: Tensor = out.logits[:, -1]
        return logits

    def _drop(self, dead: Sequence[int]) -> None:
        if not dead:
            return
        gone = {id(self._rows[number]) for number in dead}
        with torch.inference_mode():
            for group in self._groups:
                kept = [number for number, row in enumerate(group.rows) if id(row) not in gone]
                if kept and len(kept) < len(group.rows):
                    group.keep(kept)
                elif not kept:
                    group.rows = []
        self._groups = [group for group in self._groups if group.rows]
        self._rows = [row for group in self._groups for row in group.rows]


def read_sources(model: Any, sources: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """What the encoder makes of each source, (sources, tokens, d), and the mask."""
    tokens, mask = padded(sources, torch.device(model.device))
    states: Tensor = model.get_encoder()(input_ids=tokens, attention_mask=mask).last_hidden_state
    return states, mask
