"""Parts of the section on systems: families of decoders, and pools of workers who rated the same tasks (A/A study).

Source: Zhang et al. 2020, §4.1, Figure 2 and appendix A.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from analysis.estimate import Estimate
from analysis.inference import Dimensions
from analysis.preference import (
    Comparisons,
    SystemScores,
    comparison_dimensions,
    comparisons_from_ratings,
    pair_cohen,
    ranked,
    system_scores,
)
from analysis.report.blocks import Fold, Note, Section
from analysis.report.estimates import attempt, how, number
from analysis.report.source import Source
from analysis.report.tables import Column, Table, estimates_table

#: A parameter with its value, such as “=0.7” in “top_p=0.7”.
PARAMETER = re.compile(r"\s*[=:]\s*-?\d[\d.e-]*")

#: Fewer workers are no pool.
FEWEST_OF_POOL = 5
#: More ways to make an interval than anybody reads one by one.
MOST_WAYS = 3


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


def family_of(system: str) -> str:
    """The decoder without the value of its parameter: “top_p” of “top_p=0.7”. A name without a parameter stays."""
    return PARAMETER.sub("", system).strip() or system


def families_of(systems: Sequence[str]) -> dict[str, list[str]]:
    """The systems of every family; none if every system is a family of its own, or all are one."""
    families: dict[str, list[str]] = {}
    for system in systems:
        families.setdefault(family_of(system), []).append(system)
    return families if 1 < len(families) < len(systems) else {}


def add_families(section: Section, rated: Rated) -> None:
    """The score of every family of decoders: its texts against those of other families."""
    families = families_of(rated.comparisons.systems)
    if not families:
        return
    ratings = rated.ratings.assign(system=rated.ratings["system"].map(family_of))
    scores = scores_of(ratings)
    if isinstance(scores, str):
        section.add(Note(f"Families of decoders cannot be compared: {scores}."))
        return
    means = ratings.groupby("system")["value"].mean().to_dict()
    records = [
        {
            "family": name,
            "systems": len(families[name]),
            "score": scores.estimates[name],
            "rank": scores.ranking.ranks[scores.systems.index(name)],
            "pairs": scores.pairs[name],
            "mean_rating": means[name],
        }
        for name in ranked(scores.estimates)
    ]
    columns = [
        Column("Family", "name", shows="family"),
        Column("Systems", shows="systems"),
        Column("Score", digits=3, shows="score"),
        Column("Possible ranks", "code", shows=lambda record: ranks_in_words(record["rank"])),
        Column("Pairs", shows="pairs"),
        Column("Mean rating", shows="mean_rating"),
    ]
    note = (
        f"{ways(scores)}A family’s texts against those of other families; pairs within a family are left out. Its "
        "score depends on the parameters that the study chose: where the items have their entropy, compare families at "
        "the same entropy."
    )
    section.add_named("families", Table("Families of decoders", columns, records, note))


def add_pools(source: Source, section: Section, rated: Rated) -> None:
    """In a study with two arms, the scores of systems in each: the same tasks, rated by different people. Without arms,
    the pools are people who came earlier and later in the day."""
    arms = source.arms
    pool_of = rated.ratings["arm"]
    if not source.description.has_arms:
        by_hour = pools_by_hour(source, rated)
        if by_hour is None:
            return
        arms, pool_of = by_hour
        add_agreement_of_pools(section, rated, pool_of, arms)
    if len(arms) != 2:
        return
    by_arm = {arm: scores_of(rated.ratings[pool_of == arm].reset_index(drop=True)) for arm in arms}
    pools = {arm: scores for arm, scores in by_arm.items() if isinstance(scores, SystemScores)}
    if len(pools) < 2:
        return
    first, second = (pools[arm].estimates for arm in arms)
    systems = [name for name in rated.comparisons.systems if name in first and name in second]
    records: list[dict[str, Any]] = [
        {"system": name, "first": first[name], "second": second[name]}
        for name in sorted(systems, key=lambda name: -first[name].value)
    ]
    columns = [
        Column("System", "name", shows="system"),
        Column(f"Score, {arms[0]}", digits=3, shows="first"),
        Column(f"Score, {arms[1]}", digits=3, shows="second"),
    ]
    note = f"{ways(*pools.values())}Each pool’s own comparisons."
    r = correlation(records)
    if not math.isnan(r):
        note += f" Pearson’s r of the two columns, over systems: {number(r)}."
    section.data["pool_correlation"] = r
    table = Table("Scores by pool", columns, records, note)
    section.data["pools"] = records
    section.add(Fold("Scores in each pool", [table]))


def pools_by_hour(source: Source, rated: Rated) -> tuple[list[str], pd.Series] | None:
    """Two pools of workers by the hour (UTC) at which each first sent work, cut at the median worker: their names, and
    the pool of every rating. None without texts that several people rated, or if all came at the same time.

    Zhang et al. 2020 (appendix A) made the pools of their A/A test so.
    """
    raters = rated.ratings.groupby("item")["worker"].nunique()
    if raters.max() < 2:
        return None
    first = source.data.submissions.sort_values("received_at").drop_duplicates("worker").set_index("worker")
    times = pd.to_datetime(first["received_at"], utc=True)
    hours = (times.dt.hour + times.dt.minute / 60).reindex(rated.ratings["worker"].unique())
    cut = float(hours.median())
    if not FEWEST_OF_POOL <= int((hours < cut).sum()) <= len(hours) - FEWEST_OF_POOL:
        return None
    clock = f"{int(cut):02d}:{int(cut % 1 * 60):02d} UTC"
    names = [f"before {clock}", f"from {clock}"]
    pools = rated.ratings["worker"].map(hours.map(lambda hour: names[int(hour >= cut)]))
    return names, pools


def add_agreement_of_pools(section: Section, rated: Rated, pools: pd.Series, names: Sequence[str]) -> None:
    """Cohen's κ of pairs between the pools by time of day."""
    comparisons, items = rated.comparisons, rated.ratings["item"].to_numpy()
    contexts = rated.of("context")
    kappa = attempt(
        lambda: pair_cohen(
            items[comparisons.left],
            items[comparisons.right],
            comparisons.outcome,
            rated.of("worker"),
            pools.to_numpy()[comparisons.left],
            clusters=contexts if len(set(contexts.tolist())) > 1 else None,
        )
    )
    section.data["agreement_by_time_of_day"] = kappa
    if math.isnan(kappa.value):
        return
    note = (
        "An A/A test without arms: people who first came earlier and later in the day are two pools, who should agree "
        "like any two people. Intervals are about new contexts and workers."
    )
    title = f"Cohen’s κ, {names[0]} against {names[1]}"
    section.add(estimates_table("Agreement on pairs by time of day", {title: kappa}, note=note))


def correlation(records: Sequence[Mapping[str, Any]]) -> float:
    """Pearson's r of two pools' scores; NaN with fewer than three systems."""
    sides = [[record[side].value for record in records] for side in ("first", "second")]
    if len(records) < 3 or any(len(set(values)) < 2 for values in sides):
        return math.nan
    return float(scipy.stats.pearsonr(*sides).statistic)


def scores_of(ratings: pd.DataFrame) -> SystemScores | str:
    """The scores of the systems in ``ratings``, or why there are none."""
    try:
        comparisons = comparisons_from_ratings(ratings["submission"], ratings["system"], ratings["value"])
    except ValueError as error:
        return str(error)
    dimensions: Dimensions = comparison_dimensions(
        comparisons, workers=ratings["worker"], texts=ratings["item"], contexts=ratings["context"]
    )
    return system_scores(comparisons, dimensions)


def ranks_in_words(rank: tuple[int, int, int]) -> str:
    _, best, worst = rank
    return str(best) if best == worst else f"{best} to {worst}"


def ways(*scores: SystemScores) -> str:
    """How the intervals were made; the same way is named once, and many are summed up."""
    estimates: list[Estimate] = [estimate for of in scores for estimate in of.estimates.values()]
    named = [way for way in dict.fromkeys(how(estimate) for estimate in estimates) if way]
    if len(named) > MOST_WAYS:
        return "Intervals are clustered as far as each system’s texts go; report.json has every one's clusters. "
    return "".join(f"{way} " for way in named)
