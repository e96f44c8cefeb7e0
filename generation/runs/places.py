"""The places of a run: each is one sample to be generated, with its seed and its request to the backend."""

from __future__ import annotations

from collections.abc import Mapping
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


def places_of(chunk: Chunk) -> list[Place]:
    """Every place of the chunk, in order."""
    run, model = chunk.run, chunk.model.name
    numbers = {number for number, *_ in chunk.places}
    contexts = {context.number: context for context in RunContext.objects.filter(run=run, number__in=numbers)}
    return [
        place_of(run, contexts[number], model, decoder, sample)
        for number, decoder, first, count in chunk.places
        for sample in range(first, first + count)
    ]


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
