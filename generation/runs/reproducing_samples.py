"""Generate a stored sample again from its seed, to show that it can be reproduced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from common.problems import invalid
from generation.backends.base import BackendError, Generated
from generation.backends.origin import WEIGHTS, made_with
from generation.backends.requirements import why_not
from generation.models import Sample
from generation.registry import open_models
from generation.registry.open_models import BackendOf
from generation.runs.chunks import storable
from generation.runs.places import Place, request_of


@dataclass(frozen=True, slots=True)
class Reproduced:
    """The stored sample and the text its seed gives now. ``here``, ``then``: dtype, device, weights, libraries."""

    sample: Sample
    text: str
    same_tokens: bool
    here: str
    then: str


def reproduce_sample(*, run_id: int, sample_id: int, backend_of: BackendOf | None = None) -> Reproduced:
    """Generate one sample of a run again, alone. Writes nothing. Raises Invalid or BackendError.

    For the command line: it loads the model.
    """
    stored = Sample.objects.select_related("run", "context", "model", "chunk")
    sample = stored.filter(run_id=run_id, pk=sample_id).first()
    if sample is None:
        ids = Sample.objects.filter(run_id=run_id).order_by("pk").values_list("pk", flat=True)
        first, last = ids.first(), ids.last()
        fix = f"Its samples have ids from {first} to {last}." if first else "It has no samples yet."
        raise invalid("sample", f"The run has no sample {sample_id}.", fix)
    if lacking := why_not(sample.model.backend):
        raise BackendError(lacking)
    place = Place(sample.context, sample.decoder, sample.number, sample.seed)
    backend = (backend_of or open_models.backend_of)(sample.model)
    outcome = backend.generate([request_of(place, sample.run.spec)])[0]
    if not isinstance(outcome, Generated):
        raise BackendError(f"The model refused the prompt: {outcome.reason}")
    return Reproduced(
        sample=sample,
        text=storable(outcome.text),
        same_tokens=list(outcome.token_ids) == sample.token_ids,
        here=_shown(made_with(backend)),
        then=_shown(sample.chunk.made_with),
    )


def _shown(made: Mapping[str, Any]) -> str:
    """In words; empty if nothing was recorded."""
    if not made:
        return ""
    weights = [f"{name} {made[name]}" for name in WEIGHTS if name in made]
    libraries = [f"{name} {number}" for name, number in sorted(made.get("versions", {}).items())]
    return ", ".join([f"{made.get('dtype', '')} on {made.get('device', '')}", *weights, *libraries])
