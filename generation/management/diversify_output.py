"""The file of diversified sets, and what the command prints about it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TextIO

from common.cells import protect_cell
from common.csv_files import CsvWriter
from common.words import counted
from generation.diversify.metrics import Relevance
from generation.diversify.references import References
from generation.diversify.run_sets import DiversifiedSet
from generation.runs.samples import label_of, shown_context

HEAD = ("sample_id", "context", "model", "label_name", "label_value", "decoder", "trial")
TAIL = ("start_score", "end_score", "n_sampled", "overlap", "reached")


@dataclass
class Summary:
    """What happened to the sets of one model and decoder, as means over its trials."""

    reached: list[bool] = field(default_factory=list)
    figures: dict[str, list[float]] = field(default_factory=dict)

    def add(self, reached: bool, figures: Mapping[str, float]) -> None:
        self.reached.append(reached)
        for name, value in figures.items():
            self.figures.setdefault(name, []).append(value)

    def mean(self, name: str) -> float:
        return fmean(self.figures[name]) if name in self.figures else math.nan


def write_sets(
    file: TextIO,
    sets: Iterable[DiversifiedSet],
    *,
    size: int,
    swept: Collection[str] = (),
    stop: bool = False,
    relevance: Mapping[str, Relevance] | None = None,
    references: References | None = None,
) -> dict[tuple[str, str], Summary]:
    """Write one row for each trial of each set, in the columns of diversity evaluation. Returns a summary for each
    model and decoder.

    ``stop``: whether a metric other than that of the scores is compared with the threshold; it gets two more columns.
    ``relevance``: the mean over a set's responses is written for the first and for the last set, against the
    ``references`` of the context; without references it is not written.
    """
    measures = dict(relevance or {}) if references is not None else {}
    stops = ("start_stop", "end_stop") if stop else ()
    relevances = [f"{end}_{name}" for name in measures for end in ("start", "end")]
    writer = CsvWriter(file)
    writer.writerow([*HEAD, *(f"resp_{number}" for number in range(size)), *TAIL, *stops, *relevances, "samples"])
    summaries: dict[tuple[str, str], Summary] = {}
    for diversified in sets:
        parameter = label_of(diversified.decoder, swept) or ("decoder", diversified.decoder)
        context, result = diversified.context, diversified.result
        human = (references or {}).get(context.external_id, ())
        shown = shown_context(context.fields, context.prompt, context.keep)
        texts: dict[str, Sequence[str]] = {"start": result.start, "end": result.end}
        relevance_scores = {
            f"{end}_{name}": fmean(measure(text, human) for text in texts[end])
            for name, measure in measures.items()
            for end in texts
        }
        figures = {"start_score": result.start_score, "end_score": result.end_score, "n_sampled": result.n_sampled,
                   "overlap": result.overlap} | relevance_scores  # fmt: skip
        head = (context.external_id, shown, diversified.model, *parameter, diversified.decoder, diversified.trial + 1)
        tail = (*list(figures.values())[:4], int(result.reached))
        stop_scores = (result.start_stop, result.end_stop) if stop else ()
        measured, numbers = (figures[name] for name in relevances), " ".join(map(str, diversified.numbers))
        cells = (*head, *result.end, *tail, *stop_scores, *measured, numbers)
        writer.writerow([protect_cell(str(value)) for value in cells])
        summaries.setdefault((diversified.model, diversified.decoder), Summary()).add(result.reached, figures)
    return summaries


def summary_lines(summaries: Mapping[tuple[str, str], Summary], *, threshold: float, stop: str) -> Iterator[str]:
    """How many sets are above the threshold, and how the sets of each decoder changed."""
    sets = sum(len(summary.reached) for summary in summaries.values())
    reached = sum(sum(summary.reached) for summary in summaries.values())
    yield f"{reached:,} of {counted(sets, 'set')} ended above {stop} = {threshold:g}."
    for (model, decoder), summary in summaries.items():
        parts = [
            f"{sum(summary.reached):,} of {len(summary.reached):,} above",
            f"score {summary.mean('start_score'):.3f} → {summary.mean('end_score'):.3f}",
            f"{summary.mean('n_sampled'):.1f} responses drawn",
            f"{summary.mean('overlap'):.1f} of the first set left",
        ]
        measures = [
            name.removeprefix("end_") for name in summary.figures if name.startswith("end_") and name != "end_score"
        ]
        parts += [
            f"{name} {summary.mean(f'start_{name}'):.3f} → {summary.mean(f'end_{name}'):.3f}" for name in measures
        ]
        yield f"  {model}, {decoder}: {'; '.join(parts)}"
