"""Prompts that were read before, with their keys, values and the logits after the last token.

For live use, a prompt that begins like an earlier one (a story that grew, a priming text) is read only from where they
differ. For runs only whole prompts are reused, so that a result does not depend on what was read before.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from torch import Tensor

from generation.backends.key_values import RowState

Prompt = tuple[int, ...]
# Shorter beginnings are not worth copying.
LEAST_SHARED = 8


@dataclass(frozen=True)
class Read:
    state: RowState
    logits: Tensor


class PromptCache:
    """The most recent prompts, up to ``most_tokens`` tokens in total; 0 stores none."""

    def __init__(self, most_tokens: int, *, beginnings: bool = False) -> None:
        self.most_tokens, self.beginnings = most_tokens, beginnings
        self._kept: OrderedDict[Prompt, Read] = OrderedDict()

    def whole(self, prompt: Prompt) -> Read | None:
        if prompt in self._kept:
            self._kept.move_to_end(prompt)
        return self._kept.get(prompt)

    def beginning(self, prompt: Prompt) -> tuple[Read, int] | None:
        """The stored prompt that shares the longest beginning, and how many tokens of it, never the prompt's last."""
        if not self.beginnings:
            return None
        longest, found = LEAST_SHARED - 1, None
        for known in self._kept:
            if len(known) > longest and known[:longest] == prompt[:longest]:
                shared = _shared(known, prompt[:-1])
                if shared > longest:
                    longest, found = shared, known
        if found is None:
            return None
        self._kept.move_to_end(found)
        return self._kept[found], longest

    def keep(self, prompt: Prompt, read: Read) -> None:
        if len(prompt) > self.most_tokens:
            return
        if self.beginnings:  # a story that grew replaces its earlier version
            for known in [known for known in self._kept if len(known) < len(prompt) and known == prompt[: len(known)]]:
                del self._kept[known]
        self._kept[prompt] = read
        while sum(map(len, self._kept)) > self.most_tokens:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        self._kept.clear()


def _shared(first: Prompt, second: Prompt) -> int:
    for number, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return number
    return min(len(first), len(second))
