"""The report of a generation run: its sweeps as curves, every decoder's figures as a table, and examples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from analysis import plots
from analysis.decoding import MEASURES, DecoderFigures, Measure, decoder_figures, trend
from analysis.estimate import Estimate
from analysis.inference import LEAST_CLUSTERS
from analysis.report.blocks import Block, Column, Facts, Figure, Figures, Note, Section, Table
from analysis.report.build import render_page, sections_json, write_files
from analysis.report.files import PAGE

CURVES = ("entropy_per_token", "distinct", "tokens", "repetition")
FEWEST_IN_A_SWEEP = 3
MOST_CURVES = 3
EXAMPLES = 3
LOG_FROM = 100.0  # A sweep whose ends differ by this factor has a logarithmic axis.
#: The lowest and highest possible value of a measure; None if there is no highest.
RANGES: dict[str, tuple[float, float | None]] = {
    "entropy_per_token": (0.0, None),
    "distinct": (0.0, 1.0),
    "tokens": (0.0, None),
    "repetition": (0.0, 1.0),
}

#: By decoder: the parameter that is swept and its value; None if no parameter is.
Labels = Mapping[str, tuple[str, float] | None]


@dataclass(frozen=True, slots=True)
class SweepData:
    """The data of a generation run for its report.

    ``facts`` appear unchanged; ``samples`` has the columns context, model, decoder, number, text, n_tokens, log_p,
    log_q, finish_reason and seconds, sorted by context. ``n_wanted``: how many samples the finished run will have, if
    known.
    """

    name: str
    state: str
    facts: Sequence[tuple[str, str]]
    samples: pd.DataFrame
    labels: Labels
    n_wanted: int | None = None


@dataclass(frozen=True, slots=True)
class Sweep:
    """The decoders of one model that differ only in one parameter, by its value."""

    model: str
    parameter: str
    points: tuple[tuple[float, DecoderFigures], ...]

    @property
    def log(self) -> bool:
        low, high = self.points[0][0], self.points[-1][0]
        return low > 0 and high / low >= LOG_FROM


def write_sweep_report(data: SweepData, *, out_dir: Path) -> Path:
    """Write ``report.html`` and ``report.json`` of the samples so far to ``out_dir``. Returns the page's path.

    The same samples give the same numbers. The report of a run without samples shows that there are none.
    """
    sections = make_sections(data)
    made_at = datetime.now(UTC)
    page = render_page(
        subject="Report of a generation run",
        kind="run report",
        title=data.name,
        sections=sections,
        made_at=made_at,
        draws=0,
        simulated="",
    )
    numbers = {
        "run": data.name,
        "made_at": made_at.isoformat(timespec="seconds"),
        "sections": sections_json(sections),
    }
    write_files(out_dir, page=page, numbers=numbers)
    return out_dir / PAGE


def make_sections(data: SweepData) -> list[Section]:
    design = Section("run", "The run", [design_facts(data)])
    samples = data.samples
    if samples.empty:
        design.blocks.append(Note("There are no samples yet."))
        return [design]
    if data.n_wanted is not None and len(samples) < data.n_wanted:
        told = f"The run has {len(samples):,} of {data.n_wanted:,} samples so far. These figures are not final."
        design.blocks.append(Note(told, "warning"))
    figures = decoder_figures(samples)
    return [design, *sweep_sections(figures, data.labels), decoders_section(figures), examples_section(samples)]


def design_facts(data: SweepData) -> Facts:
    samples = data.samples
    wanted = "" if data.n_wanted is None else f" of {data.n_wanted:,}"
    return Facts(
        [
            ("State", data.state),
            ("Samples", f"{len(samples):,}{wanted}"),
            ("Models", ", ".join(dict.fromkeys(samples["model"])) or "–"),
            ("Decoders", samples["decoder"].nunique()),
            *data.facts,
        ]
    )


def find_sweeps(figures: Sequence[DecoderFigures], labels: Labels) -> list[Sweep]:
    """The decoders of each model that differ only in one parameter, if there are enough for a curve."""
    found: dict[tuple[str, str], dict[float, DecoderFigures]] = {}
    for each in figures:
        if label := labels.get(each.decoder):
            found.setdefault((each.model, label[0]), {})[label[1]] = each
    return [
        Sweep(model, name, tuple(sorted(points.items())))
        for (model, name), points in found.items()
        if len(points) >= FEWEST_IN_A_SWEEP
    ]


def sweep_sections(figures: Sequence[DecoderFigures], labels: Labels) -> list[Section]:
    by_parameter: dict[str, list[Sweep]] = {}
    for sweep in find_sweeps(figures, labels):
        by_parameter.setdefault(sweep.parameter, []).append(sweep)
    return [sweep_section(parameter, sweeps) for parameter, sweeps in by_parameter.items()]


def sweep_section(parameter: str, sweeps: list[Sweep]) -> Section:
    """Curves of the measures by parameter, with one line for each model, and each measure's trend."""
    measures = {measure.key: measure for measure in MEASURES}
    drawn = sweeps[:MOST_CURVES]
    blocks: list[Block] = [Figures([sweep_figure(parameter, drawn, measures[key]) for key in CURVES])]
    if len(sweeps) > len(drawn):
        rest = ", ".join(sweep.model for sweep in sweeps[MOST_CURVES:])
        blocks.append(Note(f"The curves show the first {MOST_CURVES} models. The tables below also have {rest}."))
    trends = [
        (sweep.model, f"{measure.label} ({measure.unit})" if measure.unit else measure.label, trend_of(sweep, measure))
        for sweep in sweeps
        for measure in MEASURES
    ]
    columns = [Column("Model", "text"), Column("Measure", "text"), Column("ρ", digits=3), Column("Decoders")]
    rows = [(model, label, found.value, found.n) for model, label, found in trends]
    note = (
        f"Spearman’s ρ of each measure with {parameter}: +1 if the measure always rises with it, −1 if it always falls."
    )
    blocks.append(Table("Trends", columns, rows, note))
    data = {"trends": [{"model": model, "measure": label, "rho": found} for model, label, found in trends]}
    return Section(f"sweep-{parameter}", f"Sweep of {parameter}", blocks, data)


def trend_of(sweep: Sweep, measure: Measure) -> Estimate:
    return trend([value for value, _ in sweep.points], [each.estimates[measure.key].value for _, each in sweep.points])


def sweep_figure(parameter: str, sweeps: Sequence[Sweep], measure: Measure) -> Figure:
    log = all(sweep.log for sweep in sweeps)
    lines = []
    for sweep in sweeps:
        found = [each.estimates[measure.key] for _, each in sweep.points]
        x = [math.log10(value) if log else value for value, _ in sweep.points]
        lines.append(
            plots.Line(sweep.model, x, [e.value for e in found], [e.low for e in found], [e.high for e in found])
        )
    name = f"{measure.label} ({measure.unit})" if measure.unit else measure.label
    axis = f"log₁₀ {parameter}" if log else parameter
    said = f"{measure.explanation} {interval_note(sweeps, measure)}"
    words = plots.Words(f"{parameter}-{measure.key}", f"{name} over {parameter}", said, x=axis, y=name)
    columns = [Column(parameter, digits=4), Column("Model", "text"), Column(name, digits=3)]
    rows = [(value, sweep.model, each.estimates[measure.key]) for sweep in sweeps for value, each in sweep.points]
    table = Table(f"{name} over {parameter}", columns, rows, measure.explanation, fold=True)
    return Figure(plots.curves(words, lines, limits=limits_of(measure, lines)), f"{name}. {said}", table)


def limits_of(measure: Measure, lines: Sequence[plots.Line]) -> tuple[float, float]:
    """The vertical axis: never beyond the measure's limits, and the full range for a share."""
    least, greatest = RANGES[measure.key]
    drawn = [value for line in lines for part in (line.y, line.high) for value in part if math.isfinite(value)]
    return least, greatest if greatest is not None else 1.05 * max(drawn, default=1.0) or 1.0


def interval_note(sweeps: Sequence[Sweep], measure: Measure) -> str:
    """What the bands show, or why there are none."""
    found = [each.estimates[measure.key] for sweep in sweeps for _, each in sweep.points]
    with_interval = [each for each in found if math.isfinite(each.low)]
    if with_interval:
        return f"Bands are {with_interval[0].level:.0%} intervals over {with_interval[0].n_of}."
    if any(math.isfinite(each.value) for each in found):
        return f"There are no intervals: an interval needs at least {LEAST_CLUSTERS} contexts."
    return "It is not known for these samples."


def decoders_section(figures: Sequence[DecoderFigures]) -> Section:
    columns = [
        Column("Model", "text"),
        Column("Decoder", "code"),
        Column("Samples"),
        *(Column(f"{each.label} ({each.unit})" if each.unit else each.label, digits=3) for each in MEASURES),
    ]
    rows = [
        (each.model, each.decoder, each.n_samples, *(each.estimates[measure.key] for measure in MEASURES))
        for each in figures
    ]
    note = (
        "Each figure is the mean over contexts, with an interval over contexts. Entropy and likelihood are missing "
        "where the log-probabilities of samples are not known: greedy and beam search draw nothing, and some servers "
        "do not report them."
    )
    data: dict[str, Any] = {
        "decoders": [
            {"model": each.model, "decoder": each.decoder, "n_samples": each.n_samples, **each.estimates}
            for each in figures
        ]
    }
    return Section("decoders", "All decoders", [Table("Figures by decoder", columns, rows, note)], data)


def examples_section(samples: pd.DataFrame) -> Section:
    """The first samples of each decoder at the first context."""
    first = samples[samples["context"] == samples["context"].iloc[0]]
    rows = [
        (model, decoder, list(rows["text"].head(EXAMPLES)))
        for (model, decoder), rows in first.groupby(["model", "decoder"], sort=False)
    ]
    columns = [Column("Model", "text"), Column("Decoder", "code"), Column("Texts", "texts")]
    caption = f"First samples at the context {samples['context'].iloc[0]}"
    return Section("examples", "Examples", [Table(caption, columns, rows, fold=len(rows) > 12)])
