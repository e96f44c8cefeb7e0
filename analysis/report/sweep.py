"""The report of a generation run: its sweeps as curves, every decoder's figures as a table, and examples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from analysis import plots
from analysis.decoding import MEASURES, DecoderFigures, Measure, decoder_figures, trend
from analysis.estimate import Estimate
from analysis.inference import LEAST_CLUSTERS
from analysis.report.blocks import Block, Facts, Figure, Figures, Note, Section
from analysis.report.figures import line_of
from analysis.report.files import PAGE, write_files
from analysis.report.page import render_page
from analysis.report.tables import Column, Table

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
        "sections": {section.key: section.to_json() for section in sections},
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
        text = f"The run has {len(samples):,} of {data.n_wanted:,} samples so far. These figures are not final."
        design.blocks.append(Note(text, "warning"))
    figures = decoder_figures(samples)
    return [design, *sweep_sections(figures, data.labels), decoders_section(figures), examples_section(samples)]


def design_facts(data: SweepData) -> Facts:
    samples = data.samples
    planned = "" if data.n_wanted is None else f" of {data.n_wanted:,}"
    return Facts(
        [
            ("State", data.state),
            ("Samples", f"{len(samples):,}{planned}"),
            ("Models", ", ".join(dict.fromkeys(samples["model"])) or "–"),
            ("Decoders", samples["decoder"].nunique()),
            *data.facts,
        ]
    )


def find_sweeps(figures: Sequence[DecoderFigures], labels: Labels) -> list[Sweep]:
    """The decoders of each model that differ only in one parameter, if there are enough for a curve."""
    by_parameter: dict[tuple[str, str], dict[float, DecoderFigures]] = {}
    for decoder in figures:
        if label := labels.get(decoder.decoder):
            parameter, value = label
            by_parameter.setdefault((decoder.model, parameter), {})[value] = decoder
    return [
        Sweep(model, parameter, tuple(sorted(points.items())))
        for (model, parameter), points in by_parameter.items()
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
        {"model": sweep.model, "measure": name_of(measure), "rho": trend_of(sweep, measure)}
        for sweep in sweeps
        for measure in MEASURES
    ]
    columns = [
        Column("Model", "text", shows="model"),
        Column("Measure", "text", shows="measure"),
        Column("ρ", digits=3, shows=lambda trend: trend["rho"].value),
        Column("Decoders", shows=lambda trend: trend["rho"].n),
    ]
    note = (
        f"Spearman’s ρ of each measure with {parameter}: +1 if the measure always rises with it, −1 if it always falls."
    )
    section = Section(f"sweep-{parameter}", f"Sweep of {parameter}", blocks)
    section.add_named("trends", Table("Trends", columns, trends, note))
    return section


def name_of(measure: Measure) -> str:
    return f"{measure.label} ({measure.unit})" if measure.unit else measure.label


def trend_of(sweep: Sweep, measure: Measure) -> Estimate:
    values, decoders = zip(*sweep.points, strict=True)
    return trend(values, [decoder.estimates[measure.key].value for decoder in decoders])


def sweep_figure(parameter: str, sweeps: Sequence[Sweep], measure: Measure) -> Figure:
    log = all(sweep.log for sweep in sweeps)
    lines = [
        line_of(
            sweep.model,
            [math.log10(value) if log else value for value, _ in sweep.points],
            [decoder.estimates[measure.key] for _, decoder in sweep.points],
        )
        for sweep in sweeps
    ]
    name = name_of(measure)
    axis = f"log₁₀ {parameter}" if log else parameter
    description = f"{measure.explanation} {interval_note(sweeps, measure)}"
    words = plots.Words(f"{parameter}-{measure.key}", f"{name} over {parameter}", description, x=axis, y=name)
    columns = [Column(parameter, digits=4), Column("Model", "text"), Column(name, digits=3)]
    rows = [(value, sweep.model, decoder.estimates[measure.key]) for sweep in sweeps for value, decoder in sweep.points]
    table = Table(f"{name} over {parameter}", columns, rows, measure.explanation, fold=True)
    return Figure(plots.curves(words, lines, limits=limits_of(measure, lines)), f"{name}. {description}", table)


def limits_of(measure: Measure, lines: Sequence[plots.Line]) -> tuple[float, float]:
    """The vertical axis: never beyond the measure's limits, and the full range for a share."""
    least, greatest = RANGES[measure.key]
    drawn = [value for line in lines for part in (line.y, line.high) for value in part if math.isfinite(value)]
    return least, greatest if greatest is not None else 1.05 * max(drawn, default=1.0) or 1.0


def interval_note(sweeps: Sequence[Sweep], measure: Measure) -> str:
    """What the bands show, or why there are none."""
    estimates = [decoder.estimates[measure.key] for sweep in sweeps for _, decoder in sweep.points]
    with_interval = [estimate for estimate in estimates if math.isfinite(estimate.low)]
    if with_interval:
        return f"Bands are {with_interval[0].level:.0%} intervals over {with_interval[0].n_of}."
    if any(math.isfinite(estimate.value) for estimate in estimates):
        return f"There are no intervals: an interval needs at least {LEAST_CLUSTERS} contexts."
    return "It is not known for these samples."


def decoders_section(figures: Sequence[DecoderFigures]) -> Section:
    decoders = [
        {"model": decoder.model, "decoder": decoder.decoder, "n_samples": decoder.n_samples, **decoder.estimates}
        for decoder in figures
    ]
    columns = [
        Column("Model", "text", shows="model"),
        Column("Decoder", "code", shows="decoder"),
        Column("Samples", shows="n_samples"),
        *(Column(name_of(measure), digits=3, shows=measure.key) for measure in MEASURES),
    ]
    note = (
        "Each figure is the mean over contexts, with an interval over contexts. Entropy and likelihood are missing "
        "where the log-probabilities of samples are not known: greedy and beam search draw nothing, and some servers "
        "do not report them."
    )
    section = Section("decoders", "All decoders")
    section.add_named("decoders", Table("Figures by decoder", columns, decoders, note))
    return section


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
