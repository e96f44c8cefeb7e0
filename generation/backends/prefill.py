"""Reading prompts: many at once, each only once, and only the part that is not known yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from generation.backends.key_values import KeyValues
from generation.backends.prompt_cache import Prompt, PromptCache, ReadPrompt

# A prompt much shorter than the others in a batch would be mostly padding.
LEAST_FILLED = 0.6
Forward = Callable[[Tensor, KeyValues], Tensor]


@dataclass(frozen=True)
class Unread:
    """A prompt to read, of which the first ``n_known`` tokens are in ``beginning``."""

    prompt: Prompt
    beginning: ReadPrompt | None
    n_known: int

    @property
    def n_new(self) -> int:
        return len(self.prompt) - self.n_known


@dataclass(frozen=True)
class Batch:
    """Prompts that were read together, with their keys and values and the logits after each."""

    prompts: tuple[Prompt, ...]
    cache: KeyValues
    logits: Tensor


def read_prompts(
    prompts: Sequence[Prompt],
    *,
    n_layers: int,
    cache: PromptCache,
    most_tokens: int,
    forward: Forward,
    device: torch.device,
) -> list[Batch]:
    """Different prompts, in batches of at most ``most_tokens`` tokens with padding."""
    batches, unread = [], []
    for prompt in prompts:
        stored = cache.get(prompt)
        if stored is not None:
            copy = KeyValues(n_layers, room=1, width=len(prompt))
            copy.starts, copy.end = [0], len(prompt)
            copy.preset(0, stored.state, len(prompt))
            batches.append(Batch((prompt,), copy, stored.logits[None]))
        else:
            stored_beginning = cache.beginning(prompt)
            unread.append(Unread(prompt, *stored_beginning) if stored_beginning else Unread(prompt, None, 0))
    groups: list[list[Unread]] = []
    for unread_prompt in sorted(unread, key=lambda unread_prompt: -unread_prompt.n_new):
        longest = groups[-1][0].n_new if groups else 0
        fits = groups and longest * (len(groups[-1]) + 1) <= most_tokens
        if fits and unread_prompt.n_new >= LEAST_FILLED * longest:
            groups[-1].append(unread_prompt)
        else:
            groups.append([unread_prompt])
    for group in groups:
        batch = _read_together(group, n_layers, forward, device)
        for number, prompt in enumerate(batch.prompts):
            if cache.most_tokens:
                cache.save(prompt, ReadPrompt(batch.cache.row(number), batch.logits[number].clone()))
        batches.append(batch)
    return batches


def _read_together(group: Sequence[Unread], n_layers: int, forward: Forward, device: torch.device) -> Batch:
    """One forward pass over the new part of each prompt; all end at the same column."""
    width, longest = max(len(unread.prompt) for unread in group), max(unread.n_new for unread in group)
    cache = KeyValues(n_layers, room=len(group), width=width)
    cache.starts = [width - len(unread.prompt) for unread in group]
    cache.begin, cache.end = min(cache.starts), width - longest
    for number, unread in enumerate(group):
        if unread.beginning is not None:
            cache.preset(number, unread.beginning.state, unread.n_known)
    tokens = torch.zeros(len(group), longest, dtype=torch.long)
    for number, unread in enumerate(group):
        tokens[number, longest - unread.n_new :] = torch.tensor(unread.prompt[unread.n_known :])
    if any(unread.n_new < longest for unread in group):
        first_new = torch.tensor([longest - unread.n_new for unread in group])
        written = torch.arange(longest)[None, :] >= first_new[:, None]
        cache.written = written[:, None, :, None].to(device)
    logits = forward(tokens.to(device), cache)
    cache.written = None
    return Batch(tuple(unread.prompt for unread in group), cache, logits)
