"""Generate a stored sample again from its seed, to show that it can be reproduced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from common.problems import invalid
from generation.backends.base import BackendError, Generated
from generation.backends.model_origin import WEIGHTS, made_with
from generation.backends.requirements import why_not
from generation.models import Sample
from generation.registry import open_models
from generation.registry.open_models import BackendOf
from generation.runs.chunks import storable
from generation.runs.planned_samples import PlannedSample, request_of
from generation.runs.reranking import generate_reranked


@dataclass(frozen=True, slots=True)
class Reproduced:
    """The stored sample and the text its seed gives now. ``now``, ``then``: dtype, device, weights, libraries."""

    sample: Sample
    text: str
    same_tokens: bool
    now: str
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
    planned = PlannedSample(sample.context, sample.decoder, sample.number, sample.seed)
    backend = (backend_of or open_models.backend_of)(sample.model)
    spec = sample.run.spec
    outcome = generate_reranked(backend, [request_of(planned, spec)], spec.get("rerank"))[0]
    if not isinstance(outcome, Generated):
        raise BackendError(f"The model refused the prompt: {outcome.reason}")
    return Reproduced(
        sample=sample,
        text=storable(outcome.text),
        same_tokens=list(outcome.token_ids) == sample.token_ids,
        now=_shown(made_with(backend)),
        then=_shown(sample.chunk.made_with),
    )


def _shown(made_with: Mapping[str, Any]) -> str:
    """In words; empty if nothing was recorded."""
    if not made_with:
        return ""
    weights = [f"{name} {made_with[name]}" for name in WEIGHTS if name in made_with]
    libraries = [f"{name} {number}" for name, number in sorted(made_with.get("versions", {}).items())]
    return ", ".join([f"{made_with.get('dtype', '')} on {made_with.get('device', '')}", *weights, *libraries])
