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
    writer.writerow([*HEAD, *(f"resp_{place}" for place in range(size)), *TAIL, *stops, *relevances, "samples"])
    found: dict[tuple[str, str], Summary] = {}
    for each in sets:
        parameter = label_of(each.decoder, swept) or ("decoder", each.decoder)
        context, result = each.context, each.result
        human = (references or {}).get(context.external_id, ())
        shown = shown_context(context.fields, context.prompt, context.keep)
        figures = {"start_score": result.start_score, "end_score": result.end_score, "n_sampled": result.n_sampled,
                   "overlap": result.overlap} | _relevance(human, each, measures)  # fmt: skip
        head = (context.external_id, shown, each.model, *parameter, each.decoder, each.trial + 1)
        tail = (*list(figures.values())[:4], int(result.reached))
        also = (result.start_stop, result.end_stop) if stop else ()
        cells = (*head, *result.end, *tail, *also, *(figures[name] for name in relevances), _joined(each.numbers))
        writer.writerow([protect_cell(str(value)) for value in cells])
        found.setdefault((each.model, each.decoder), Summary()).add(result.reached, figures)
    return found


def summary_lines(found: Mapping[tuple[str, str], Summary], *, threshold: float, stop: str) -> Iterator[str]:
    """How many sets are above the threshold, and how the sets of each decoder changed."""
    sets = sum(len(each.reached) for each in found.values())
    reached = sum(sum(each.reached) for each in found.values())
    yield f"{reached:,} of {counted(sets, 'set')} ended above {stop} = {threshold:g}."
    for (model, decoder), each in found.items():
        parts = [
            f"{sum(each.reached):,} of {len(each.reached):,} above",
            f"score {each.mean('start_score'):.3f} → {each.mean('end_score'):.3f}",
            f"{each.mean('n_sampled'):.1f} responses drawn",
            f"{each.mean('overlap'):.1f} of the first set left",
        ]
        measures = [
            name.removeprefix("end_") for name in each.figures if name.startswith("end_") and name != "end_score"
        ]
        parts += [f"{name} {each.mean(f'start_{name}'):.3f} → {each.mean(f'end_{name}'):.3f}" for name in measures]
        yield f"  {model}, {decoder}: {'; '.join(parts)}"


def _relevance(references: Sequence[str], each: DiversifiedSet, measures: Mapping[str, Relevance]) -> dict[str, float]:
    """The mean of each measure of the responses against the context's references, before and after."""
    sets: dict[str, Sequence[str]] = {"start": each.result.start, "end": each.result.end}
    return {
        f"{end}_{name}": fmean(measure(text, references) for text in texts)
        for name, measure in measures.items()
        for end, texts in sets.items()
    }


def _joined(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))
