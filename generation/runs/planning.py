"""How a run is cut into chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from generation.runs.run_files import RunFile


def plan_chunks(file: RunFile, model: str) -> Iterator[list[list[Any]]]:
    """Chunks of at most ``chunk_size`` samples of one model, as lists of [context, decoder, first sample, samples].

    Prompts of about the same length come together, so that a batch has little padding; so do all decoders of a context,
    so that its prompt is read once. The longest prompts come first, so a prompt that does not fit shows up at once.
    """
    order = sorted(range(len(file.contexts)), key=lambda number: (-len(file.contexts[number].prompt), number))
    chunk: list[list[Any]] = []
    room = file.chunk_size
    for number in order:
        for decoder in file.decoders_for(number, model):
            first, left = 0, file.n_of(decoder)
            while left:
                count = min(left, room)
                chunk.append([number, decoder.name, first, count])
                first, left, room = first + count, left - count, room - count
                if not room:
                    yield chunk
                    chunk, room = [], file.chunk_size
    if chunk:
        yield chunk
