"""Prompts that were read before, with their keys, values and the logits after the last token.

For live use, a prompt that begins like an earlier one (a story that grew, a priming text) is read only from where they
differ. For runs only whole prompts are reused, so that a result does not depend on what was read before.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from torch import Tensor

from generation.backends.batch_rows import common_length
from generation.backends.key_values import RowState

Prompt = tuple[int, ...]
# Shorter beginnings are not worth copying.
LEAST_SHARED = 8


@dataclass(frozen=True)
class ReadPrompt:
    state: RowState
    logits: Tensor


class PromptCache:
    """The most recent prompts, up to ``most_tokens`` tokens in total; 0 stores none."""

    def __init__(self, most_tokens: int, *, beginnings: bool = False) -> None:
        self.most_tokens, self.beginnings = most_tokens, beginnings
        self._prompts: OrderedDict[Prompt, ReadPrompt] = OrderedDict()

    def get(self, prompt: Prompt) -> ReadPrompt | None:
        if prompt in self._prompts:
            self._prompts.move_to_end(prompt)
        return self._prompts.get(prompt)

    def beginning(self, prompt: Prompt) -> tuple[ReadPrompt, int] | None:
        """The stored prompt that shares the longest beginning, and how many tokens of it, never the prompt's last."""
        if not self.beginnings:
            return None
        longest, closest = LEAST_SHARED - 1, None
        for stored in self._prompts:
            if len(stored) > longest and stored[:longest] == prompt[:longest]:
                shared = common_length(stored, prompt[:-1])
                if shared > longest:
                    longest, closest = shared, stored
        if closest is None:
            return None
        self._prompts.move_to_end(closest)
        return self._prompts[closest], longest

    def save(self, prompt: Prompt, read: ReadPrompt) -> None:
        if len(prompt) > self.most_tokens:
            return
        if self.beginnings:  # a story that grew replaces its earlier version
            for earlier in [stored for stored in self._prompts if stored == prompt[: len(stored)] and stored != prompt]:
                del self._prompts[earlier]
        self._prompts[prompt] = read
        while sum(map(len, self._prompts)) > self.most_tokens:
            self._prompts.popitem(last=False)

    def clear(self) -> None:
        self._prompts.clear()
