"""Keys and values of all rows of a batch, in buffers that are written in place.

Every row ends at the same column, so each step writes one column of every row, as with left padding; a row's first
column is its ``start``. transformers' growing cache copies everything for each token instead. When rows end, the last
rows move to their places; a prompt that several rows share is computed once and copied.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

from generation.backends.memory import on_device

SPARE_COLUMNS = 32
# Keys and values of one row: (heads, tokens, size) of each layer.
RowState = list[tuple[Tensor, Tensor]]
RoundUp = Callable[[int, int], tuple[int, int]]


class BufferLayer(CacheLayerMixin):  # type: ignore[no-untyped-call]
    """What transformers' attention needs from a layer; all layers have the same columns."""

    is_sliding = False
    k: Tensor
    v: Tensor

    def __init__(self, batch: KeyValues) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        # In a cycle, the buffers would lie in memory until Python looks for cycles.
        self.batch: KeyValues = weakref.proxy(batch)

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        shape = (self.batch.room, key_states.shape[1], self.batch.width)
        self.k = key_states.new_zeros((*shape, key_states.shape[3]))
        self.v = value_states.new_zeros((*shape[:1], value_states.shape[1], shape[2], value_states.shape[3]))
        self.is_initialized = True
        self.batch.version += 1

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        batch, count = self.batch, key_states.shape[2]
        first, last = batch.end, batch.end + count
        keys, values = self.k[: batch.n_rows], self.v[: batch.n_rows]
        if batch.written is None:
            keys[:, :, first:last] = key_states
            values[:, :, first:last] = value_states
        else:  # padding must not overwrite the part of a row's beginning that is already there
            keys[:, :, first:last] = torch.where(batch.written, key_states, keys[:, :, first:last])
            values[:, :, first:last] = torch.where(batch.written, value_states, values[:, :, first:last])
        return keys[:, :, batch.begin : last], values[:, :, batch.begin : last]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length() + query_length, 0

    def get_seq_length(self) -> int:
        return self.batch.end - self.batch.begin

    def get_max_length(self) -> int:
        return -1


class KeyValues(Cache):
    """Buffers for ``room`` rows of ``width`` columns. ``starts``: where each active row begins; ``begin``: the smallest
    of these; ``end``: the next column to write. ``version`` changes with the buffers. ``round_up``: from the rows and
    columns that are needed to those that the buffers get."""

    def __init__(self, n_layers: int, *, room: int, width: int, round_up: RoundUp | None = None) -> None:
        self.all_layers = [BufferLayer(self) for _ in range(n_layers)]
        super().__init__(layers=[*self.all_layers])
        self.room, self.width = room, width
        self.version = 0
        self._round_up = round_up or (lambda rows, columns: (rows, columns))
        self.starts: list[int] = []
        self.begin = self.end = 0
        self.written: Tensor | None = None

    @property
    def n_rows(self) -> int:
        return len(self.starts)

    @property
    def slots(self) -> list[BufferLayer]:
        return [layer for layer in self.all_layers if layer.is_initialized]

    @property
    def n_bytes(self) -> int:
        return sum(tensor.numel() * tensor.element_size() for layer in self.slots for tensor in (layer.k, layer.v))

    def mask(self, count: int, device: torch.device) -> Tensor | None:
        """Which columns each row sees once ``count`` are added; None if every row sees all of them."""
        if all(start == self.begin for start in self.starts):
            return None
        columns = torch.arange(self.begin, self.end + count, device=device)
        return columns[None, :] >= on_device(self.starts, device)[:, None]

    def positions(self, count: int, device: torch.device) -> Tensor:
        columns = torch.arange(self.end, self.end + count, device=device)
        return (columns[None, :] - on_device(self.starts, device)[:, None]).clamp_(min=0)

    def move_on(self, count: int = 1) -> None:
        self.end += count

    # --- Rows that come and go ---

    def take(self, others: KeyValues, numbers: Sequence[int], *, ahead: int) -> None:
        """Add copies of another batch's rows, aligned at their ends. ``ahead``: how many columns any row may still
        need. Buffers that are too small grow or are shifted first."""
        longest = max(others.end - others.starts[number] for number in numbers)
        if not self.n_rows:
            self.begin = self.end = longest
        self._make_room(self.n_rows + len(numbers), begin=min(self.begin, self.end - longest), ahead=ahead)
        first, count = self.n_rows, len(numbers)
        span, source_span = slice(self.end - longest, self.end), slice(others.end - longest, others.end)
        index = on_device(numbers, others.slots[0].k.device)
        for target, source in zip(self.all_layers, others.all_layers, strict=True):
            if not source.is_initialized:
                continue
            if not target.is_initialized:
                target.lazy_initialization(source.k, source.v)
            target.k[first : first + count, :, span] = source.k[index, :, source_span]
            target.v[first : first + count, :, span] = source.v[index, :, source_span]
        self.starts += [self.end - (others.end - others.starts[number]) for number in numbers]
        self.begin = min(self.starts)

    def drop(self, dead: Sequence[int]) -> list[int]:
        """Remove rows and move the last ones into the gaps. Returns the old number of the row in each place."""
        gone, order = set(dead), list(range(self.n_rows))
        n_left = len(order) - len(gone)
        movers = [number for number in order[n_left:] if number not in gone]
        holes = sorted(number for number in gone if number < n_left)
        for hole, mover in zip(holes, movers, strict=True):
            order[hole] = mover
        if movers:
            span, device = slice(self.begin, self.end), self.slots[0].k.device
            to_rows, from_rows = on_device(holes, device), on_device(movers, device)
            for layer in self.slots:
                for tensor in (layer.k, layer.v):
                    tensor[to_rows, :, span] = tensor[from_rows, :, span]
        order = order[:n_left]
        self.starts = [self.starts[number] for number in order]
        self.begin = min(self.starts, default=self.end)
        return order

    def row(self, number: int) -> RowState:
        """A copy of one row, for a prompt with the same beginning."""
        span = slice(self.starts[number], self.end)
        return [(layer.k[number, :, span].clone(), layer.v[number, :, span].clone()) for layer in self.slots]

    def preset(self, number: int, state: RowState, count: int) -> None:
        """Copy the first ``count`` tokens of another row to the beginning of this one."""
        span = slice(self.starts[number], self.starts[number] + count)
        for layer, (keys, values) in zip(self.all_layers, state, strict=True):
            if not layer.is_initialized:
                layer.lazy_initialization(keys[None], values[None])
            layer.k[number, :, span] = keys[:, :count]
            layer.v[number, :, span] = values[:, :count]

    def _make_room(self, rows: int, *, begin: int, ahead: int) -> None:
        """Make room for this many rows, columns from ``begin`` on (below 0: before the first), and ``ahead`` more."""
        if rows <= self.room and begin >= 0 and self.end + ahead <= self.width:
            return
        columns = self.end - begin + ahead
        width = self.width if columns + SPARE_COLUMNS <= self.width else columns + 2 * SPARE_COLUMNS
        room = self.room if rows <= self.room else max(rows, 3 * self.room // 2)
        if not self.n_rows and width > self.width:  # nothing is copied: as many rows as come, not as many as there were
            room = rows
        if (room, width) != (self.room, self.width):
            room, width = self._round_up(room, width)
            self.version += 1
        live, moved = slice(self.begin, self.end), slice(self.begin - begin, self.end - begin)
        for layer in self.slots:  # column ``begin`` becomes the first
            for name in ("k", "v"):
                old: Tensor = getattr(layer, name)
                kept = old[: self.n_rows, :, live]
                if (room, width) == (self.room, self.width):  # recorded steps know these buffers
                    old[: self.n_rows, :, moved] = kept.clone()
                    continue
                new = old.new_zeros((room, old.shape[1], width, old.shape[3]))
                new[: self.n_rows, :, moved] = kept
                setattr(layer, name, new)
        self.room, self.width = room, width
        self.starts = [start - begin for start in self.starts]
        self.end -= begin
        self.begin -= begin
