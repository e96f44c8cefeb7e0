"""Scores of items beside what was varied between them and what automatic metrics say: the diversity section's data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from analysis.diversity.evaluation import con_test, dec_test
from analysis.diversity.metrics import METRICS
from analysis.diversity.oca import Threshold
from analysis.diversity.ranking import ranking_test
from analysis.diversity.set_scores import set_scores, sim_scores
from analysis.estimate import Estimate
from analysis.reports.source import Source
from annotation.task_types.base import Json, Score, TaskType

Kind = Literal["contest", "dectest", "ranking", "none"]
#: Parameters that act by their order of magnitude.
LOGARITHMIC = ("k", "top_k", "top-k", "topk")
PAIR = r"^(?P<first>.+)-(?P<second>.+)$"


@dataclass(frozen=True, slots=True)
class Sets:
    """One score of the type, for every item.

    ``table``: one row per item in the order of the file, with ``score``, ``sd``, ``n``, ``workers``, ``low``, ``high``,
    ``parameter`` (NaN: none), ``context`` and one column per metric in ``metrics``. ``name`` is the parameter's.
    ``own``: each worker's own score of an item (``item``, ``worker``, ``value``).
    """

    score: Score
    table: pd.DataFrame
    own: pd.DataFrame
    name: str
    kind: Kind
    metrics: Sequence[str]

    @property
    def middle(self) -> float | None:
        """The score that means no difference, for comparisons."""
        return None if self.score.middle is None else self.score.sign * self.score.middle

    @property
    def rated(self) -> pd.DataFrame:
        return self.table[self.table["n"] > 0]

    @property
    def usable(self) -> pd.DataFrame:
        """Items with a score and a parameter."""
        return self.rated[self.rated["parameter"].notna()]

    @property
    def log10(self) -> bool:
        return self.name.lower() in LOGARITHMIC and bool((self.usable["parameter"] > 0).all())


@dataclass(frozen=True, slots=True)
class Tested:
    """A measure of the sets against the parameter. ``second`` is OCA, Pearson's r or the accuracy of the sign."""

    measure: str
    spearman: Estimate
    second: Estimate
    threshold: Threshold | None = None


def sets_of(source: Source, score: Score) -> Sets:
    """Everything the section needs to know of the items, under one score."""
    task = source.instrument.task
    items = source.frames.items.set_index("item")["payload"]
    ratings = source.ratings_on(score.topic)
    table = scored(ratings, score).reindex(items.index)
    for count in ("n", "workers"):
        table[count] = table[count].fillna(0).astype(int)
    parameters = [task.parameter(payload) for payload in items]
    names = Counter(found[0] for found in parameters if found)
    name = names.most_common(1)[0][0] if names else ""
    table["parameter"] = [found[1] if found and found[0] == name else math.nan for found in parameters]
    table["context"] = [context_of(task, payload) for payload in items]
    metrics = []
    for metric, of in METRICS.items():
        table[metric] = [measured(of, task.responses(payload)) for payload in items]
        if table[metric].notna().any():
            metrics.append(metric)
    rated = table[(table["n"] > 0) & table["parameter"].notna()]
    own = ratings.groupby(["item", "worker"], sort=False)["value"].mean().reset_index()
    own["value"] *= score.sign
    return Sets(score, table, own, name, kind_of(rated["parameter"], score.middle), metrics)


def scored(ratings: pd.DataFrame, score: Score) -> pd.DataFrame:
    """Sign × mean rating of each item; of an item rated part by part, every part counts the same."""
    columns = ["score", "sd", "n", "workers", "low", "high"]
    if ratings.empty:
        return pd.DataFrame(columns=columns, dtype=float)
    ends = ratings["target"].str.extract(PAIR)
    if score.sign < 0 and ends["first"].notna().all():
        return with_ties(sim_scores(ratings.join(ends))[columns])
    whole = ratings
    if ratings["target"].nunique() > 1:
        whole = ratings.groupby(["item", "worker"], sort=False)["value"].mean().reset_index()
    found = set_scores(whole)
    if score.sign < 0:
        found["score"], found["low"], found["high"] = -found["score"], -found["high"], -found["low"]
    return with_ties(found[columns])


def with_ties(found: pd.DataFrame) -> pd.DataFrame:
    """Means that are equal but for their last bits, which hang on the order of a sum, as equals: they tie in ranks."""
    return found.assign(score=found["score"].round(12))


def kind_of(parameters: pd.Series, middle: float | None) -> Kind:
    """Which test fits: what the parameter's values are decides, and whether items are comparisons."""
    different = parameters.nunique()
    if middle is not None and different:
        return "ranking"
    if different < 2:
        return "none"
    return "contest" if different == 2 else "dectest"


def context_of(task: TaskType, payload: Json) -> str:
    """What the responses answer; items that share it are not independent."""
    rows = task.source_rows(payload)
    return rows[0].get("context", "") if rows else ""


def texts_of(task: TaskType, payload: Json) -> list[str]:
    """The texts that were judged, numbered; of a comparison set by set."""
    rows = task.source_rows(payload)
    found: list[str] = []
    for place, row in enumerate(rows, start=1):
        responses = [text for name, text in row.items() if name.startswith("resp_")]
        told = [f"{number}. {text or '(empty)'}" for number, text in enumerate(responses, start=1)]
        found += ([f"Set {place}", *told]) if len(rows) > 1 else told
    return found or task.responses(payload)


def measured(metric: Callable[[Sequence[str]], float], responses: Sequence[str]) -> float:
    """NaN where the metric has no figure for such a set."""
    try:
        return metric(responses) if responses else math.nan
    except ValueError:
        return math.nan


def groups_of(table: pd.DataFrame) -> list[str] | None:
    """The contexts, where some occur more than once and there are several: what to resample as a whole."""
    different = table["context"].nunique()
    return table["context"].tolist() if 1 < different < len(table) else None


def tested(sets: Sets, source: Source, measure: str) -> Tested:
    """The score (``measure`` is "score") or a metric against the parameter, over the items that have both."""
    table = sets.usable[sets.usable[measure].notna()]
    scores, labels = table[measure].to_numpy(), table["parameter"].to_numpy()
    plan, groups = source.plan, groups_of(table)
    try:
        if sets.kind == "ranking":
            ranked = ranking_test(scores - (sets.middle or 0.0), labels, plan=plan, groups=groups)
            return Tested(measure, ranked.rho, ranked.accuracy)
        if sets.kind == "contest":
            found = con_test(scores, labels, plan=plan, groups=groups)
            return Tested(measure, found.rho, found.oca, found.threshold)
        correlated = dec_test(scores, labels, plan=plan, groups=groups, log10=sets.log10)
    except ValueError as error:
        undefined = Estimate(math.nan, n=len(table), n_of="sets", note=str(error))
        return Tested(measure, undefined, undefined)
    return Tested(measure, correlated.spearman, correlated.pearson)


def with_people(sets: Sets, source: Source, metric: str) -> Tested:
    """A metric against the human score, over the rated items that have both."""
    table = sets.rated[sets.rated[metric].notna()]
    try:
        found = dec_test(table[metric], table["score"], plan=source.plan, groups=groups_of(table))
    except ValueError as error:
        undefined = Estimate(math.nan, n=len(table), n_of="sets", note=str(error))
        return Tested(metric, undefined, undefined)
    return Tested(metric, found.spearman, found.pearson)
