"""The places of a run: each is one sample to be generated, with its seed and its request to the backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from generation.backends.base import Request
from generation.decoding.decoders import Limits, parse_decoder
from generation.decoding.seeds import sample_seed
from generation.models import Chunk, GenerationRun, RunContext


@dataclass(frozen=True, slots=True)
class Place:
    """One sample to be generated: the ``number``-th of its context, model and decoder."""

    context: RunContext
    decoder: str
    number: int
    seed: int


def place_of(run: GenerationRun, context: RunContext, model: str, decoder: str, number: int) -> Place:
    """A place with its seed, which depends on nothing but the place and the run's seed."""
    return Place(context, decoder, number, sample_seed(run.seed, context.external_id, model, decoder, number))


def places_of(chunks: Sequence[Chunk]) -> list[list[Place]]:
    """Every place of each chunk of one run, in order. One query."""
    numbers = {number for chunk in chunks for number, *_ in chunk.places}
    found = RunContext.objects.filter(run__in={chunk.run_id for chunk in chunks}, number__in=numbers)
    contexts = {context.number: context for context in found}
    return [
        [
            place_of(chunk.run, contexts[number], chunk.model.name, decoder, sample)
            for number, decoder, first, count in chunk.places
            for sample in range(first, first + count)
        ]
        for chunk in chunks
    ]


def listed(places: Sequence[Place]) -> list[list[Any]]:
    """Places as a chunk lists them: [context number, decoder name, first sample, number of samples]."""
    rows: list[list[Any]] = []
    for place in places:
        number, decoder = place.context.number, place.decoder
        if rows and rows[-1][:2] == [number, decoder] and rows[-1][2] + rows[-1][3] == place.number:
            rows[-1][3] += 1
        else:
            rows.append([number, decoder, place.number, 1])
    return rows


def request_of(place: Place, spec: Mapping[str, Any]) -> Request:
    """The request for one sample, by its run's spec."""
    return Request(
        key=(place.context.number, place.decoder, place.number),
        prompt=place.context.prompt,
        decoder=parse_decoder(place.decoder),
        limits=Limits(**spec["limits"]),
        seed=place.seed,
        cut_left=spec["over_long"] == "cut",
        keep=place.context.keep,
    )
