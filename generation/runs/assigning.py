"""Which models and decoders each context of a run gets: all of them, or exactly one.

``one_per_context`` is how the decTest sets of Tevet & Berant 2021 were made: 1,000 contexts, each with one of 100
temperatures. The order of contexts comes from the run's seed, so the same file gives the same assignment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from generation.decoding.decoders import Decoder
from generation.decoding.seeds import shuffle_key

CROSSED, ONE_PER_CONTEXT = "crossed", "one_per_context"
ASSIGNMENTS = (CROSSED, ONE_PER_CONTEXT)

Assigned = tuple[str, Decoder]


def assign_one(
    *, context_ids: Sequence[str], models: Sequence[str], decoders: Sequence[Decoder], seed: int
) -> list[Assigned]:
    """One model and one decoder for each context, in the order of ``context_ids``.

    The numbers of contexts differ by at most one between decoders, between models, and between their combinations.
    What a context gets depends on the seed and the names only, not on their order in the file.
    """
    shuffled = sorted(range(len(context_ids)), key=lambda number: shuffle_key(seed, "context", context_ids[number]))
    models = sorted(models, key=lambda name: shuffle_key(seed, "model", name))
    decoders = sorted(decoders, key=lambda decoder: shuffle_key(seed, "decoder", decoder.name))
    # Every model with every decoder once, in an order of which any beginning is balanced in both: the pairs cycle
    # through both lists together. After each least common multiple of their lengths, the models shift by one, because
    # otherwise the same pairs would repeat.
    round_length = math.lcm(len(models), len(decoders))
    combinations = [
        (models[(number + number // round_length) % len(models)], decoders[number % len(decoders)])
        for number in range(min(len(models) * len(decoders), len(context_ids)))
    ]
    assigned = {number: combinations[position % len(combinations)] for position, number in enumerate(shuffled)}
    return [assigned[number] for number in range(len(context_ids))]
