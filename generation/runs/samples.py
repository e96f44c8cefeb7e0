"""The samples of a run as other apps read them: plain rows, one context at a time.

Whatever the size of the run, only one context is in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db.models import F

from generation.backends.model_origin import WEIGHTS
from generation.decoding.decoders import parse_decoder
from generation.models import GenerationRun, Sample

FETCH_AT_ONCE = 2000


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One sample with everything about its origin.

    ``context``: what raters may see of the prompt. ``label``: the decoder's parameter and value, if it has exactly one.
    ``priming``: the text before the prompt that showed the model what is wanted; empty if there was none.
    ``score``: what a beam search or a reranker ordered texts by.
    ``revision``: the commit of a hub model, or the checksum of a file or folder.
    """

    id: int
    context_id: str
    context: str
    fields: Mapping[str, str]
    model: str
    decoder: str
    label: tuple[str, float] | None
    number: int
    seed: int
    text: str
    token_ids: Sequence[int] = ()
    n_tokens: int = 0
    prompt_tokens: int = 0
    cut_tokens: int = 0
    log_p: float | None = None
    log_q: float | None = None
    score: float | None = None
    finish_reason: str = ""
    seconds: float = 0.0
    priming: str = ""
    model_source: str = ""
    revision: str = ""
    dtype: str = ""
    device: str = ""
    versions: str = ""


def samples_of(run: GenerationRun) -> Generator[list[SampleRow]]:
    """The samples of one context after the other: by model and decoder, in the run file's order, then by number."""
    models = {name: position for position, name in enumerate(run.spec.get("models", ()))}
    decoders = {name: position for position, name in enumerate(run.spec.get("decoders", ()))}
    swept = swept_parameters(decoders)
    stored = Sample.objects.filter(run=run).select_related("context", "model").annotate(made_with=F("chunk__made_with"))
    stored = stored.order_by("context_id", "model_id", "decoder", "number")  # as the unique index has them
    with closing(stored.iterator(chunk_size=FETCH_AT_ONCE)) as fetched:  # type: ignore[type-var]  # it is a generator
        for _, samples in groupby(fetched, key=lambda sample: sample.context_id):
            rows = [_sample_row(sample, swept) for sample in samples]
            yield sorted(rows, key=lambda row: (models.get(row.model, 0), decoders.get(row.decoder, 0), row.number))


def swept_parameters(decoders: Iterable[str]) -> set[str]:
    """The parameters that these decoders set, ignoring decoders that set several."""
    return {parameter[0] for name in decoders if (parameter := parse_decoder(name).parameter)}


def label_of(decoder: str, swept: Collection[str]) -> tuple[str, float] | None:
    """The decoder's parameter and value. Ancestral sampling is temperature 1 where temperatures are swept."""
    parameter = parse_decoder(decoder).parameter
    return ("temperature", 1.0) if decoder == "ancestral" and "temperature" in swept else parameter


def shown_context(fields: Mapping[str, str], prompt: str, keep: int) -> str:
    """What raters see before a text: the field context, prompt or story, else the prompt without its priming text."""
    named = (fields[name] for name in ("context", "prompt", "story") if name in fields)
    return next(named, prompt[keep:])


def _sample_row(sample: Sample, swept: Collection[str]) -> SampleRow:
    context = sample.context
    made_with: dict[str, Any] = sample.made_with or {}  # type: ignore[attr-defined]  # annotated by the query
    return SampleRow(
        id=sample.pk,
        context_id=context.external_id,
        context=shown_context(context.fields, context.prompt, context.keep),
        fields=context.fields,
        model=sample.model.name,
        decoder=sample.decoder,
        label=label_of(sample.decoder, swept),
        number=sample.number,
        seed=sample.seed,
        text=sample.text,
        token_ids=sample.token_ids,
        n_tokens=sample.n_tokens,
        prompt_tokens=sample.prompt_tokens,
        cut_tokens=sample.cut_tokens,
        log_p=sample.log_p,
        log_q=sample.log_q,
        score=sample.score,
        finish_reason=sample.finish_reason,
        seconds=sample.seconds,
        priming=context.prompt[: context.keep],
        model_source=sample.model.source,
        revision=next((made_with[name] for name in WEIGHTS if name in made_with), sample.model.revision),
        dtype=made_with.get("dtype", ""),
        device=made_with.get("device", ""),
        versions=", ".join(f"{name} {number}" for name, number in made_with.get("versions", {}).items()),
    )
