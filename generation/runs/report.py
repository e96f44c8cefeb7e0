"""The data for the report of a run. The report itself is in ``analysis.report``, which does not use the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from django.db.models import QuerySet

from generation.models import GenerationRun, Sample
from generation.runs.assigning import ONE_PER_CONTEXT
from generation.runs.samples import label_of, swept_parameters

if TYPE_CHECKING:
    from analysis.report.sweep import SweepData

SAMPLE_COLUMNS = (
    *("context", "model", "decoder", "number", "text", "n_tokens", "log_p", "log_q", "finish_reason", "seconds"),
)


def sweep_data(run: GenerationRun) -> SweepData:
    """The run with the samples it has so far, in the form that the report needs."""
    from analysis.report.sweep import SweepData  # loads SciPy, which takes a second

    samples = sample_frame(run)
    decoders = list(dict.fromkeys(samples["decoder"]))
    swept = swept_parameters(decoders)
    limits = run.spec.get("limits", {})
    facts = [
        ("State", run.get_state_display()),
        ("Samples", f"{len(samples):,} of {run.n_wanted:,}"),
        ("Contexts", f"{run.contexts.count():,}"),
        ("Models", ", ".join(dict.fromkeys(samples["model"])) or "–"),
        ("Decoders", f"{len(decoders):,}"),
        ("Limits", ", ".join(f"{key}: {value}" for key, value in limits.items() if value) or "–"),
        ("Seed", f"{run.seed}"),
    ]
    if run.spec.get("assign") == ONE_PER_CONTEXT:
        facts.append(("Assignment", "Each context has one model and one decoder"))
    return SweepData(
        name=run.name,
        state=run.get_state_display(),
        facts=facts,
        samples=samples,
        labels={name: label_of(name, swept) for name in decoders},
        n_wanted=run.n_wanted,
    )


def sample_frame(run: GenerationRun) -> pd.DataFrame:
    """SAMPLE_COLUMNS of every sample of the run, by context, model, decoder and number. One query.

    ``context`` is the external id, ``model`` and ``decoder`` are names; ``log_p`` and ``log_q`` are NaN if unknown.
    """
    rows: QuerySet[Sample, Any] = (
        Sample.objects.filter(run=run)
        .order_by("context__number", "model__name", "pk")
        .values_list("context__external_id", "model__name", *SAMPLE_COLUMNS[2:])
    )
    frame = pd.DataFrame.from_records(list(rows.iterator(chunk_size=10_000)), columns=list(SAMPLE_COLUMNS))
    frame = frame.astype({"log_p": float, "log_q": float, "seconds": float, "n_tokens": int})
    return frame.sort_values(["context", "model", "decoder", "number"], kind="stable", ignore_index=True)
