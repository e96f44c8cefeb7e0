"""The section of studies whose tasks show samples of several systems together: which system is better, and by how much.

Source: Zhang et al. 2020, §4.1 and appendix A; the computations are in `analysis.preference`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from analysis import plots
from analysis.estimate import Estimate
from analysis.inference import Dimensions, Ranking
from analysis.preference import (
    Comparisons,
    Strengths,
    SystemScores,
    bradley_terry,
    comparison_dimensions,
    comparisons_from_ratings,
    outcome_table,
    pair_cohen,
    pair_fleiss,
    ranked,
    system_scores,
)
from analysis.report.blocks import (
    Block,
    Column,
    Figure,
    Heading,
    Highlight,
    Note,
    Section,
    Table,
    attempt,
    estimates_table,
    how,
    interval,
    number,
)
from analysis.report.likelihood import diversity_blocks, likelihood_blocks
from analysis.report.source import Source

#: A longer table of pairs of systems is folded at first.
MOST_PAIRS = 15


@dataclass(frozen=True)
class Rated:
    """Ratings with ``system``, ``context``, ``hit`` and ``submission``; all comparisons within submissions, and which
    of these belong together."""

    ratings: pd.DataFrame
    comparisons: Comparisons
    dimensions: Dimensions

    def of(self, column: str) -> np.ndarray[Any, Any]:
        """A column of the first rating of every comparison, (M,)."""
        return np.asarray(self.ratings[column].to_numpy()[self.comparisons.left])


def systems(
    source: Source, *, topic: str = "quality", system: str = "system", log_prob: str = "log_prob", log_q: str = "log_q"
) -> Section:
    """Scores of systems from ratings that one worker gave in one submission, strengths, agreement, likelihood.

    ``topic``: the question, on a scale where higher is better. The other parameters name columns of the items' file:
    the system that made the item, its log-probability under the model (for the likelihood trap) and under the system's
    own distribution (for the entropy). A part whose column is missing is left out.
    """
    section = Section(source.key("systems"), "Systems")
    ratings = source.ratings_on(topic)
    if ratings.empty:
        section.blocks.append(Note(f"Nobody has rated “{topic}” yet."))
        return section
    try:
        rated = rated_systems(source, ratings, system)
    except ValueError as error:
        section.blocks.append(Note(f"The systems cannot be compared: {error}.", "warning"))
        return section
    scores = system_scores(rated.comparisons, rated.dimensions)
    section.data |= {"comparisons": len(rated.comparisons), "scores": scores.estimates, "pairs": scores.pairs}
    section.data["ranks"] = ranks_data(scores.systems, scores.ranking)
    section.blocks += [figure(source, scores), scores_table(rated, scores), pairs_table(rated, scores, section.data)]
    section.blocks += strength_blocks(rated, section.data)
    section.blocks += agreement_blocks(source, rated, section.data)
    section.blocks += diversity_blocks(source, scores, section.data, system=system, log_q=log_q)
    section.blocks += likelihood_blocks(source, topic, ratings, section.data, log_prob=log_prob)
    section.highlights.append(headline(scores))
    return section


def headline(scores: SystemScores) -> Highlight:
    """The best system, if the data tell it apart from all others."""
    best = ranked(scores.estimates)[0]
    at, found = scores.systems.index(best), scores.estimates[best]
    if scores.ranking.is_clear(at):
        return Highlight("Best system", best[:40], f"score {number(found.value)} {interval(found)}")
    why = found.note or f"{best[:40]} scores highest, {number(found.value)} {interval(found)}"
    return Highlight("Best system", "no clear winner", why)


def ranks_data(systems: Sequence[str], ranking: Ranking) -> list[dict[str, Any]]:
    return [
        {"system": name, "rank": rank, "from": best, "to": worst}
        for name, (rank, best, worst) in zip(systems, ranking.ranks, strict=True)
    ]


def possible(best: int, worst: int) -> str:
    return str(best) if best == worst else f"{best} to {worst}"


def rated_systems(source: Source, ratings: pd.DataFrame, column: str) -> Rated:
    """ValueError: no column with the system, or no two systems in one submission."""
    names = source.items["cells"].map(lambda cells: str(cells.get(column, "")).strip())
    if not names.any():
        raise ValueError(f"the items have no column “{column}” with the system’s name")
    hits = source.data.submissions.set_index("submission")["hit"]
    known = ratings.assign(
        system=ratings["item"].map(names),
        context=ratings["item"].map(source.items["context"]),
        hit=ratings["submission"].map(hits),
    )
    known = known[known["system"] != ""].reset_index(drop=True)
    comparisons = comparisons_from_ratings(known["submission"], known["system"], known["value"])
    dimensions = comparison_dimensions(
        comparisons, workers=known["worker"], texts=known["item"], contexts=known["context"]
    )
    return Rated(known, comparisons, dimensions)


def figure(source: Source, scores: SystemScores) -> Figure:
    names = ranked(scores.estimates)
    found = [(name, scores.estimates[name]) for name in names]
    title = "Scores of the systems"
    described = "; ".join(f"{name}: {number(each.value)}" for name, each in found) + "."
    words = plots.Words(source.key("systems-plot"), title, described, "Score, from −1 to 1")
    svg = plots.intervals(words, [(name[:28], each.value, each.low, each.high) for name, each in found])
    caption = f"{title}, best first, with 95% intervals. 0 is the average system."
    return Figure(svg, caption, estimates_table(title, found))


def scores_table(rated: Rated, scores: SystemScores) -> Table:
    values = rated.ratings.groupby("system")["value"]
    means, sizes = values.mean().to_dict(), values.size().to_dict()
    rows = []
    for name in ranked(scores.estimates):
        at = scores.systems.index(name)
        rank, best, worst = scores.ranking.ranks[at]
        estimate = scores.estimates[name]
        counts = (scores.pairs[name], sizes[name], means[name])
        rows.append((name, estimate, rank, possible(best, worst), *counts, how(estimate)))
    columns = [
        Column("System", "name"),
        Column("Score", digits=3),
        Column("Rank"),
        Column("Possible ranks"),
        *map(Column, ("Pairs", "Ratings", "Mean rating")),
        Column("How", "how"),
    ]
    comparisons = rated.comparisons
    note = (
        "All pairs of texts rated in one task are compared, in both orders: +1 for the better one, −1 for the other, 0 "
        "for equal ratings. A score is the mean over a system’s pairs; weighted by pairs, "
        f"scores sum to 0. {about(rated)} Possible ranks count the systems that are clearly better or worse at 95%, "
        "corrected by Holm’s method over all pairs of systems."
    )
    if comparisons.same_system:
        note += f" {comparisons.same_system:,} pairs of texts by one system are left out."
    return Table("Scores from texts rated together", columns, rows, note)


def about(rated: Rated) -> str:
    """What the intervals of comparisons are about."""
    if "contexts" in rated.dimensions.codes:
        return "Intervals are about new contexts and new workers."
    return "Intervals are about new texts of these contexts and new workers."


def pairs_table(rated: Rated, scores: SystemScores, data: dict[str, Any]) -> Table:
    """Pairs of systems: outcomes when they met, and the difference of their scores with its corrected p."""
    table = outcome_table(rated.comparisons).to_numpy().tolist()
    outcomes = {(first, second): counts for first, second, *counts, _ in table}
    rows, told = [], []
    for one, two in combinations(range(len(scores.systems)), 2):
        first, second = scores.systems[one], scores.systems[two]
        counts = outcomes.get((first, second), [0, 0, 0])
        apart, p = scores.difference(first, second), float(scores.ranking.p[one, two])
        rows.append((first, second, *counts, apart, p))
        names = ("first", "second", "wins", "ties", "losses", "difference", "p_corrected")
        told.append(dict(zip(names, rows[-1], strict=True)))
    data["outcomes"] = told
    columns = [Column("First", "name"), Column("Second", "name"), Column("First better"), Column("Equal")]
    columns += [Column("Second better"), Column("Difference of scores", digits=3), Column("p, Holm", "p")]
    note = f"{about(rated)} Holm’s correction is over all pairs of systems."
    return Table("Pairs of systems", columns, rows, note, fold=len(rows) > MOST_PAIRS)


def strength_blocks(rated: Rated, data: dict[str, Any]) -> list[Block]:
    blocks: list[Block] = [Heading("Strengths")]
    try:
        found = bradley_terry(rated.comparisons, dimensions=rated.dimensions)
    except ValueError as error:
        blocks.append(
            Note(f"There are no strengths by maximum likelihood: {error}. A regularised fit follows.", "note")
        )
        found = bradley_terry(rated.comparisons, dimensions=rated.dimensions, prior_sd=1.0)
    ranks = [{"system": name, "rank": r, "from": low, "to": high} for name, (r, low, high) in found.ranks.items()]
    data["strengths"] = {"systems": found.strengths, "ties": found.ties, "ranks": ranks, "prior_sd": found.prior_sd}
    return [*blocks, strengths_table(rated, found)]


def strengths_table(rated: Rated, found: Strengths) -> Table:
    rows = []
    for name in ranked(found.strengths):
        rank, low, high = found.ranks[name]
        rows.append((name, found.strengths[name], rank, possible(low, high), how(found.strengths[name])))
    columns = [Column("System", "name"), Column("Strength", digits=3), Column("Rank"), Column("Possible ranks")]
    columns.append(Column("How", "how"))
    prior = "" if found.prior_sd is None else f" Normal prior with s.d. {number(found.prior_sd)} on every strength."
    note = (
        "Bradley–Terry model with Davidson’s ties, on a log scale with mean 0. "
        f"{about(rated)} Possible ranks: as above, from the strengths and their covariance. Tie parameter: "
        f"{number(found.ties.value, 3)} {interval(found.ties)}.{prior}"
    )
    return Table("Bradley–Terry strengths", columns, rows, note)


def agreement_blocks(source: Source, rated: Rated, data: dict[str, Any]) -> list[Block]:
    """Fleiss' κ of pairs over all workers; with two arms that rated the same texts, Cohen's κ between them."""
    frame, found = rated.ratings, rated.comparisons
    items = frame["item"].to_numpy()
    first, second, contexts = items[found.left], items[found.right], rated.of("context")
    clusters = contexts if len(set(contexts.tolist())) > 1 else None
    workers, outcome = rated.of("worker"), found.outcome
    rows: list[tuple[str, Estimate]] = [
        ("Fleiss’ κ, all raters", attempt(lambda: pair_fleiss(first, second, outcome, workers, clusters=clusters)))
    ]
    pools = rated.of("arm")
    names = sorted(set(pools.tolist()))
    if len(names) == 2:
        kappa = attempt(lambda: pair_cohen(first, second, outcome, workers, pools, clusters=clusters))
        rows.append((f"Cohen’s κ, {names[0]} against {names[1]}", kappa))
    data["agreement"] = dict(rows)
    if all(math.isnan(each.value) for _, each in rows):
        return [Note(f"Agreement on pairs cannot be estimated: {rows[0][1].note}.")]
    note = (
        "Do people who rated the same two texts prefer the same one? Three categories: better, equal, worse; every "
        "pair in both orders. Intervals are about new contexts and new workers."
    )
    return [Heading("Agreement on pairs"), estimates_table("Agreement on pairs of texts", rows, note=note)]
