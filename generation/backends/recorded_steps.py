"""Steps of the decode loop on CUDA, recorded as CUDA graphs and replayed.

A GPU computes a step in less time than Python takes to start its kernels one by one. A graph starts them all at once,
but only with the shapes and addresses that it was recorded with. So a recorded step has a number of rows and columns
that is rounded up, it reads where each row begins from a tensor, and it is thrown away when the buffers move.
A step is recorded when its shape comes up again. If the first does not agree with the same step unrecorded, none are.
"""

from __future__ import annotations

import gc
import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache, CacheLayerMixin

from generation.backends.key_values import BufferLayer, KeyValues
from generation.backends.memory import is_out_of_memory

log = logging.getLogger(__name__)

COLUMNS = 128
#: A live engine's buffers have at least these rows and columns, so that they seldom move.
LIVE_ROWS, LIVE_COLUMNS = 8, 512
USES_BEFORE_RECORDING = 2
_ONE_AT_A_TIME = threading.Lock()
#: Models whose steps could not be recorded; another try would not help.
_REFUSED: WeakSet[nn.Module] = WeakSet()
#: How far recorded logits may lie from the others, relative to their norm: rounding by other kernels.
TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 0.05, torch.float16: 0.01}
Replay = Callable[[Sequence[int]], Tensor]


def can_record(model: Any) -> bool:
    """Whether every layer sees all columns of its row, and transformers itself runs the model with fixed shapes."""
    text = model.config.get_text_config()
    kinds = set(getattr(text, "layer_types", None) or [])
    windowed = not kinds and getattr(text, "sliding_window", None) is not None
    biased = getattr(text, "alibi", False) or text.model_type == "bloom"
    plain = kinds <= {"full_attention"} and not windowed and not biased
    return plain and bool(getattr(model, "_can_compile_fullgraph", False))


def rounded_rows(count: int) -> int:
    """Few shapes: a step of 8 rows takes hardly longer than one of 3, because both read all weights."""
    return next((rows for rows in (2, 8, 32) if count <= rows), -(-count // 64) * 64)


def rounded_columns(count: int, rows: int) -> int:
    """A power of two, or for many rows, whose keys and values take longer to read, a multiple of ``COLUMNS``."""
    return max(COLUMNS, 1 << (count - 1).bit_length()) if rows <= 32 else -(-count // COLUMNS) * COLUMNS


def for_a_run(rows: int, columns: int) -> tuple[int, int]:
    """The size of a run's buffers."""
    return rounded_rows(rows), -(-columns // COLUMNS) * COLUMNS


def for_live_use(rows: int, columns: int) -> tuple[int, int]:
    more = 2 * COLUMNS
    return max(LIVE_ROWS, rounded_rows(rows)), max(LIVE_COLUMNS, -(-columns // more) * more)


class _FixedLayer(CacheLayerMixin):  # type: ignore[no-untyped-call]
    """One layer's buffers as a step with fixed shapes sees them."""

    is_sliding = False

    def __init__(self, layer: BufferLayer, rows: int, columns: int, column: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.k, self.v, self.columns, self.column = layer.k[:rows], layer.v[:rows], columns, column
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        pass

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        self.k.index_copy_(2, self.column, key_states)
        self.v.index_copy_(2, self.column, value_states)
        return self.k[:, :, : self.columns], self.v[:, :, : self.columns]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.columns, 0

    def get_seq_length(self) -> int:
        return self.columns - 1

    def get_max_length(self) -> int:
        return -1


class _Step:
    """A step of ``rows`` rows over the first ``columns`` columns. Rows beyond the active ones see only themselves."""

    def __init__(self, model: Any, cache: KeyValues, rows: int, columns: int, device: torch.device) -> None:
        self._model, self.rows, self.columns = model, rows, columns
        self._host = torch.zeros(2 * rows + 1, dtype=torch.long, pin_memory=device.type == "cuda")
        self._inputs = torch.zeros(2 * rows + 1, dtype=torch.long, device=device)
        self._tokens, self._starts = self._inputs[:rows, None], self._inputs[rows : 2 * rows, None]
        self.column = self._inputs[2 * rows :]
        self._cache = Cache(layers=[_FixedLayer(layer, rows, columns, self.column) for layer in cache.slots])
        self._graph: Any = None
        self._logits: Tensor

    def write(self, tokens: Sequence[int], starts: Sequence[int], column: int) -> None:
        """The next inputs. The copy from pinned memory is not waited for; the host's buffer is free again when the
        tokens that it led to have been read."""
        spare = self.rows - len(tokens)
        self._host.copy_(torch.tensor([*tokens, *[0] * spare, *starts, *[column] * spare, column]))
        self._inputs.copy_(self._host, non_blocking=True)

    def forward(self) -> Tensor:
        columns = torch.arange(self.columns, device=self._inputs.device)
        seen = (columns >= self._starts) & (columns <= self.column)
        out = self._model(
            input_ids=self._tokens,
            attention_mask=seen[:, None, None],
            position_ids=self.column - self._starts,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        logits: Tensor = out.logits[:, -1]
        return logits

    def record(self, pool: Any) -> None:
        """Other threads may use the device meanwhile; another graph that ends in this one would spoil the recording."""
        graph, stream, collects = torch.cuda.CUDAGraph(), _stream_for_recording(self._inputs.device), gc.isenabled()
        gc.disable()
        try:
            # The outer block leaves the stream of the recording even if the inner one cannot be ended.
            with (
                _ONE_AT_A_TIME,
                torch.cuda.stream(stream),
                torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"),
            ):
                self._logits = self.forward()
        except Exception:
            _after_failed_recording(self._inputs.device, pool)
            raise
        finally:
            if collects:
                gc.enable()
        self._graph = graph

    def replay(self) -> Tensor:
        if self._graph is None:
            return self.forward()
        self._graph.replay()
        return self._logits


class RecordedSteps:
    """The recorded steps over one batch's buffers. On a CPU (in tests) they run with the same shapes, unrecorded."""

    def __init__(self, model: Any, cache: KeyValues, device: torch.device) -> None:
        self._model, self._cache, self._device = model, cache, device
        self._version = cache.version
        self._steps: dict[tuple[int, int], _Step] = {}
        self._uses: Counter[tuple[int, int]] = Counter()
        self._pool = torch.cuda.graph_pool_handle() if device.type == "cuda" else None
        self.usable, self._checked = can_record(model) and model not in _REFUSED, False

    def replay(self, tokens: Sequence[int]) -> Tensor | None:
        """Logits after the rows' last tokens, if such a step was recorded, or is recorded now because it has come up
        before and others were found right. The cache must move on afterwards."""
        if self._version != self._cache.version:
            self._steps.clear()
            self._uses.clear()
            self._version = self._cache.version
        column = self._cache.end
        shape = self._shape(column)
        if (step := self._steps.get(shape)) is not None:
            step.write(tokens, self._cache.starts, column)
            return step.replay()[: len(tokens)]
        if self._checked and self._uses[shape] + 1 >= USES_BEFORE_RECORDING:
            return self._record(shape, tokens, column)
        return None

    def learn(self, tokens: Sequence[int], logits: Tensor) -> None:
        """Count a step that was not recorded, with the logits that it gave, and record it if its shape is a usual one.
        The cache has moved on since."""
        column = self._cache.end - 1
        shape = self._shape(column)
        self._uses[shape] += 1
        if self._checked or not self.usable or self._uses[shape] < USES_BEFORE_RECORDING:
            return
        again = self._record(shape, tokens, column)
        if again is None or not self.usable:
            return
        away = (again.float() - logits.float()).norm() / logits.float().norm().clamp_(min=1e-12)
        self._checked = bool(away <= TOLERANCE.get(logits.dtype, 0.0)) or bool(logits.isnan().any())
        if not self._checked:
            log.warning("Steps with fixed shapes differ from others for this model; they are not used.")
            self._give_up()

    def _record(self, shape: tuple[int, int], tokens: Sequence[int], column: int) -> Tensor | None:
        """The step's logits, computed before it is recorded; None if it cannot be computed like this."""
        step = _Step(self._model, self._cache, *shape, self._device)
        logits = None
        try:
            step.write(tokens, self._cache.starts, column)
            logits = step.forward()[: len(tokens)]
            if self._device.type == "cuda":
                step.record(self._pool)
        except Exception as error:
            if is_out_of_memory(error):
                raise
            log.warning("Steps of this model cannot be recorded: %s", str(error).partition("\n")[0])
            self._give_up()
            return logits
        self._steps[shape] = step
        return logits

    def _give_up(self) -> None:
        self.usable = self._checked = False
        self._steps.clear()
        _REFUSED.add(self._model)

    def _shape(self, column: int) -> tuple[int, int]:
        """Rows and columns of the step that writes this column, within the buffers."""
        rows = rounded_rows(self._cache.n_rows)
        columns = rounded_columns(column + 1, rows)
        return min(rows, self._cache.room), min(columns, self._cache.width)


@cache
def _stream_for_recording(device: torch.device) -> Any:
    """One for all: the working memory of matrix products belongs to a stream for good."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def _after_failed_recording(device: torch.device, pool: Any) -> None:
    """torch leaves its random numbers and its memory in the state of a recording that cannot be ended."""
    index = device.index or 0
    numbers = torch.cuda.default_generators[index]
    numbers.graphsafe_set_state(numbers.clone_state())
    with suppress(RuntimeError):  # it was ended after all
        torch._C._cuda_endAllocateToPool(index, pool)
        torch._C._cuda_releasePool(index, pool)
