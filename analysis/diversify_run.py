"""Diversity Threshold Generation on the samples of a run, with any metric; more are drawn where the run's run out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from analysis.diversity.metrics import METRICS, Metric
from generation.diversify import Diversified, diversify
from generation.models import GenerationRun, LanguageModel, RunContext, Sample

#: Draws that many more responses of a context, model and decoder, the first of them with that number.
DrawMore = Callable[[RunContext, LanguageModel, str, int, int], Sequence[str]]


LEAST_SIZE = 3


@dataclass(frozen=True, slots=True)
class DiversifiedSet:
    """The set of one context, model and decoder."""

    context: RunContext
    model: str
    decoder: str
    result: Diversified


def find_metric(name: str) -> Metric:
    """A metric by its name here, or by its dotted path. Raises ValueError naming those there are."""
    if name in METRICS:
        return METRICS[name]
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError):  # TypeError: a path that begins with a dot
        found = None
    if not callable(found):
        raise ValueError(
            f"There is no metric “{name}”. Known: {', '.join(METRICS)}; or the dotted path of a function that takes a "
            "list of texts and gives a number."
        )
    return cast(Metric, found)


def diversify_run(
    run: GenerationRun,
    *,
    metric: Metric,
    threshold: float,
    size: int,
    most_sampled: int,
    decoders: Sequence[str] = (),
    draw_more: DrawMore | None = None,
) -> Iterator[DiversifiedSet]:
    """Every set of the run, or of the named decoders: its first ``size`` samples, then the next ones in their order.

    Where the run has fewer than ``most_sampled`` samples of a set, ``draw_more`` makes the others, all at once and only
    if they are needed. ValueError as of `generation.diversify.diversify`.
    """
    if size < LEAST_SIZE:
        raise ValueError(f"a set needs at least {LEAST_SIZE} responses to drop one of, not {size}")
    samples = Sample.objects.filter(run=run).select_related("context", "model")
    if decoders:
        samples = samples.filter(decoder__in=decoders)
    wanted = samples.order_by("context__number", "model__name", "decoder", "number")
    for rows in _sets(wanted.iterator(chunk_size=2000)):
        first = rows[0]
        texts = [row.text for row in rows]
        if len(texts) < size:
            raise ValueError(
                f"context {first.context.external_id}, {first.decoder}: {len(texts)} samples do not make a set of "
                f"{size}. Make a run with more samples, or take smaller sets."
            )
        draw = _drawer(rows, texts[size:most_sampled], most_sampled, draw_more)
        result = diversify(start=texts[:size], draw=draw, metric=metric, threshold=threshold, most_sampled=most_sampled)
        yield DiversifiedSet(first.context, first.model.name, first.decoder, result)


def _sets(samples: Iterator[Sample]) -> Iterator[list[Sample]]:
    """Samples that follow each other and are of one context, model and decoder."""
    group: list[Sample] = []
    for sample in samples:
        if group and _key(group[0]) != _key(sample):
            yield group
            group = []
        group.append(sample)
    if group:
        yield group


def _key(sample: Sample) -> tuple[int, int, str]:
    return sample.context_id, sample.model_id, sample.decoder


def _drawer(
    rows: Sequence[Sample], stored: Sequence[str], most_sampled: int, draw_more: DrawMore | None
) -> Callable[[], str | None]:
    def texts() -> Iterator[str]:
        yield from stored
        lacking = most_sampled - len(rows)
        if draw_more is not None and lacking > 0:
            yield from draw_more(rows[0].context, rows[0].model, rows[0].decoder, len(rows), lacking)

    following = texts()
    return lambda: next(following, None)
