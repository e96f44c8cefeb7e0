"""Parts of the section on systems: quality against diversity, and the likelihood trap (Zhang et al. 2020, §2–4)."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from analysis import plots
from analysis.estimate import p_value
from analysis.inference import LEAST_CLUSTERS, Dimensions
from analysis.preference import (
    Bin,
    SystemScores,
    binned_means,
    quadratic_turn,
    quality_diversity,
    system_entropy,
    two_lines,
)
from analysis.report.blocks import Block, Column, Figure, Heading, Note, Table, interval, number
from analysis.report.source import Source

BINS, FEWEST = 10, 30


def diversity_blocks(
    source: Source, scores: SystemScores, data: dict[str, Any], *, system: str, log_q: str
) -> list[Block]:
    """Score against entropy, if the items have log-probabilities under their systems."""
    cells = source.items["cells"]
    values = _numbers(cells, log_q)
    if not values.notna().any():
        return []
    names = cells.map(lambda found: str(found.get(system, "")).strip())
    entropies = system_entropy(names, source.items["context"], values)
    try:
        found = quality_diversity(scores.estimates, entropies)
    except ValueError:
        return []
    data["tradeoff"] = {"points": [{"system": n, "score": s, "entropy": e} for n, s, e in found.points]}
    data["tradeoff"]["spearman"] = found.spearman
    title = "Quality against diversity"
    described = "; ".join(f"{name}: entropy {number(e.value)}, score {number(s.value)}" for name, s, e in found.points)
    words = plots.Words(source.key("tradeoff-plot"), title, f"{described}.", "Entropy in nats", "Score")
    errors = [(each.high - each.low) / 2 for _, each, _ in found.points]
    x, y = [entropy.value for _, _, entropy in found.points], [score.value for _, score, _ in found.points]
    svg = plots.scatter(words, x, y, errors)
    columns = [Column("System", "name"), Column("Entropy", digits=2), Column("Score", digits=3)]
    rows = [(name, entropy, score) for name, score, entropy in found.points]
    rho = f"Spearman’s ρ over systems: {number(found.spearman.value)}."
    note = f"Entropy: −mean log q of a system’s texts at each context, averaged over contexts, in nats. {rho}"
    caption = f"{title}: each system’s score, with its 95% interval, against the entropy of its texts."
    return [Heading(title), Figure(svg, caption, Table(title, columns, rows, note))]


def likelihood_blocks(
    source: Source, topic: str, ratings: pd.DataFrame, data: dict[str, Any], *, log_prob: str
) -> list[Block]:
    """Mean ratings in bins of log-probability and tests of a turn, if enough rated items have log-probabilities."""
    frame = ratings.assign(
        x=ratings["item"].map(_numbers(source.items["cells"], log_prob)),
        context=ratings["item"].map(source.items["context"]),
    ).dropna(subset=["x"])
    if frame.empty:
        return []
    heading = Heading("Likelihood and quality")
    texts = frame.drop_duplicates("item")
    if len(texts) < FEWEST or texts["x"].nunique() < BINS:
        return [heading, Note(f"Fewer than {FEWEST} rated texts have different log-probabilities: too few for bins.")]
    by_context = texts["context"].nunique() >= LEAST_CLUSTERS
    about, names = ("contexts", frame["context"]) if by_context else ("texts", frame["item"])
    dimensions = Dimensions.of(**{about: names, "workers": frame["worker"]})
    x, y = frame["x"], frame["value"]
    # All texts count alike, however many ratings they have.
    weights = 1 / frame.groupby("item")["value"].transform("size")
    bins = binned_means(x, y, dimensions=dimensions, weights=weights, bins=BINS, bounds=source.ends_of(topic))
    blocks: list[Block] = [heading, bins_figure(source, bins, about)]
    data["likelihood"] = {"bins": bins}
    try:
        curve = quadratic_turn(x, y, dimensions=dimensions, weights=weights)
        lines = two_lines(x, y, dimensions=dimensions, weights=weights)
    except ValueError as error:
        return [*blocks, Note(f"A turning point cannot be tested: {error}.")]
    data["likelihood"] |= {"quadratic": curve, "two_lines": lines}
    turn = f"{number(curve.turn.value, 1)} {interval(curve.turn, 1)}"
    rows = [
        ("Quadratic", turn, curve.slope_low, curve.slope_high, p_value(curve.p), curve.shape),
        (
            "Two lines",
            number(lines.break_at, 1),
            lines.below,
            lines.above,
            f"{p_value(lines.p_below)} and {p_value(lines.p_above)}",
            lines.shape,
        ),
    ]
    columns = [Column("Test", "text"), Column("Turn or break"), Column("Slope at low end", digits=4)]
    columns += [Column("Slope at high end", digits=4), Column("p"), Column("Shape", "text")]
    note = (
        "Does quality fall again where texts become very likely? Both slopes must have opposite signs. Quadratic: p of "
        "the test of Lind and Mehlum. Two lines: Simonsohn’s test, p of each slope; a rise that only levels off is no "
        f"turn. Intervals and p are about new {about} and new workers: {curve.curvature.method}."
    )
    return [*blocks, Table("Tests of a turning point", columns, rows, note)]


def bins_figure(source: Source, bins: list[Bin], about: str) -> Figure:
    title = "Mean rating by log-probability"
    described = "; ".join(f"{number(each.x, 1)}: {number(each.mean.value)}" for each in bins) + "."
    words = plots.Words(
        source.key("likelihood-plot"), title, described, "Mean log-probability of the bin", "Mean rating"
    )
    line = plots.Line(
        "mean rating",
        [each.x for each in bins],
        [each.mean.value for each in bins],
        [each.mean.low for each in bins],
        [each.mean.high for each in bins],
    )
    rows = [(f"{number(each.low, 1)} to {number(each.high, 1)}", each.mean, each.mean.n) for each in bins]
    columns = [Column("Log-probability"), Column("Mean rating", digits=2), Column("Ratings")]
    caption = f"{title}, with 95% intervals about new {about} and new workers."
    return Figure(plots.curves(words, [line]), caption, Table(title, columns, rows))


def _numbers(cells: pd.Series, column: str) -> pd.Series:
    def number_of(found: dict[str, str]) -> float:
        try:
            return float(found.get(column, ""))
        except ValueError:
            return math.nan

    return cells.map(number_of).astype(float)
