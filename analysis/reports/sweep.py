"""The report of a generation run: its sweeps as curves, every decoder's figures as a table, and examples."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from django.template.loader import render_to_string
from django.utils import timezone

from analysis import plots
from analysis.decoding import MEASURES, DecoderFigures, Measure, decoder_figures, trend
from analysis.estimate import Estimate
from analysis.frames import sample_frame
from analysis.reports import NUMBERS, PAGE
from analysis.reports.blocks import Block, Column, Facts, Figure, Figures, Note, Section, Table, plain
from analysis.reports.build import table_json, tables, write_whole
from generation.decoders import parse_decoder
from generation.exporting import label_of
from generation.models import GenerationRun

CURVES = ("entropy_per_token", "distinct", "tokens", "repetition")
FEWEST_IN_A_SWEEP = 3
MOST_CURVES = 3
EXAMPLES = 3
LOG_FROM = 100.0  # a sweep whose ends lie this factor apart is drawn over the logarithm of its parameter


@dataclass(frozen=True, slots=True)
class Sweep:
    """The decoders of one model that differ in one parameter only, by its value."""

    model: str
    parameter: str
    points: tuple[tuple[float, DecoderFigures], ...]

    @property
    def log(self) -> bool:
        low, high = self.points[0][0], self.points[-1][0]
        return low > 0 and high / low >= LOG_FROM


def write_run_report(run: GenerationRun, *, out_dir: Path, draws: int = 1000, seed: int = 1) -> Path:
    """``report.html`` and ``report.json`` of the samples there are, into ``out_dir``; returns the page's path.

    The same samples and seed give the same numbers. A run without samples gives a report that says so.
    """
    samples = sample_frame(run)
    sections = make_sections(run, samples, draws=draws, seed=seed)
    made_at = timezone.now()
    context = {"run": run, "sections": sections, "made_at": made_at, "draws": draws, "seed": seed}
    out_dir.mkdir(parents=True, exist_ok=True)
    numbers = {
        "run": run.name,
        "made_at": made_at.isoformat(timespec="seconds"),
        "draws": draws,
        "seed": seed,
        "sections": {
            section.key: plain(section.data) | {"tables": [table_json(table) for table in tables(section)]}
            for section in sections
        },
    }
    write_whole(out_dir / NUMBERS, json.dumps(numbers, ensure_ascii=False, allow_nan=False, indent=1))
    write_whole(out_dir / PAGE, render_to_string("analysis/run_report.html", context))
    return out_dir / PAGE


def make_sections(run: GenerationRun, samples: pd.DataFrame, *, draws: int, seed: int) -> list[Section]:
    design = Section("run", "The run", [design_facts(run, samples)])
    if samples.empty:
        design.blocks.append(Note("There are no samples yet."))
        return [design]
    if len(samples) < run.n_wanted:
        design.blocks.append(
            Note(f"{len(samples):,} of {run.n_wanted:,} samples are there: these figures are not final.", "warning")
        )
    figures = decoder_figures(samples, draws=draws, seed=seed)
    return [design, *sweep_sections(figures), decoders_section(figures), examples_section(samples)]


def design_facts(run: GenerationRun, samples: pd.DataFrame) -> Facts:
    limits = run.spec.get("limits", {})
    return Facts(
        [
            ("State", run.get_state_display()),
            ("Samples", f"{len(samples):,} of {run.n_wanted:,}"),
            ("Contexts", run.contexts.count()),
            ("Models", ", ".join(dict.fromkeys(samples["model"])) or "–"),
            ("Decoders", len(dict.fromkeys(samples["decoder"]))),
            ("Limits", ", ".join(f"{key}: {value}" for key, value in limits.items() if value) or "–"),
            ("Seed", run.seed),
        ]
    )


def find_sweeps(figures: Sequence[DecoderFigures]) -> list[Sweep]:
    """Decoders of one model with one and the same single parameter, where there are enough for a curve."""
    swept = {parameter[0] for each in figures if (parameter := parse_decoder(each.decoder).parameter)}
    found: dict[tuple[str, str], dict[float, DecoderFigures]] = {}
    for each in figures:
        parameter = label_of(each.decoder, swept)
        if parameter:
            found.setdefault((each.model, parameter[0]), {})[parameter[1]] = each
    return [
        Sweep(model, name, tuple(sorted(points.items())))
        for (model, name), points in found.items()
        if len(points) >= FEWEST_IN_A_SWEEP
    ]


def sweep_sections(figures: Sequence[DecoderFigures]) -> list[Section]:
    by_parameter: dict[str, list[Sweep]] = {}
    for sweep in find_sweeps(figures):
        by_parameter.setdefault(sweep.parameter, []).append(sweep)
    return [sweep_section(parameter, sweeps) for parameter, sweeps in by_parameter.items()]


def sweep_section(parameter: str, sweeps: list[Sweep]) -> Section:
    """Curves of the measures over the parameter, one line for each model, and each measure's trend."""
    measures = {measure.key: measure for measure in MEASURES}
    drawn = sweeps[:MOST_CURVES]
    blocks: list[Block] = [Figures([sweep_figure(parameter, drawn, measures[key]) for key in CURVES])]
    if len(sweeps) > len(drawn):
        rest = ", ".join(sweep.model for sweep in sweeps[MOST_CURVES:])
        blocks.append(Note(f"The curves show the first {MOST_CURVES} models; the tables below have all: also {rest}."))
    trends = [
        (sweep.model, f"{measure.label} ({measure.unit})" if measure.unit else measure.label, trend_of(sweep, measure))
        for sweep in sweeps
        for measure in MEASURES
    ]
    columns = [Column("Model", "text"), Column("Measure", "text"), Column("ρ", digits=3), Column("Decoders")]
    rows = [(model, label, found.value, found.n) for model, label, found in trends]
    note = f"Spearman’s ρ of the measure against {parameter}: +1 where it rises from decoder to decoder throughout."
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
    words = plots.Words(f"{parameter}-{measure.key}", f"{name} over {parameter}", measure.explanation, x=axis, y=name)
    columns = [Column(parameter, digits=4), Column("Model", "text"), Column(name, digits=3)]
    rows = [(value, sweep.model, each.estimates[measure.key]) for sweep in sweeps for value, each in sweep.points]
    table = Table(f"{name} over {parameter}", columns, rows, measure.explanation, fold=True)
    return Figure(plots.curves(words, lines), f"{name}. {measure.explanation}", table)


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
        "Each figure is the mean over contexts, with the interval over contexts. Entropy and likelihood have no figure "
        "where a sample’s log-probabilities are not known: greedy and beam search draw nothing, and some servers do "
        "not tell."
    )
    data: dict[str, Any] = {
        "decoders": [
            {"model": each.model, "decoder": each.decoder, "n_samples": each.n_samples, **each.estimates}
            for each in figures
        ]
    }
    return Section("decoders", "All decoders", [Table("Figures by decoder", columns, rows, note)], data)


def examples_section(samples: pd.DataFrame) -> Section:
    """The first samples of each decoder at the first context: what the figures are about."""
    first = samples[samples["context"] == samples["context"].iloc[0]]
    rows = [
        (model, decoder, list(rows["text"].head(EXAMPLES)))
        for (model, decoder), rows in first.groupby(["model", "decoder"], sort=False)
    ]
    columns = [Column("Model", "text"), Column("Decoder", "code"), Column("Texts", "texts")]
    caption = f"First samples at the context {samples['context'].iloc[0]}"
    return Section("examples", "Examples", [Table(caption, columns, rows, fold=len(rows) > 12)])
