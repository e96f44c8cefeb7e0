"""The seed of every single sample, so that each can be drawn again without the others."""

from __future__ import annotations

import hashlib
import json


def sample_seed(run_seed: int, context_id: str, model: str, decoder: str, number: int) -> int:
    """63 bits of SHA-256 over what tells a sample from all others of its run.

    ``context_id`` is the researcher's id, ``decoder`` a canonical name, ``number`` the sample's place among those of
    its context, model and decoder. Adding contexts, models, decoders or samples to a run file leaves the others'
    seeds as they were.
    """
    told = json.dumps([run_seed, context_id, model, decoder, number], ensure_ascii=True, separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8], "big") >> 1
