"""Diversity Threshold Generation on the sets of a run; more samples are drawn if the run has too few."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice

from analysis.diversity.metrics import Metric
from common.words import counted
from generation.backends.base import Generated, NotGenerated
from generation.decoding.decoders import parse_decoder
from generation.diversify.threshold import MOST_SAMPLED, Diversified, check_design, diversify
from generation.models import GenerationRun, LanguageModel, RunContext, Sample
from generation.registry import open_models
from generation.runs.planned_samples import plan_sample, request_of
from generation.runs.reranking import generate_reranked

#: Draws more responses for a context, model and decoder. The numbers are that of the first response, and how many.
DrawMore = Callable[[RunContext, LanguageModel, str, int, int], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Design:
    """How sets are resampled.

    ``metric`` decides which response is dropped; ``stop`` (``metric`` if None) is compared with the threshold. A set
    has ``size`` responses, and a trial draws at most ``most_sampled``. Trials share no samples: the n-th begins with
    sample n × ``most_sampled``, counted from 0.
    """

    metric: Metric
    threshold: float
    size: int = 5
    most_sampled: int = MOST_SAMPLED
    trials: int = 1
    stop: Metric | None = None


@dataclass(frozen=True, slots=True)
class DiversifiedSet:
    """One trial of one context, model and decoder. ``first``: the number of its first sample; the trial's n-th response
    is the sample ``first`` + n."""

    context: RunContext
    model: str
    decoder: str
    trial: int
    first: int
    result: Diversified

    @property
    def numbers(self) -> list[int]:
        """The sample numbers of the last set."""
        return [self.first + n_drawn_before for n_drawn_before in self.result.places]


def drawing_decoders(run: GenerationRun, named: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """The run's decoders, all or those named: first those that draw, whose samples can form sets, then those that draw
    nothing. Raises ValueError if there are no samples to make sets from."""
    names = sorted(run.samples.values_list("decoder", flat=True).distinct())
    chosen = [name for name in names if not named or name in named]
    drawing = [name for name in chosen if parse_decoder(name).samples]
    if not chosen:
        raise ValueError("The run has no samples" + (" of these decoders." if named else " yet."))
    if not drawing:
        raise ValueError(f"{', '.join(chosen)}: nothing is drawn and every text is the same, so there are no sets.")
    return drawing, [name for name in chosen if name not in drawing]


def diversify_run(
    run: GenerationRun, design: Design, *, decoders: Sequence[str] = (), draw_more: DrawMore | None = None
) -> Iterator[DiversifiedSet]:
    """Every trial of every set of the run, or of the named decoders, with the run's samples in their order.

    If the run has too few, ``draw_more`` makes the missing ones, at most twice a trial and only when they are needed.
    Raises ValueError for an impossible design or a set with too few samples, and as ``diversify`` does.
    """
    check_design(size=design.size, most_sampled=design.most_sampled, threshold=design.threshold)
    if design.trials < 1:
        raise ValueError(f"{design.trials} trials for each context are too few. Use 1 or more.")
    samples = Sample.objects.filter(run=run).select_related("context", "model")
    if decoders:
        samples = samples.filter(decoder__in=decoders)
    ordered = samples.order_by("context__number", "model__name", "decoder", "number").iterator(chunk_size=2000)
    for _, group in groupby(ordered, key=lambda sample: (sample.context_id, sample.model_id, sample.decoder)):
        rows = list(group)
        for trial in range(design.trials):
            yield _trial(rows, trial, design, draw_more)


def draw_more_of(run: GenerationRun) -> DrawMore:
    """A function that draws with the run's limits, and with the seeds that the run would have used next.

    The function raises ValueError if the model refuses a prompt.
    """

    def draw(context: RunContext, model: LanguageModel, decoder: str, first: int, n: int) -> Sequence[str]:
        planned = [plan_sample(run, context, model.name, decoder, number) for number in range(first, first + n)]
        requests = [request_of(sample, run.spec) for sample in planned]
        outcomes = generate_reranked(open_models.backend_of(model), requests, run.spec.get("rerank"))
        for outcome in outcomes:
            if isinstance(outcome, NotGenerated):
                raise ValueError(f"context {context.external_id}, {decoder}: {outcome.reason}")
        return [outcome.text for outcome in outcomes if isinstance(outcome, Generated)]

    return draw


def _trial(rows: Sequence[Sample], trial: int, design: Design, draw_more: DrawMore | None) -> DiversifiedSet:
    """``rows``: the samples of one context, model and decoder."""
    sample, first = rows[0], trial * design.most_sampled
    stored = {row.number: row.text for row in rows}
    more = partial(draw_more, sample.context, sample.model, sample.decoder) if draw_more else None
    responses = _responses(stored, first, design, more)
    start = list(islice(responses, design.size))
    if len(start) < design.size:
        raise ValueError(
            f"context {sample.context.external_id}, {sample.decoder}: trial {trial + 1} needs the samples {first} to "
            f"{first + design.size - 1}, and the run has {counted(len(rows), 'sample')}. Add --live to draw the "
            "missing ones, make a run with more samples, or use fewer trials or smaller sets."
        )
    result = diversify(
        start=start,
        draw=lambda: next(responses, None),
        metric=design.metric,
        stop=design.stop,
        threshold=design.threshold,
        most_sampled=design.most_sampled,
    )
    return DiversifiedSet(sample.context, sample.model.name, sample.decoder, trial, first, result)


def _responses(
    stored: Mapping[int, str], first: int, design: Design, draw_more: Callable[[int, int], Sequence[str]] | None
) -> Iterator[str]:
    """The responses of a trial, one at a time: first the stored ones, then newly drawn ones, first for the set and then
    for all that may follow."""
    number, end = first, first + design.most_sampled
    for upto in (first + design.size, end):
        while number < upto and number in stored:
            yield stored[number]
            number += 1
        if draw_more is not None and number < upto:
            yield from draw_more(number, upto - number)
            number = upto
