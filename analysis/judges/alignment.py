"""How well a judge agrees with people, beside how well people agree with each other.

Shapes: a table of people's answers has N rows with the columns item, worker and value; the judge has one rating for
each item.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

#: A person counts with so many items, as in the source of the test.
LEAST_ITEMS = 30
#: A correlation over fewer items says nothing.
LEAST_SHARED = 5
#: The cost that people have over a judge, by who they are (Calderon, Reichart & Dror 2025, section 3.3).
MARGINS: Mapping[str, float] = {"experts": 0.2, "skilled": 0.15, "crowd": 0.1}


@dataclass(frozen=True, slots=True)
class AlternativeTest:
    """The alternative annotator test.

    ``winning_rate``: share of the people whom the judge can stand in for; it passes from 0.5. ``advantage``: the mean
    probability that the judge agrees with the others at least as well as the person does. ``people``: how many persons
    were tested; ``left_out``: how many had fewer than `LEAST_ITEMS` items that others rated too.
    """

    winning_rate: float
    advantage: float
    people: int
    left_out: int
    margin: float
    note: str = ""

    @property
    def passes(self) -> bool:
        return self.winning_rate >= 0.5


def alternative_annotator_test(
    answers: pd.DataFrame, judged: pd.Series, *, nominal: bool, margin: float = MARGINS["crowd"], q: float = 0.05
) -> AlternativeTest:
    """Whether the judge can stand in for people, one left out at a time.

    For each person and each of their items: do the others' answers agree better with the person, or with the judge?
    Agreement is the share of equal answers (``nominal``), else minus the root mean squared difference. The judge can
    stand in for a person if the judge's share of items at least as good is above the person's less ``margin`` (a
    one-sided t test, with Benjamini and Yekutieli's correction over the people at ``q``).

    Source: Calderon, Reichart & Dror 2025, "The alternative annotator test for LLM-as-a-judge", section 3.
    """
    advantages, p_values, left_out = [], [], 0
    # Only this test needs these libraries, and to load them takes a second.
    from scipy import stats
    from statsmodels.stats.multitest import multipletests

    by_item = {
        item: (rows["worker"].to_numpy(), rows["value"].to_numpy())
        for item, rows in answers.groupby("item", sort=False)
    }
    for worker, own in answers.groupby("worker", sort=False):
        judge_wins, person_wins = [], []
        for item, value in zip(own["item"], own["value"], strict=True):
            workers, values = by_item[item]
            others = values[workers != worker]
            if len(others) and item in judged.index:
                of_judge, of_person = (_agreement(one, others, nominal) for one in (judged[item], value))
                judge_wins.append(of_judge >= of_person)
                person_wins.append(of_person >= of_judge)
        if len(judge_wins) < LEAST_ITEMS:
            left_out += 1
            continue
        difference = np.asarray(person_wins, dtype=float) - np.asarray(judge_wins, dtype=float)
        advantages.append(float(np.mean(judge_wins)))
        if difference.std() == 0:
            p_values.append(0.0 if difference.mean() < margin else 1.0)
        else:
            p_values.append(float(stats.ttest_1samp(difference, margin, alternative="less").pvalue))
    if not p_values:
        note = f"nobody rated {LEAST_ITEMS} items or more that others rated, too"
        return AlternativeTest(math.nan, math.nan, 0, left_out, margin, note)
    rejected = multipletests(p_values, alpha=q, method="fdr_by")[0]
    return AlternativeTest(float(rejected.mean()), float(np.mean(advantages)), len(p_values), left_out, margin)


def with_the_people(answers: pd.DataFrame, judged: pd.Series) -> float:
    """Spearman's ρ of the judge's ratings and the means of people's answers, over items; NaN for fewer than five."""
    means = answers.groupby("item")["value"].mean()
    return _correlation(judged.reindex(means.index), means)


def with_the_others(answers: pd.DataFrame) -> tuple[float, int]:
    """Spearman's ρ of a person's answers and the means of the others', over the person's items: the mean over people.

    The ceiling beside `with_the_people`: a judge that agrees with people as well as a person does. And how many people
    it is a mean over: those with five items that others rated, too.
    """
    totals = answers.groupby("item")["value"].agg(["sum", "count"])
    correlations = []
    for _, own in answers.groupby("worker", sort=False):
        of_person = own.groupby("item")["value"].agg(["sum", "count"])
        rest = totals.loc[of_person.index] - of_person
        rest = rest[rest["count"] > 0]
        of_others = rest["sum"] / rest["count"]
        correlation = _correlation((of_person["sum"] / of_person["count"]).reindex(rest.index), of_others)
        if not math.isnan(correlation):
            correlations.append(correlation)
    return (float(np.mean(correlations)), len(correlations)) if correlations else (math.nan, 0)


def equal_with_the_people(answers: pd.DataFrame, judged: pd.Series) -> float:
    """The share of people's answers that are the judge's, a mean over items: for categories. NaN without any."""
    rows = answers[answers["item"].isin(judged.index)]
    equal = rows["value"].to_numpy() == judged.reindex(rows["item"]).to_numpy()
    shares = pd.Series(equal.astype(float)).groupby(rows["item"].to_numpy()).mean()
    return float(shares.mean()) if len(shares) else math.nan


def equal_with_the_others(answers: pd.DataFrame) -> tuple[float, int]:
    """The share of the others' answers that are a person's, a mean over the person's items and then over people; and
    how many people it is a mean over. The ceiling beside `equal_with_the_people`."""
    counts = answers.groupby(["item", "value"]).size()
    totals = answers.groupby("item").size()
    shares: dict[object, list[float]] = {}
    for item, worker, value in zip(answers["item"], answers["worker"], answers["value"], strict=True):
        if totals[item] > 1:
            shares.setdefault(worker, []).append((counts[item, value] - 1) / (totals[item] - 1))
    means = [float(np.mean(own)) for own in shares.values()]
    return (float(np.mean(means)), len(means)) if means else (math.nan, 0)


def _agreement(value: float, others: np.ndarray, nominal: bool) -> float:
    if nominal:
        return float((others == value).mean())
    return -math.sqrt(float(((others - value) ** 2).mean()))


def _correlation(first: pd.Series, second: pd.Series) -> float:
    both = first.notna() & second.notna()
    if both.sum() < LEAST_SHARED or first[both].nunique() < 2 or second[both].nunique() < 2:
        return math.nan
    return float(first[both].rank().corr(second[both].rank()))
