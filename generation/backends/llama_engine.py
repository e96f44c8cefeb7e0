"""Continuous batching with llama.cpp: every row is one sequence of a shared context.

A step is one call of the library: one token of every active row and the prompts of those that join. A prompt that
several rows share is read once and its sequence copied. For live use, a new prompt continues a free sequence that holds
its beginning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from generation.backends import sampling
from generation.backends.base import BackendError, NoMemory, NotGenerated, Outcome, Request
from generation.backends.batch_rows import Row, Vocabulary, begin, common_length
from generation.backends.capabilities import NO_BEAM

Ended = list[tuple[Any, Outcome]]
TOKENS_AT_ONCE = 2048


@dataclass
class Slot:
    """One sequence: the tokens it holds, and the row that uses it."""

    number: int
    held: list[int] = field(default_factory=list)
    row: Row | None = None


class LlamaEngine:
    """See ``base.Engine``. ``live``: keep what a sequence holds for the next prompt that begins the same; results then
    differ by rounding from those of a fresh sequence."""

    def __init__(
        self, library: Any, model: Any, vocabulary: Vocabulary, *, most_active: int, threads: int, live: bool
    ) -> None:
        self._library, self._vocabulary, self._live = library, vocabulary, live
        self._n_tokens = int(library.llama_vocab_n_tokens(library.llama_model_get_vocab(model)))
        n_rows = max(1, min(most_active, int(library.llama_max_parallel_sequences())))
        length = vocabulary.context_length
        parameters = library.llama_context_default_params()
        parameters.n_ctx = n_rows * length
        parameters.n_seq_max = n_rows
        parameters.n_batch = TOKENS_AT_ONCE
        parameters.n_ubatch = 512
        # Each sequence has its own memory: attention then reads a row's own tokens, not those of all rows.
        parameters.kv_unified = False
        parameters.n_threads = parameters.n_threads_batch = threads
        self._context = library.llama_init_from_model(model, parameters)
        if not self._context:
            raise NoMemory(
                f"There is no memory for {n_rows} texts of {length} tokens at once; set the options batch or context "
                "lower."
            )
        self._memory = library.llama_get_memory(self._context)
        self._batch = library.llama_batch_init(TOKENS_AT_ONCE, 0, 1)
        self._slots = [Slot(number) for number in range(n_rows)]
        self._ends = torch.tensor(sorted(vocabulary.ends), dtype=torch.long)
        self._waiting: deque[Row] = deque()
        self._ended: Ended = []

    @property
    def n_active(self) -> int:
        return sum(slot.row is not None for slot in self._slots)

    @property
    def n_waiting(self) -> int:
        return len(self._waiting) + len(self._ended)

    @property
    def unbegun(self) -> set[Any]:
        return {row.request.key for row in self._waiting}

    def so_far(self, keys: Collection[Any]) -> dict[Any, str]:
        rows = [slot.row for slot in self._slots if slot.row is not None]
        return {row.request.key: row.text for row in rows if row.request.key in keys}

    def add(self, requests: Sequence[Request]) -> None:
        for request in requests:
            row = NotGenerated(NO_BEAM) if request.decoder.beams > 1 else begin(request, self._vocabulary)
            if isinstance(row, NotGenerated):
                self._ended.append((request.key, row))
            else:
                self._waiting.append(row)

    def cancel(self, key: Any) -> None:
        self._ended = [ended for ended in self._ended if ended[0] != key]
        for row in [row for row in self._waiting if row.request.key == key]:
            self._waiting.remove(row)
        for slot in self._slots:
            if slot.row is not None and slot.row.request.key == key:
                slot.row = None

    def step(self) -> Ended:
        going = [slot for slot in self._slots if slot.row is not None]
        feeds = {slot.number: [slot.row.tokens[-1]] for slot in going if slot.row is not None}
        joining = self._admit()
        for prompt, (first, *_) in joining.items():
            # At least the last token is read, even if the sequence holds all of the prompt.
            n_held = min(common_length(first.held, prompt), len(prompt) - 1) if self._live else 0
            self._cut(first, n_held)
            feeds[first.number] = list(prompt[n_held:])
        logits = self._feed(feeds)
        for first, *others in joining.values():
            for slot in others:
                self._cut(slot, 0)
                self._library.llama_memory_seq_cp(self._memory, first.number, slot.number, -1, -1)
                slot.held = list(first.held)
                logits[slot.number] = logits[first.number]
        # All at once: one by one, drawing for 64 rows would cost more than the model itself.
        active = [(slot, slot.row) for slot in self._slots if slot.number in logits and slot.row is not None]
        if active:
            matrix = torch.from_numpy(np.stack([logits[slot.number] for slot, _ in active]))
            drawn = sampling.draw(matrix, [row for _, row in active], self._ends)
            for (slot, row), (token, log_p, log_q) in zip(active, drawn, strict=True):
                text = row.take(token, log_p, log_q)
                if text is not None:
                    self._ended.append((row.request.key, text))
                    slot.row = None
        ended, self._ended = self._ended, []
        return ended

    def clear(self) -> None:
        """Forget every row and every sequence."""
        self._waiting.clear()
        self._ended = []
        for slot in self._slots:
            slot.row, slot.held = None, []
        self._library.llama_memory_clear(self._memory, True)

    def close(self) -> None:
        if self._context is not None:
            self._library.llama_batch_free(self._batch)
            self._library.llama_free(self._context)
            self._context = None

    def __del__(self) -> None:
        self.close()

    # --- Rows that join ---

    def _admit(self) -> dict[tuple[int, ...], list[Slot]]:
        """Assign slots to waiting rows, by prompt. The first row of each prompt reads it for all.

        For live use, that is the slot that holds most of the prompt's beginning; otherwise the one that holds least.
        """
        free = [slot for slot in self._slots if slot.row is None]
        groups: dict[tuple[int, ...], list[Slot]] = {}
        while self._waiting and free:
            row = self._waiting.popleft()
            slot = free[-1]
            if self._live and row.prompt not in groups:
                overlaps = [(common_length(slot.held, row.prompt), -len(slot.held)) for slot in free]
                slot = free[overlaps.index(max(overlaps))]
            free.remove(slot)
            slot.row = row
            groups.setdefault(row.prompt, []).append(slot)
        return groups

    def _cut(self, slot: Slot, count: int) -> None:
        """Keep only the first ``count`` tokens of a sequence."""
        if slot.held and not self._library.llama_memory_seq_rm(self._memory, slot.number, count, -1):
            # Some kinds of memory can only be emptied; the prompt is then read from the start.
            raise BackendError("This model cannot go back in a text, which sharing its memory needs.")
        slot.held = slot.held[:count]

    # --- One token for all ---

    def _feed(self, feeds: dict[int, list[int]]) -> dict[int, npt.NDArray[np.float32]]:
        """Read tokens into their sequences; the logits after the last of each."""
        feed = [
            (number, token, position == len(tokens) - 1)
            for number, tokens in feeds.items()
            for position, token in enumerate(tokens)
        ]
        logits: dict[int, npt.NDArray[np.float32]] = {}
        batch = self._batch
        for start in range(0, len(feed), TOKENS_AT_ONCE):
            part = feed[start : start + TOKENS_AT_ONCE]
            batch.n_tokens = len(part)
            for position, (number, token, last) in enumerate(part):
                held = self._slots[number].held
                batch.token[position], batch.pos[position] = token, len(held)
                batch.n_seq_id[position], batch.seq_id[position][0] = 1, number
                batch.logits[position] = last
                held.append(token)
            answer = self._library.llama_decode(self._context, batch)
            if answer != 0:
                raise NoMemory(
                    f"llama.cpp could not continue (code {answer}); ask for fewer texts at once or a shorter context."
                )
            for position, (number, _, last) in enumerate(part):
                if last:
                    pointer = self._library.llama_get_logits_ith(self._context, position)
                    logits[number] = np.ctypeslib.as_array(pointer, shape=(self._n_tokens,)).copy()
        return logits
