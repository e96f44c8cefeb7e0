"""A seed for every sample, so that each can be drawn again without the others."""

from __future__ import annotations

import hashlib
import json


def sample_seed(run_seed: int, context_id: str, model: str, decoder: str, number: int) -> int:
    """63 bits of SHA-256 over what distinguishes a sample from all others of its run.

    ``context_id`` is the researcher's id, ``decoder`` a canonical name, ``number`` the sample's place among those of
    its context, model and decoder. Adding contexts, models, decoders or samples to a run file leaves the seeds of the
    others as they were.
    """
    return _bits(run_seed, context_id, model, decoder, number)


def draw_seed(seed: int, draw: int) -> int:
    """The seed of another draw in place of one, as after an unusable suggestion. The first has the seed itself.

    63 bits of SHA-256 over both numbers.
    """
    if draw == 0:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed} {draw}".encode()).digest()[:8], "big") >> 1


def shuffle_key(seed: int, kind: str, name: str) -> int:
    """A sort key that shuffles names. The order is the same on every machine and does not depend on the input order."""
    return _bits(seed, "shuffle", kind, name)


def _bits(*parts: int | str) -> int:
    joined = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(joined.encode()).digest()[:8], "big") >> 1
