"""The decode loop: continuous batching of rows that each have their own decoder, seed and limits.

Between two tokens, rows that have ended leave and waiting rows join. A prompt that several rows share is read once.
Rows do not see each other: each has its own positions and mask, so a row's result depends on its batch only through
floating-point rounding (other shapes, other kernels). docs/batching-engine.md explains why this exists.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from generation.backends import beams, prefill, sampling
from generation.backends.base import NotGenerated, Outcome, Request
from generation.backends.batch_rows import Row, Vocabulary, begin
from generation.backends.key_values import KeyValues
from generation.backends.memory import Room, is_out_of_memory, on_device, release
from generation.backends.prompt_cache import PromptCache
from generation.backends.recorded_steps import RecordedSteps, for_a_run, for_live_use

Ended = list[tuple[Any, Outcome]]


@dataclass(frozen=True)
class Pace:
    """How the engine fills the device: at most ``most_active`` rows, ``prefill_tokens`` of new prompts in one pass, and
    ``admit_at_least`` free places before waiting rows join. ``live``: rows join at any time, for as long as it runs."""

    most_active: int
    prefill_tokens: int = 4096
    admit_at_least: int = 1
    live: bool = False


class TorchEngine:
    """See ``base.Engine``. One thread at a time may use it."""

    def __init__(
        self, model: Any, vocabulary: Vocabulary, *, room: Room, pace: Pace, prompts: PromptCache | None = None
    ) -> None:
        self._model, self._vocabulary, self._room, self._pace = model, vocabulary, room, pace
        self._device = torch.device(model.device)
        self._ends = torch.tensor(sorted(vocabulary.ends), dtype=torch.long, device=self._device)
        self._n_layers = model.config.get_text_config().num_hidden_layers
        self._prompts = prompts or PromptCache(0)
        self._most = pace.most_active
        self._waiting: deque[Row] = deque()
        self._beams: deque[Row] = deque()
        self._rows: list[Row] = []
        self._joining: list[Row] = []
        # Of equal rows that draw nothing, one is generated; the others get the same outcome.
        self._followers: dict[tuple[Any, ...], list[Row]] = {}
        self._ended: Ended = []
        self._records = self._device.type == "cuda"
        self._begin_empty()

    # --- The interface ---

    @property
    def held_bytes(self) -> int:
        return self._cache.n_bytes

    def forget_prompts(self) -> None:
        """Only buffers and recorded steps stay for what comes next."""
        self._prompts.clear()

    @property
    def n_active(self) -> int:
        return len(self._rows)

    @property
    def n_waiting(self) -> int:
        return len(self._waiting) + len(self._beams) + len(self._ended)

    @property
    def unbegun(self) -> set[Any]:
        return {row.request.key for row in (*self._waiting, *self._beams) if not row.tokens}

    def so_far(self, keys: Collection[Any]) -> dict[Any, str]:
        return {row.request.key: row.text for row in self._rows if row.request.key in keys}

    def add(self, requests: Sequence[Request]) -> None:
        for request in requests:
            row = begin(request, self._vocabulary)
            if isinstance(row, NotGenerated):
                self._ended.append((request.key, row))
            elif request.decoder.samples:
                self._waiting.append(row)
            elif _same(row) in self._followers:
                self._followers[_same(row)].append(row)
            else:
                self._followers[_same(row)] = []
                (self._beams if request.decoder.beams > 1 else self._waiting).append(row)

    def cancel(self, key: Any) -> None:
        self._ended = [ended for ended in self._ended if ended[0] != key]
        for followers in self._followers.values():
            followers[:] = [row for row in followers if row.request.key != key]
        for waiting in (self._waiting, self._beams):
            for row in [row for row in waiting if row.request.key == key]:
                waiting.remove(row)
                self._pass_on(row)
        dead = [number for number, row in enumerate(self._rows) if row.request.key == key]
        for number in dead:
            self._pass_on(self._rows[number])
        self._drop(dead)

    def step(self) -> Ended:
        with torch.inference_mode():
            if self._runs_out_of_memory():
                self._restart_with_fewer_rows()
        if not self._rows and not self._waiting:
            self._most = self._pace.most_active
        ended, self._ended = self._ended, []
        return ended

    def _runs_out_of_memory(self) -> bool:
        """Generate one token for all. Whoever handles the error would keep alive what the failed step holds, so this
        returns first."""
        try:
            if self._beams and not self._rows:
                for row, outcomes in beams.search(self._model, self._beams, self._vocabulary, room=self._room):
                    self._end(row, *outcomes)
            self._next_tokens()
        except Exception as error:
            if not is_out_of_memory(error) or not (self._rows or self._joining):
                raise
            return True
        return False

    # --- One token for all ---

    def _next_tokens(self) -> None:
        """Advance the active rows, read the prompts of those that join, then draw the next token of each."""
        logits = []
        if self._rows:
            logits.append(self._step_of(self._rows))
        self._joining = self._rows_to_admit()
        if self._joining:
            logits += self._admit()
        self._rows, self._joining = self._rows + self._joining, []
        if not self._rows:
            return
        drawn = sampling.draw(torch.cat(logits) if len(logits) > 1 else logits[0], self._rows, self._ends)
        dead = []
        for number, (row, (token, log_p, log_q)) in enumerate(zip(self._rows, drawn, strict=True)):
            text = row.take(token, log_p, log_q)
            if text is not None:
                self._end(row, text)
                dead.append(number)
        self._drop(dead)

    def _step_of(self, rows: Sequence[Row]) -> Tensor:
        """Logits after each row's last token."""
        tokens = [row.tokens[-1] for row in rows]
        logits = self._recorded.replay(tokens) if self._recorded else None
        if logits is not None:
            self._cache.move_on()
            return logits
        logits = self._forward(on_device(tokens, self._device)[:, None], self._cache)
        if self._recorded:
            self._recorded.learn(tokens, logits)
        return logits

    def _forward(self, tokens: Tensor, cache: KeyValues) -> Tensor:
        """Logits after the last of the tokens. Advances the cache."""
        count = tokens.shape[1]
        out = self._model(
            input_ids=tokens,
            attention_mask=cache.mask(count, self._device),
            position_ids=cache.positions(count, self._device),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        cache.move_on(count)
        logits: Tensor = out.logits[:, -1]
        return logits

    def _rows_to_admit(self) -> list[Row]:
        """The waiting rows that join now: as many as there are places and memory for."""
        free = self._most - len(self._rows)
        too_few = free < min(self._pace.admit_at_least, len(self._waiting), self._most)
        if not self._waiting or (self._rows and too_few):
            return []
        joining: list[Row] = []
        columns = max((row.columns for row in self._rows), default=0)
        held = self.held_bytes
        rows_of: dict[int, int] = {}
        while self._waiting and len(joining) < free:
            columns = max(columns, self._waiting[0].columns)
            if columns not in rows_of:
                rows_of[columns] = self._room.rows_of(columns, held_bytes=held)
            if len(self._rows) + len(joining) >= rows_of[columns]:
                break
            joining.append(self._waiting.popleft())
        if not joining and not self._rows:
            self._end(self._waiting.popleft(), _no_room(columns, self._device))
        return joining

    def _admit(self) -> list[Tensor]:
        """Read the prompts of the rows that join. Afterwards ``_joining`` has their order in the cache."""
        rows = self._joining
        prompts = list(dict.fromkeys(row.prompt for row in rows))
        batches = prefill.read_prompts(
            prompts,
            n_layers=self._n_layers,
            cache=self._prompts,
            most_tokens=self._pace.prefill_tokens,
            forward=self._forward,
            device=self._device,
        )
        ahead = max(row.most - len(row.tokens) for row in (*self._rows, *rows))
        ordered: list[Row] = []
        logits = []
        for batch in batches:
            numbers = {prompt: number for number, prompt in enumerate(batch.prompts)}
            batch_rows = [row for row in rows if row.prompt in numbers]
            picked = [numbers[row.prompt] for row in batch_rows]
            self._cache.take(batch.cache, picked, ahead=ahead)
            logits.append(batch.logits[on_device(picked, self._device)])
            ordered += batch_rows
        self._joining = ordered
        return logits

    def _begin_empty(self) -> None:
        """New buffers, without rows."""
        rounds = for_live_use if self._pace.live else for_a_run
        self._cache = KeyValues(self._n_layers, room=1, width=1, round_up=rounds if self._records else None)
        self._recorded = RecordedSteps(self._model, self._cache, self._device) if self._records else None

    # --- Rows that leave ---

    def _drop(self, dead: Sequence[int]) -> None:
        if not dead:
            return
        with torch.inference_mode():
            self._rows = [self._rows[number] for number in self._cache.drop(dead)]

    def _end(self, row: Row, *outcomes: Outcome) -> None:
        """The row's outcome and that of equal rows. Of n-best texts, each gets its own."""
        followers = [] if row.request.decoder.samples else self._followers.pop(_same(row), [])
        last = len(outcomes) - 1
        self._ended += [
            (same_row.request.key, outcomes[min(same_row.request.rank, last)]) for same_row in (row, *followers)
        ]

    def _pass_on(self, row: Row) -> None:
        """A row that draws nothing was cancelled: the next equal one replaces it."""
        followers = [] if row.request.decoder.samples else self._followers.pop(_same(row), [])
        if followers:
            self._followers[_same(row)] = followers[1:]
            (self._beams if row.request.decoder.beams > 1 else self._waiting).appendleft(followers[0])

    def _restart_with_fewer_rows(self) -> None:
        """Memory ran out: start again with half the rows at once. The same seeds give the same texts. A row alone is
        tried once more, without what earlier rows left."""
        rows = [*self._rows, *self._joining]
        columns = max(row.columns for row in rows)
        self._rows, self._joining = [], []
        self._begin_empty()
        self._prompts.clear()
        release(self._device)
        if len(rows) == 1 and self._most == 1:
            self._end(rows[0], _no_room(columns, self._device))
            return
        self._most = max(1, len(rows) // 2)
        for row in reversed(rows):
            row.restart()
            self._waiting.appendleft(row)


def _same(row: Row) -> tuple[Any, ...]:
    return row.prompt, row.cut_tokens, row.request.decoder, row.request.limits


def _no_room(columns: int, device: torch.device) -> NotGenerated:
    return NotGenerated(
        f"Out of memory: {device} has no room for even one text of {columns} tokens with its prompt. Shorten the "
        "prompt or the text, load the model in a smaller dtype, or close what else uses the device."
    )
