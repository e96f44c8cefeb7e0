"""The section of studies whose tasks show samples of several systems together: which system is better, and by how much.

Source: Zhang et al. 2020, §4.1 and appendix A; the computations are in `analysis.preference`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pandas as pd

from analysis import plots
from analysis.findings.answers import names_in_words
from analysis.preference import (
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
from analysis.report.blocks import Figure, Fold, Heading, Highlight, Note, Part, Section
from analysis.report.estimates import attempt, how, interval, number, with_interval
from analysis.report.figures import interval_bars, values_in_words
from analysis.report.sections.likelihood import add_likelihood, add_tradeoff
from analysis.report.sections.system_groups import Rated, add_families, add_pools, ways
from analysis.report.source import Source
from analysis.report.tables import Column, Table, estimates_table

#: A system's rank, and the best and worst that the data do not exclude.
Ranks = tuple[int, int, int]


def make_section(
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
        section.add(Note(f"Nobody has rated “{topic}” yet."))
        return section
    try:
        rated = rated_systems(source, ratings, system)
    except ValueError as error:
        section.add(Note(f"The systems cannot be compared: {error}.", "warning"))
        return section
    scores = system_scores(rated.comparisons, rated.dimensions)
    section.data |= {"comparisons": len(rated.comparisons), "scores": scores.estimates, "pairs": scores.pairs}
    section.data["ranks"] = ranks_json(dict(zip(scores.systems, scores.ranking.ranks, strict=True)))
    section.add(scores_figure(source, scores), scores_table(rated, scores))
    section.answers.append((f"{topic}, texts rated together", scores_in_words(scores)))
    add_families(section, rated)
    outcomes = pairs_table(rated, scores)
    section.data["outcomes"] = outcomes.records
    section.add(Fold("Pairs of systems, and strengths", [outcomes, *strengths_parts(section, rated)]))
    add_agreement(section, rated)
    add_pools(source, section, rated)
    add_tradeoff(source, section, scores, topic, system=system, log_q=log_q)
    add_likelihood(source, section, topic, ratings, log_prob=log_prob)
    section.highlights.append(headline(scores))
    return section


def headline(scores: SystemScores) -> Highlight:
    """The best system, if the data tell it apart from all others."""
    best = ranked(scores.estimates)[0]
    score = scores.estimates[best]
    if scores.ranking.is_clear(scores.systems.index(best)):
        return Highlight("Best system", best[:40], f"score {number(score.value)} {interval(score)}")
    why = score.note or f"{best[:40]} scores highest, {number(score.value)} {interval(score)}"
    return Highlight("Best system", "no clear winner", why)


def scores_in_words(scores: SystemScores) -> str:
    """Which systems may be the best where texts are compared that one worker rated together."""
    order = ranked(scores.estimates)
    best = [name for name in order if scores.ranking.ranks[scores.systems.index(name)][1] == 1]
    values = f"{order[0]} scores {with_interval(scores.estimates[order[0]])}"
    if scores.estimates[order[0]].note:
        return f"{values}. There is no test: {scores.estimates[order[0]].note}."
    if len(best) == 1:
        second = order[1]
        difference = scores.difference(order[0], second)
        return (
            f"{values}, above all others; {second}, the next, {with_interval(scores.estimates[second])}. Difference "
            f"{with_interval(difference)}. Scores go from −1, always worse, to 1."
        )
    others = names_in_words(best[1:])
    return f"{values}; the data do not tell it apart from {others}. Scores go from −1, always worse, to 1."


def ranks_json(ranks: Mapping[str, Ranks]) -> list[dict[str, Any]]:
    return [{"system": name, "rank": rank, "from": best, "to": worst} for name, (rank, best, worst) in ranks.items()]


def rank_columns(ranks: Mapping[str, Ranks]) -> list[Column]:
    """The rank of a system, and the ranks that the data do not exclude."""

    def possible(name: str) -> str:
        _, best, worst = ranks[name]
        return str(best) if best == worst else f"{best} to {worst}"

    return [Column("Rank", shows=lambda name: ranks[name][0]), Column("Possible ranks", shows=possible)]


def rated_systems(source: Source, ratings: pd.DataFrame, column: str) -> Rated:
    """ValueError: no column with the system, or no two systems in one submission."""
    names = source.items["cells"].map(lambda cells: str(cells.get(column, "")).strip())
    if not names.any():
        raise ValueError(f"the items have no column “{column}” with the system’s name")
    hits = source.data.submissions.set_index("submission")["hit"]
    ratings = ratings.assign(
        system=ratings["item"].map(names),
        context=ratings["item"].map(source.items["context"]),
        hit=ratings["submission"].map(hits),
    )
    ratings = ratings[ratings["system"] != ""].reset_index(drop=True)
    comparisons = comparisons_from_ratings(ratings["submission"], ratings["system"], ratings["value"])
    dimensions = comparison_dimensions(
        comparisons, workers=ratings["worker"], texts=ratings["item"], contexts=ratings["context"]
    )
    return Rated(ratings, comparisons, dimensions)


def scores_figure(source: Source, scores: SystemScores) -> Figure:
    estimates = [(name, scores.estimates[name]) for name in ranked(scores.estimates)]
    title = "Scores of the systems"
    words = plots.Words(source.key("systems-plot"), title, values_in_words(estimates), "Score, from −1 to 1")
    svg = plots.intervals(words, interval_bars(estimates, longest=28))
    caption = f"{title}, best first, with 95% intervals. 0 is the average system."
    return Figure(svg, caption, estimates_table(title, estimates))


def scores_table(rated: Rated, scores: SystemScores) -> Table:
    values = rated.ratings.groupby("system")["value"]
    means, sizes = values.mean().to_dict(), values.size().to_dict()
    columns = [
        Column("System", "name", shows=str),
        Column("Score", digits=3, shows=scores.estimates.get),
        *rank_columns(dict(zip(scores.systems, scores.ranking.ranks, strict=True))),
        Column("Pairs", shows=scores.pairs.get),
        Column("Ratings", shows=sizes.get),
        Column("Mean rating", shows=means.get),
    ]
    comparisons = rated.comparisons
    note = (
        f"{ways(scores)}All pairs of texts rated in one task are compared, in both orders: +1 for the better one, −1 "
        "for the other, 0 for equal ratings. A score is the mean over a system’s pairs; weighted by pairs, scores sum "
        f"to 0. {clusters_in_words(rated)} Possible ranks count the systems that are clearly better or "
        "worse at 95%, corrected by Holm’s method over all pairs of systems."
    )
    if comparisons.same_system:
        note += f" {comparisons.same_system:,} pairs of texts by one system are left out."
    return Table("Scores from texts rated together", columns, ranked(scores.estimates), note)


def clusters_in_words(rated: Rated) -> str:
    """What the intervals of comparisons are about."""
    if "contexts" in rated.dimensions.codes:
        return "Intervals are about new contexts and new workers."
    return "Intervals are about new texts of these contexts and new workers."


def pairs_table(rated: Rated, scores: SystemScores) -> Table:
    """Pairs of systems: outcomes when they met, and the difference of their scores with its corrected p."""
    table = outcome_table(rated.comparisons).to_numpy().tolist()
    outcomes = {(first, second): counts for first, second, *counts, _ in table}
    pairs = []
    for (i, first), (j, second) in combinations(enumerate(scores.systems), 2):
        wins, ties, losses = outcomes.get((first, second), [0, 0, 0])
        pairs.append(
            {
                "first": first,
                "second": second,
                "wins": wins,
                "ties": ties,
                "losses": losses,
                "difference": scores.difference(first, second),
                "p_corrected": float(scores.ranking.p[i, j]),
            }
        )
    columns = [
        Column("First", "name", shows="first"),
        Column("Second", "name", shows="second"),
        Column("First better", shows="wins"),
        Column("Equal", shows="ties"),
        Column("Second better", shows="losses"),
        Column("Difference of scores", digits=3, shows="difference"),
        Column("p, Holm", "p", shows="p_corrected"),
    ]
    note = f"{clusters_in_words(rated)} Holm’s correction is over all pairs of systems."
    return Table("Pairs of systems", columns, pairs, note)


def strengths_parts(section: Section, rated: Rated) -> list[Part]:
    """Strengths with their intervals. Their numbers go into the section's data."""
    parts: list[Part] = []
    try:
        strengths = bradley_terry(rated.comparisons, dimensions=rated.dimensions)
    except ValueError as error:
        parts.append(Note(f"There are no strengths by maximum likelihood: {error}. A regularised fit follows."))
        strengths = bradley_terry(rated.comparisons, dimensions=rated.dimensions, prior_sd=1.0)
    section.data["strengths"] = {
        "systems": strengths.strengths,
        "ties": strengths.ties,
        "ranks": ranks_json(strengths.ranks),
        "prior_sd": strengths.prior_sd,
    }
    return [*parts, strengths_table(rated, strengths)]


def strengths_table(rated: Rated, strengths: Strengths) -> Table:
    columns = [
        Column("System", "name", shows=str),
        Column("Strength", digits=3, shows=strengths.strengths.get),
        *rank_columns(strengths.ranks),
    ]
    prior = (
        "" if strengths.prior_sd is None else f" Normal prior with s.d. {number(strengths.prior_sd)} on every strength."
    )
    methods = dict.fromkeys(how(strength) for strength in strengths.strengths.values())
    note = (
        f"{' '.join(methods)} Bradley–Terry model with Davidson’s ties, on a log scale with mean 0. "
        f"{clusters_in_words(rated)} Possible ranks: as above, from the strengths and their covariance. Tie parameter: "
        f"{number(strengths.ties.value, 3)} {interval(strengths.ties)}.{prior}"
    )
    return Table("Bradley–Terry strengths", columns, ranked(strengths.strengths), note)


def add_agreement(section: Section, rated: Rated) -> None:
    """Fleiss' κ of pairs over all workers; with two arms that rated the same texts, Cohen's κ between them."""
    comparisons = rated.comparisons
    items = rated.ratings["item"].to_numpy()
    first, second, contexts = items[comparisons.left], items[comparisons.right], rated.of("context")
    clusters = contexts if len(set(contexts.tolist())) > 1 else None
    workers, outcome = rated.of("worker"), comparisons.outcome
    kappas = {"Fleiss’ κ, all raters": attempt(lambda: pair_fleiss(first, second, outcome, workers, clusters=clusters))}
    pools = rated.of("arm")
    arms = sorted(set(pools.tolist()))
    if len(arms) == 2:
        kappas[f"Cohen’s κ, {arms[0]} against {arms[1]}"] = attempt(
            lambda: pair_cohen(first, second, outcome, workers, pools, clusters=clusters)
        )
    section.data["agreement"] = kappas
    if all(math.isnan(kappa.value) for kappa in kappas.values()):
        section.add(Note(f"Agreement on pairs cannot be estimated: {next(iter(kappas.values())).note}."))
        return
    note = (
        "Do people who rated the same two texts prefer the same one? Three categories: better, equal, worse; every "
        "pair in both orders. Intervals are about new contexts and new workers."
    )
    section.add(Heading("Agreement on pairs"), estimates_table("Agreement on pairs of texts", kappas, note=note))
