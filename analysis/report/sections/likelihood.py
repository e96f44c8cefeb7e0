"""Parts of the section on systems: quality against diversity, and the likelihood trap (Zhang et al. 2020, §2–4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis import plots
from analysis.estimate import Estimate, p_value
from analysis.inference import LEAST_CLUSTERS, Dimensions, mean_estimate
from analysis.preference import (
    Bin,
    Quadratic,
    SystemScores,
    Tradeoff,
    TwoLines,
    binned_means,
    quadratic_turn,
    quality_diversity,
    system_entropy,
    two_lines,
)
from analysis.report.blocks import Figure, Figures, Heading, Note, Section
from analysis.report.estimates import interval, number, with_interval
from analysis.report.figures import line_of
from analysis.report.sections.system_groups import families_of
from analysis.report.source import Source
from analysis.report.tables import Column, Table

BINS, FEWEST = 10, 30
#: Readers cannot tell more lines apart.
MOST_LINES = 3
#: Texts in one point of the published figure, and the most points that a plot shows.
PER_POINT, MOST_POINTS = 5, 400


def add_tradeoff(
    source: Source, section: Section, scores: SystemScores, topic: str, *, system: str, log_q: str
) -> None:
    """Score and mean rating against entropy, if the items have log-probabilities under their systems. Families of
    decoders are lines (Zhang et al. 2020, Figure 2b)."""
    cells = source.items["cells"]
    values = numbers_in(cells, log_q)
    if not values.notna().any():
        return
    systems = cells.map(lambda columns: str(columns.get(system, "")).strip())
    entropies = system_entropy(systems, source.items["context"], values)
    try:
        tradeoff = quality_diversity(scores.estimates, entropies)
    except ValueError:
        return
    points = [{"system": name, "score": score, "entropy": entropy} for name, score, entropy in tradeoff.points]
    section.data["tradeoff"] = {"points": points, "spearman": tradeoff.spearman}
    title = "Quality against diversity"
    described = "; ".join(
        f"{name}: entropy {number(entropy.value)}, score {number(score.value)}"
        for name, score, entropy in tradeoff.points
    )
    words = plots.Words(source.key("tradeoff-plot"), title, f"{described}.", "Entropy in nats", "Score")
    families = families_of([name for name, _, _ in tradeoff.points])
    if 1 < len(families) <= MOST_LINES:
        lines = [family_line(name, of, tradeoff) for name, of in families.items()]
        svg = plots.curves(words, lines, names=plane_names(tradeoff, families))
    else:
        svg = plots.scatter(
            words,
            [entropy.value for _, _, entropy in tradeoff.points],
            [score.value for _, score, _ in tradeoff.points],
            [(score.high - score.low) / 2 for _, score, _ in tradeoff.points],
            names=[name for name, _, _ in tradeoff.points],
        )
    means = ratings_by_system(source, topic, systems)
    points = [point | {"mean_rating": means.get(str(point["system"]))} for point in points]
    section.data["tradeoff"]["points"] = points
    columns = [
        Column("System", "name", shows="system"),
        Column("Entropy", shows="entropy"),
        Column("Score", digits=3, shows="score"),
        Column("Mean rating", shows="mean_rating"),
    ]
    rho = f"Spearman’s ρ over systems: {number(tradeoff.spearman.value)}."
    note = f"Entropy: −mean log q of a system’s texts at each context, averaged over contexts, in nats. {rho}"
    caption = f"{title}: each system’s score, with its 95% interval, against the entropy of its texts."
    section.add(Heading(title), Figure(svg, caption, Table(title, columns, points, note)))


def family_line(name: str, systems: Sequence[str], tradeoff: Tradeoff) -> plots.Line:
    """The systems of one family of decoders, in the order of their entropy."""
    points = [(entropy.value, score) for system, score, entropy in tradeoff.points if system in systems]
    return line_of(name[:18], [entropy for entropy, _ in points], [score for _, score in points])


def plane_names(tradeoff: Tradeoff, families: Mapping[str, Sequence[str]]) -> list[plots.PointName]:
    """What stands beside every system of the plane: its parameter's value, as the line says which family it is."""
    family = {system: name for name, of in families.items() for system in of}
    return [
        plots.PointName(entropy.value, score.value, name.removeprefix(family.get(name, "")).lstrip("=: ") or name)
        for name, score, entropy in tradeoff.points
    ]


def ratings_by_system(source: Source, topic: str, systems: pd.Series) -> dict[str, Estimate]:
    """The mean rating of every system, about new contexts (or texts) and new workers."""
    rows = source.ratings_on(topic)
    rows = rows.assign(system=rows["item"].map(systems), context=rows["item"].map(source.items["context"]))
    bounds = source.ends_of(topic)
    means = {}
    for name, part in rows.groupby("system"):
        by_context = part["context"].nunique() >= LEAST_CLUSTERS
        clusters = {"contexts" if by_context else "texts": part["context" if by_context else "item"]}
        means[str(name)] = mean_estimate(
            part["value"], Dimensions.of(**clusters, workers=part["worker"]), bounds=bounds
        )
    return means


def add_likelihood(source: Source, section: Section, topic: str, ratings: pd.DataFrame, *, log_prob: str) -> None:
    """Mean ratings in bins of log-probability and tests of a turn, if enough rated items have log-probabilities."""
    frame = ratings.assign(
        x=ratings["item"].map(numbers_in(source.items["cells"], log_prob)),
        context=ratings["item"].map(source.items["context"]),
    ).dropna(subset=["x"])
    if frame.empty:
        return
    section.add(Heading("Likelihood and quality"))
    texts = frame.drop_duplicates("item")
    if len(texts) < FEWEST or texts["x"].nunique() < BINS:
        few = f"Fewer than {FEWEST} rated texts have different log-probabilities: too few for bins."
        section.add(Note(few))
        return
    clusters, names = ("texts", frame["item"])
    if texts["context"].nunique() >= LEAST_CLUSTERS:
        clusters, names = ("contexts", frame["context"])
    dimensions = Dimensions.of(**{clusters: names, "workers": frame["worker"]})
    x, y = frame["x"], frame["value"]
    # All texts count alike, however many ratings they have.
    weights = 1 / frame.groupby("item")["value"].transform("size")
    bins = binned_means(x, y, dimensions=dimensions, weights=weights, bins=BINS, bounds=source.ends_of(topic))
    points, per_point = neighbours(frame)
    section.add(Figures([bins_figure(source, bins, clusters), points_figure(source, topic, points, per_point)]))
    section.data["likelihood"] = {"bins": bins, "points": points, "texts_per_point": per_point}
    section.answers.append(("likelihood", bins_in_words(bins)))
    try:
        curve = quadratic_turn(x, y, dimensions=dimensions, weights=weights)
        lines = two_lines(x, y, dimensions=dimensions, weights=weights)
    except ValueError as error:
        section.add(Note(f"A turning point cannot be tested: {error}."))
        return
    section.data["likelihood"] |= {"quadratic": curve, "two_lines": lines}
    section.add(turn_table(curve, lines, clusters))


def bins_in_words(bins: list[Bin]) -> str:
    """Where ratings are highest along the log-probability, beside both ends."""
    best = max(bins, key=lambda of: of.mean.value)
    ends = f"{with_interval(bins[0].mean)} in the least likely tenth, {with_interval(bins[-1].mean)} in the most likely"
    if best in (bins[0], bins[-1]):
        return f"Mean rating {ends}."
    return f"Mean rating {ends}, and {with_interval(best.mean)} around log-probability {number(best.x, 1)}."


def turn_table(curve: Quadratic, lines: TwoLines, clusters: str) -> Table:
    turn = f"{number(curve.turn.value, 1)} {interval(curve.turn, 1)}"
    p_lines = f"{p_value(lines.p_below)} and {p_value(lines.p_above)}"
    rows = [
        ("Quadratic", turn, curve.slope_low, curve.slope_high, p_value(curve.p), curve.shape),
        ("Two lines", number(lines.break_at, 1), lines.below, lines.above, p_lines, lines.shape),
    ]
    columns = [
        Column("Test", "text"),
        Column("Turn or break"),
        Column("Slope at low end", digits=4),
        Column("Slope at high end", digits=4),
        Column("p"),
        Column("Shape", "text"),
    ]
    note = (
        "Does quality fall again where texts become very likely? Both slopes must have opposite signs. Quadratic: p of "
        "the test of Lind and Mehlum. Two lines: Simonsohn’s test, p of each slope; a rise that only levels off is no "
        f"turn. Intervals and p are about new {clusters} and new workers: {curve.curvature.method}."
    )
    return Table("Tests of a turning point", columns, rows, note)


def neighbours(frame: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Texts in the order of their log-probability, five to a point as published (Zhang et al. 2020, Figure 1): ``x``
    and ``rating``, the means of a point's texts, and ``texts``. With too many points for a plot, each has more texts;
    the second value says how many."""
    texts = frame.groupby("item", sort=False).agg(x=("x", "first"), rating=("value", "mean")).sort_values("x")
    per_point = max(PER_POINT, math.ceil(len(texts) / MOST_POINTS))
    points = texts.groupby(np.arange(len(texts)) // per_point).agg(
        x=("x", "mean"), rating=("rating", "mean"), texts=("x", "size")
    )
    return points, per_point


def points_figure(source: Source, topic: str, points: pd.DataFrame, per_point: int) -> Figure:
    title = f"Mean rating of {per_point} texts with neighbouring log-probabilities"
    words = plots.Words(
        source.key("likelihood-plot"), title, f"{len(points):,} points.", "Mean log-probability", "Mean rating"
    )
    svg = plots.scatter(words, points["x"].tolist(), points["rating"].tolist(), up=source.ends_of(topic))
    columns = [
        Column("Log-probability", digits=1, shows="x"),
        Column("Mean rating", shows="rating"),
        Column("Texts", shows="texts"),
    ]
    table = Table(title, columns, points.to_dict("records"), fold=True)
    return Figure(svg, f"{title}: every text counts once.", table)


def bins_figure(source: Source, bins: list[Bin], clusters: str) -> Figure:
    title = "Mean rating by log-probability"
    described = "; ".join(f"{number(b.x, 1)}: {number(b.mean.value)}" for b in bins) + "."
    words = plots.Words(
        source.key("likelihood-plot"), title, described, "Mean log-probability of the bin", "Mean rating"
    )
    line = line_of("mean rating", [b.x for b in bins], [b.mean for b in bins])
    columns = [
        Column("Log-probability", shows=lambda b: f"{number(b.low, 1)} to {number(b.high, 1)}"),
        Column("Mean rating", shows="mean"),
        Column("Ratings", shows=lambda b: b.mean.n),
    ]
    caption = f"{title}, with 95% intervals about new {clusters} and new workers."
    return Figure(plots.curves(words, [line]), caption, Table(title, columns, bins))


def numbers_in(cells: pd.Series, column: str) -> pd.Series:
    """The numbers in a column of the items' file; NaN for anything else."""

    def number_in(columns: dict[str, str]) -> float:
        try:
            return float(columns.get(column, ""))
        except ValueError:
            return math.nan

    return cells.map(number_in).astype(float)
