"""Reading prompts: many at once, each only once, and only the part that is not known yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from generation.backends.key_values import KeyValues
from generation.backends.prompt_cache import Prompt, PromptCache, Read

# A prompt much shorter than the others in a batch would be mostly padding.
LEAST_FILLED = 0.6
Forward = Callable[[Tensor, KeyValues], Tensor]


@dataclass(frozen=True)
class Unread:
    """A prompt to read, of which the first ``n_known`` tokens are ``known``."""

    prompt: Prompt
    known: Read | None
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


def read(
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
        whole = cache.whole(prompt)
        if whole is not None:
            batches.append(_known(prompt, whole, n_layers))
        else:
            known = cache.beginning(prompt)
            unread.append(Unread(prompt, *known) if known else Unread(prompt, None, 0))
    for group in _groups(unread, most_tokens):
        batch = _read(group, n_layers, forward, device)
        for number, prompt in enumerate(batch.prompts):
            if cache.most_tokens:
                cache.keep(prompt, Read(batch.cache.row(number), batch.logits[number].clone()))
        batches.append(batch)
    return batches


def _groups(unread: Sequence[Unread], most_tokens: int) -> list[list[Unread]]:
    groups: list[list[Unread]] = []
    for each in sorted(unread, key=lambda each: -each.n_new):
        longest = groups[-1][0].n_new if groups else 0
        fits = groups and longest * (len(groups[-1]) + 1) <= most_tokens and each.n_new >= LEAST_FILLED * longest
        if fits:
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups


def _known(prompt: Prompt, read: Read, n_layers: int) -> Batch:
    cache = KeyValues(n_layers, room=1, width=len(prompt))
    cache.starts, cache.end = [0], len(prompt)
    cache.preset(0, read.state, len(prompt))
    return Batch((prompt,), cache, read.logits[None])


def _read(group: Sequence[Unread], n_layers: int, forward: Forward, device: torch.device) -> Batch:
    """One forward pass over the new part of each prompt; all end at the same column."""
    width, longest = max(len(each.prompt) for each in group), max(each.n_new for each in group)
    cache = KeyValues(n_layers, room=len(group), width=width)
    cache.starts = [width - len(each.prompt) for each in group]
    cache.begin, cache.end = min(cache.starts), width - longest
    for number, each in enumerate(group):
        if each.known is not None:
            cache.preset(number, each.known.state, each.n_known)
    tokens = torch.zeros(len(group), longest, dtype=torch.long)
    for number, each in enumerate(group):
        tokens[number, longest - each.n_new :] = torch.tensor(each.prompt[each.n_known :])
    if any(each.n_new < longest for each in group):
        first_new = torch.tensor([longest - each.n_new for each in group])
        written = torch.arange(longest)[None, :] >= first_new[:, None]
        cache.written = written[:, None, :, None].to(device)
    logits = forward(tokens.to(device), cache)
    cache.written = None
    return Batch(tuple(each.prompt for each in group), cache, logits)
