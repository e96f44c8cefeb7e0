"""The samples that a run plans: how they are cut into chunks, their seeds, and their requests to the backend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from generation.backends.base import Request
from generation.decoding.decoders import Limits, parse_decoder
from generation.decoding.seeds import sample_seed
from generation.models import Chunk, GenerationRun, RunContext
from generation.runs.run_files import RunFile


@dataclass(frozen=True, slots=True)
class PlannedSample:
    """One sample to be generated: the ``number``-th of its context, model and decoder."""

    context: RunContext
    decoder: str
    number: int
    seed: int

    @property
    def key(self) -> tuple[int, str, int]:
        return self.context.number, self.decoder, self.number


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
            if not decoder.samples and left > room < file.chunk_size:  # what one search finds stays together
                yield chunk
                chunk, room = [], file.chunk_size
            while left:
                count = min(left, room) if decoder.samples else left
                chunk.append([number, decoder.name, first, count])
                first, left, room = first + count, left - count, room - count
                if room <= 0:
                    yield chunk
                    chunk, room = [], file.chunk_size
    if chunk:
        yield chunk


def plan_sample(run: GenerationRun, context: RunContext, model: str, decoder: str, number: int) -> PlannedSample:
    """A sample with its seed, which depends on nothing but the sample's place in the run and the run's seed."""
    return PlannedSample(context, decoder, number, sample_seed(run.seed, context.external_id, model, decoder, number))


def planned_of(chunks: Sequence[Chunk]) -> list[list[PlannedSample]]:
    """Every sample of each chunk of one run, in order. One query."""
    numbers = {number for chunk in chunks for number, *_ in chunk.places}
    rows = RunContext.objects.filter(run__in={chunk.run_id for chunk in chunks}, number__in=numbers)
    contexts = {context.number: context for context in rows}
    return [
        [
            plan_sample(chunk.run, contexts[number], chunk.model.name, decoder, sample)
            for number, decoder, first, count in chunk.places
            for sample in range(first, first + count)
        ]
        for chunk in chunks
    ]


def as_chunk_places(samples: Sequence[PlannedSample]) -> list[list[Any]]:
    """Samples as a chunk lists them: [context number, decoder name, first sample, number of samples]."""
    rows: list[list[Any]] = []
    for sample in samples:
        number, decoder = sample.context.number, sample.decoder
        if rows and rows[-1][:2] == [number, decoder] and rows[-1][2] + rows[-1][3] == sample.number:
            rows[-1][3] += 1
        else:
            rows.append([number, decoder, sample.number, 1])
    return rows


def request_of(sample: PlannedSample, spec: Mapping[str, Any]) -> Request:
    """The request for one sample, by its run's spec."""
    decoder = parse_decoder(sample.decoder)
    return Request(
        key=sample.key,
        prompt=sample.context.prompt,
        decoder=decoder,
        limits=Limits(**spec["limits"]),
        seed=sample.seed,
        cut_left=spec["over_long"] == "cut",
        keep=sample.context.keep,
        rank=0 if decoder.samples else sample.number,
    )
