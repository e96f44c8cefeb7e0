"""The data of the diversity section: scores of items, the parameter that varies between them, and automatic metrics."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.description import Score
from analysis.diversity.checks import without_noise
from analysis.diversity.evaluation import con_test, dec_test
from analysis.diversity.metrics import METRICS
from analysis.diversity.oca import Threshold
from analysis.diversity.ranking import ranking_test
from analysis.diversity.resampling import context_groups
from analysis.estimate import Estimate
from analysis.inference import Dimensions, mean_correlation
from analysis.inference.correlation import Kind as CorrelationKind
from analysis.plots import padded
from analysis.report.source import Source
from analysis.scores import item_scores, own_scores

Kind = Literal["contest", "dectest", "ranking", "none"]
#: Parameters that act by their order of magnitude.
LOGARITHMIC = ("k", "top_k", "top-k", "topk")
#: The limits of automatic metrics that have any.
METRIC_LIMITS = {"distinct-n": (0.0, 1.0), "cos-sim": (-1.0, 0.0)}
RESERVED = ("score", "sd", "n", "workers", "low", "high", "parameter", "context", *METRICS)
PREFIX = "metric_"


@dataclass(frozen=True, slots=True)
class Sets:
    """One score of the task type, for every item.

    ``table``: one row per item in the order of the file, with ``score``, ``sd``, ``n``, ``workers``, ``low``, ``high``,
    ``parameter`` (NaN: none), ``context`` and one column per metric in ``metrics``. ``name`` is the parameter's.
    ``by_worker``: each worker's own score of an item (``item``, ``worker``, ``value``). ``scale``: the ends of the
    score, None if the question has no points. ``not_metrics``: columns of the file with scores by people, which are
    left out.
    """

    score: Score
    table: pd.DataFrame
    by_worker: pd.DataFrame
    name: str
    kind: Kind
    metrics: Sequence[str]
    scale: tuple[float, float] | None = None
    not_metrics: Sequence[str] = ()

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

    def limits(self, measure: str) -> tuple[float, float] | None:
        """The ends of an axis: for the score ("score") those of its scale and a little more, for a metric those of the
        data, cut to what the metric can reach. None: the data's."""
        if measure == "score" and self.scale is not None:
            room = 0.03 * (self.scale[1] - self.scale[0])
            return self.scale[0] - room, self.scale[1] + room
        if measure in METRIC_LIMITS and self.middle is None:
            low, high = padded(self.rated[measure].dropna().tolist())
            return max(low, METRIC_LIMITS[measure][0]), min(high, METRIC_LIMITS[measure][1])
        return None


@dataclass(frozen=True, slots=True)
class Tested:
    """A measure of the sets against the parameter. ``second`` is OCA, Pearson's r or the accuracy of the sign."""

    measure: str
    spearman: Estimate
    second: Estimate
    threshold: Threshold | None = None


def sets_of(source: Source, score: Score, metrics: Sequence[str] = ()) -> Sets:
    """Everything that the section needs about the items, for one score.

    ``metrics`` names columns of the items' file; without it, all columns named ``metric_…`` that do not contain scores
    by people.
    """
    if score.topic in source.questions:
        score = score.within(source.questions[score.topic].ratings_scale)
    items, ratings = source.items, source.ratings_on(score.topic)
    table = item_scores(ratings, score).reindex(items.index)
    for count in ("n", "workers"):
        table[count] = table[count].fillna(0).astype(int)
    names = Counter(name for name in items["parameter"] if name)
    name = names.most_common(1)[0][0] if names else ""
    table["parameter"] = items["parameter_value"].where(items["parameter"] == name) if name else math.nan
    table["context"] = items["context"]
    for metric, of in METRICS.items():
        if score.middle is None:
            table[metric] = [measured(of, responses) for responses in items["responses"]]
        else:  # an item compares two sets
            table[metric] = [
                measured(of, texts[0]) - measured(of, texts[1]) if len(texts) == 2 else math.nan
                for texts in items["texts"]
            ]
    keys, not_metrics = metrics_of_file(items["metrics"], metrics)
    for column, key in keys.items():
        table[column] = [values.get(key, math.nan) for values in items["metrics"]]
    measured_metrics = [metric for metric in (*METRICS, *keys) if table[metric].notna().any()]
    rated = table[(table["n"] > 0) & table["parameter"].notna()]
    kind = kind_of(rated["parameter"], score.middle)
    ends = scale_of(source, score)
    return Sets(score, table, own_scores(ratings, score), name, kind, measured_metrics, ends, not_metrics)


def metrics_of_file(metrics: pd.Series, chosen: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The columns to show, each with its key in an item, and those left out as scores by people.

    ``x_mean`` with ``x_std`` means scores by people in files of this server and in the released files.
    """
    keys = list(dict.fromkeys(key for values in metrics for key in values))
    if chosen:
        named = {name: name if name in keys else name.removeprefix(PREFIX) for name in chosen}
        return {name: key for name, key in named.items() if key in keys}, []
    stems = {key.removesuffix("_mean") for key in keys if f"{key.removesuffix('_mean')}_std" in keys}
    people = [key for key in keys if key.removesuffix("_mean") in stems or key.removesuffix("_std") in stems]
    shown = [key for key in keys if key not in people]
    return {PREFIX + key if key in RESERVED else key: key for key in shown}, [PREFIX + key for key in people]


def scale_of(source: Source, score: Score) -> tuple[float, float] | None:
    """The lowest and highest possible score from ratings on the question's scale."""
    question = source.questions.get(score.topic)
    if question is None or len(question.scale.points) < 2:
        return None
    ends = sorted((score.sign * question.scale.low, score.sign * question.scale.high))
    return ends[0], ends[1]


def kind_of(parameters: pd.Series, middle: float | None) -> Kind:
    """The test that fits: it depends on the parameter's values and on whether items are comparisons."""
    different = parameters.nunique()
    if middle is not None and different:
        return "ranking"
    if different < 2:
        return "none"
    return "contest" if different == 2 else "dectest"


def numbered(groups: Sequence[Sequence[str]]) -> list[str]:
    """The judged texts, numbered; for a comparison, set by set."""
    lines: list[str] = []
    for position, texts in enumerate(groups, start=1):
        lines += [f"Set {position}"] if len(groups) > 1 else []
        lines += [f"{number}. {text or '(empty)'}" for number, text in enumerate(texts, start=1)]
    return lines


def measured(metric: Callable[[Sequence[str]], float], responses: Sequence[str]) -> float:
    """The metric's value, or NaN if the metric is undefined for the set."""
    try:
        return metric(responses) if responses else math.nan
    except ValueError:
        return math.nan


def groups_of(table: pd.DataFrame) -> list[str] | None:
    """The groups to resample as a whole: see `context_groups`."""
    return context_groups(table["context"].tolist())


def tested(sets: Sets, source: Source, measure: str) -> Tested:
    """The score (``measure`` is "score") or a metric against the parameter, over the items that have both.

    Correlations of the score are about new items and new workers; those of a metric, which no worker makes, and both
    kinds of accuracy are about new items, with the published bootstrap.
    """
    table = sets.usable[sets.usable[measure].notna()]
    scores, labels = table[measure].to_numpy(), table["parameter"].to_numpy()
    plan, groups = source.plan, groups_of(table)
    by_people = measure == "score"
    try:
        if sets.kind == "ranking":
            middle = (sets.middle or 0.0) if by_people else 0.0  # metrics are differences already
            ranked = ranking_test(without_noise(scores - middle), labels, plan=plan, groups=groups)
            rho = correlated(sets, table, labels, mirrored=True) if by_people else ranked.rho
            return Tested(measure, rho, ranked.accuracy)
        if sets.kind == "contest":
            result = con_test(scores, labels, plan=plan, groups=groups)
            rho = correlated(sets, table, labels) if by_people else result.rho
            return Tested(measure, rho, result.oca, result.threshold)
        if by_people:
            x = np.log10(labels) if sets.log10 else labels
            return Tested(measure, correlated(sets, table, x), correlated(sets, table, x, kind="pearson"))
        of_metric = dec_test(scores, labels, plan=plan, groups=groups, log10=sets.log10)
    except ValueError as error:
        undefined = Estimate(math.nan, n=len(table), n_of="sets", note=str(error))
        return Tested(measure, undefined, undefined)
    return Tested(measure, of_metric.spearman, of_metric.pearson)


def with_people(sets: Sets, source: Source, metric: str) -> Tested:
    """A metric against the human score, over the rated items that have both. About new items and new workers."""
    table = sets.rated[sets.rated[metric].notna()]
    values = table[metric].to_numpy(dtype=float)
    try:
        return Tested(metric, correlated(sets, table, values), correlated(sets, table, values, kind="pearson"))
    except ValueError as error:
        undefined = Estimate(math.nan, n=len(table), n_of="sets", note=str(error))
        return Tested(metric, undefined, undefined)


def correlated(
    sets: Sets, table: pd.DataFrame, labels: ArrayLike, *, kind: CorrelationKind = "spearman", mirrored: bool = False
) -> Estimate:
    """The correlation of the score of the items in ``table`` with their labels (n,).

    Items that share a context belong together (see `groups_of`). ValueError: fewer than three items.
    """
    scores = sets.by_worker[sets.by_worker["item"].isin(table.index)]
    items = table.index.get_indexer(pd.Index(scores["item"]))
    groups = groups_of(table)
    clusters = scores["item"].to_numpy() if groups is None else np.asarray(groups)[items]
    codes: dict[str, ArrayLike] = {"items" if groups is None else "contexts": clusters, "workers": scores["worker"]}
    dimensions = Dimensions.of(**codes)
    middle = (sets.middle or 0.0) if mirrored else 0.0
    means, answers = table["score"].to_numpy(dtype=float) - middle, scores["value"].to_numpy(dtype=float) - middle
    return mean_correlation(labels, items, answers, dimensions, kind=kind, means=means, mirrored=mirrored)
