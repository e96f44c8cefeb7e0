"""Human or machine: shares by hand, tests equal to statsmodels and SciPy, signal detection, coded comments."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multicomp import pairwise_tukeyhsd
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW, ttest_ind

from analysis.detection import (
    Judgements,
    adjudicated_shares,
    against_chance,
    anova,
    breakdown,
    differences,
    forced_choice,
    judgements_from_arrays,
    label_agreement,
    mean_against,
    mean_difference,
    measures,
    score_counts,
    sensitivity,
    tukey,
    worker_scores,
)
from tests.analysis.support.two_way import reference_spread


def small(**groups: list[str]) -> Judgements:
    """Two workers, four texts: h1, h2 by people, m1, m2 by gpt.

    ann: h1 1 ✓, h2 3 ✗, m1 4 ✓, m2 2 ✗. ben: h1 2 ✓, h2 2 ✓, m1 3 ✓, m2 1 ✗.
    """
    workers, texts = ["ann"] * 4 + ["ben"] * 4, ["h1", "h2", "m1", "m2"] * 2
    sources = ["human", "human", "gpt", "gpt"] * 2
    return judgements_from_arrays(workers, texts, sources, [1, 3, 4, 2, 2, 2, 3, 1], groups=groups)


def test_shares_by_hand() -> None:
    found = measures(small())
    # 5 of 8 right. Machine: called 3 times (h2 by ann, m1 twice), 2 of them right; 4 machine judgements, 2 found.
    assert found.accuracy.value == 5 / 8
    assert found.precision.value == pytest.approx(2 / 3)
    assert found.recall.value == 0.5
    assert found.f1.value == pytest.approx(4 / 7)  # 2 · 2 / (3 + 4)
    assert found.said_human.value == 5 / 8
    assert found.confident.value == 3 / 8
    assert (found.workers, found.texts) == (2, 4)
    # Two workers show nothing about workers.
    assert math.isnan(found.accuracy.low)
    assert found.accuracy.note == "an interval needs at least 5 workers, and there are only 2"
    # Two raters; they differ on h2 only: D_o = 1/4. 8 values, 3 machine: D_e = 2·3·5 / (8·7). α = 1 − 56/120.
    assert found.alpha.value == pytest.approx(1 - 0.25 * 56 / 30)


def test_scores_per_worker_and_out_of_four() -> None:
    judged = small(domain=["story"] * 4 + ["news"] * 3 + ["story"])
    scores = worker_scores(judged)
    assert scores[["worker", "right", "n", "accuracy"]].values.tolist() == [["ann", 2, 4, 0.5], ["ben", 3, 4, 0.75]]
    assert list(scores["domain"]) == ["story", ""]
    counts = score_counts(judged)
    assert list(counts["workers"]) == [0, 0, 1, 1, 0]
    # Of two workers who toss coins: 2 · (1, 4, 6, 4, 1) / 16.
    assert list(counts["guessing"]) == pytest.approx([0.125, 0.5, 0.75, 0.5, 0.125])
    with pytest.raises(ValueError, match="no worker judged 5 texts"):
        score_counts(judged, out_of=5)


def test_breakdown_by_columns() -> None:
    found = dict(breakdown(small(arm=["a"] * 4 + ["b"] * 4), ["arm"]))
    assert {key: each.accuracy.value for key, each in found.items()} == {("a",): 0.5, ("b",): 0.75}


def test_shares_without_a_denominator_are_undefined() -> None:
    judged = judgements_from_arrays(["a", "b"], ["t", "t"], ["human"] * 2, [1, 2])
    found = measures(judged)
    assert found.precision.note == "nobody answered machine" and found.recall.note == "no text is machine-made"
    assert math.isnan(sensitivity(judged).d_prime.value)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((["a"], ["t"], ["human"], [5]), "1, 2, 3 or 4, not 5"),
        ((["a"], ["t"], ["human"], [math.nan]), "no judgement"),
        ((["a", "a"], ["t", "t"], ["human"] * 2, [1, 2]), "“a” judged “t” twice"),
        ((["a"], ["t", "u"], ["human"], [1]), "equal length"),
    ],
)
def test_judgements_that_make_no_sense_are_refused(columns: tuple[Any, Any, Any, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        judgements_from_arrays(*columns)


# --- tests on accuracies ---


def accuracies(seed: int, n: int, p: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.random.default_rng(seed).binomial(5, p, n) / 5


def test_one_sample_t_is_that_of_statsmodels() -> None:
    values = accuracies(1, 389, 0.579)
    t, p, df = DescrStatsW(values).ttest_mean(0.5)
    found = mean_against(values, tests=15)
    assert (found.t, found.p, found.df) == pytest.approx((t, p, df))
    assert found.df == 388, "389 workers, as the published t(388)"
    assert found.threshold == pytest.approx(0.05 / 15)  # 0.00333
    low, high = DescrStatsW(values).tconfint_mean()
    assert (found.mean.low, found.mean.high) == pytest.approx((low, high))


def test_published_t_values_follow_from_their_means() -> None:
    """Clark 2021, ch. 6: 0.579 with t(388) = 6.58 and 0.499 with t(388) = −0.09, so s.d. 0.2368 and 0.219. Samples of
    389 with exactly these means and s.d. give back the t values (to the rounding of the means)."""
    for mean, t in ((0.579, 6.58), (0.499, -0.09)):
        sd = (mean - 0.5) * math.sqrt(389) / t
        base = np.linspace(-1, 1, 389)
        values = mean + (base - base.mean()) / base.std(ddof=1) * sd
        found = mean_against(values, tests=15)
        assert (found.t, found.df) == pytest.approx((t, 388))
        assert found.differs == (t > 5)
    # The text's 390 workers would give one degree of freedom more.
    assert mean_against(accuracies(2, 390, 0.5)).df == 389


def test_correction_multiplies_p_and_stops_at_one() -> None:
    values = accuracies(3, 130, 0.52)
    once, many = mean_against(values), mean_against(values, tests=15)
    assert many.p == once.p and many.corrected == min(1.0, 15 * once.p)


@pytest.mark.parametrize("equal", [True, False])
def test_two_sample_t_is_that_of_statsmodels(equal: bool) -> None:
    one, two = accuracies(4, 120, 0.6), accuracies(5, 140, 0.5)
    t, p, df = ttest_ind(one, two, usevar="pooled" if equal else "unequal")
    found = mean_difference(one, two, equal_variances=equal)
    assert (found.t, found.p, found.df) == pytest.approx((t, p, df))


def test_cohens_d_by_hand_and_its_interval() -> None:
    """(1, 2, 3) against (3, 4, 5): s.d. 1 each, d = −2."""
    assert mean_difference([1, 2, 3], [3, 4, 5]).d.value == pytest.approx(-2)
    # One sample of 16 with d = 0.5, t = 2: the bounds are where t is the upper and the lower quantile (Steiger 2004).
    base = np.linspace(-1, 1, 16)
    d = mean_against(base / base.std(ddof=1) + 0.5, 0.0).d
    assert d.value == pytest.approx(0.5)
    assert stats.nct.cdf(2.0, 15, d.low * 4) == pytest.approx(0.975)
    assert stats.nct.cdf(2.0, 15, d.high * 4) == pytest.approx(0.025)


def test_anova_is_that_of_statsmodels() -> None:
    groups = {"story": accuracies(0, 130, 0.5), "news": accuracies(1, 130, 0.55), "recipe": accuracies(2, 130, 0.6)}
    frame = pd.DataFrame([(name, value) for name, values in groups.items() for value in values], columns=["g", "y"])
    table = anova_lm(smf.ols("y ~ g", frame).fit())
    found = anova(groups)
    assert (found.f, found.p) == pytest.approx((table["F"].iloc[0], table["PR(>F)"].iloc[0]))
    assert (found.df_between, found.df_within) == (2, 387), "390 workers; the paper's F has these"
    assert found.eta_squared == pytest.approx(table["sum_sq"].iloc[0] / table["sum_sq"].sum())


def test_tukey_is_that_of_statsmodels() -> None:
    arms = {
        "none": accuracies(10, 130, 0.5),
        "instructions": accuracies(11, 125, 0.52),
        "examples": accuracies(12, 130, 0.6),
        "comparison": accuracies(13, 128, 0.53),
    }
    names = np.repeat(list(arms), [len(values) for values in arms.values()])
    reference = pairwise_tukeyhsd(np.concatenate(list(arms.values())), names)
    order = list(reference.groupsunique)
    expected = {}
    at = 0
    for i in range(len(order)):
        for j in range(i + 1, len(order)):
            # statsmodels subtracts the first group from the second.
            expected[order[j], order[i]] = (reference.meandiffs[at], reference.pvalues[at], reference.confint[at])
            at += 1
    for pair in tukey(arms):
        sign = 1 if (pair.first, pair.second) in expected else -1
        key = (pair.first, pair.second) if sign == 1 else (pair.second, pair.first)
        difference, p, bounds = expected[key]
        assert pair.difference.value == pytest.approx(sign * difference)
        assert pair.p == pytest.approx(p, abs=1e-6)
        low, high = sorted(sign * bounds)
        assert (pair.difference.low, pair.difference.high) == pytest.approx((low, high), abs=1e-6)


def test_a_missing_test_has_a_reason() -> None:
    with pytest.raises(ValueError, match="two workers or more, not 1"):
        mean_against([0.5])
    with pytest.raises(ValueError, match="is missing; leave that worker out"):
        mean_against([0.5, math.nan])
    with pytest.raises(ValueError, match="two groups or more"):
        anova({"a": [1, 2]})
    with pytest.raises(ValueError, match="nothing varies"):
        tukey({"a": [1, 1], "b": [2, 2]})
    flat = mean_against([0.6, 0.6, 0.6])
    assert math.isnan(flat.t) and flat.d.note == "all workers have the same accuracy"


# --- signal detection ---


def test_d_prime_with_the_log_linear_correction_by_hand() -> None:
    """Hits 2 of 4, false alarms 1 of 4: (2.5/5, 1.5/5) → z 0 and −0.5244 (tables of the normal distribution)."""
    found = sensitivity(small())
    assert found.d_prime.value == pytest.approx(0.5244, abs=1e-4)
    assert found.criterion.value == pytest.approx(0.2622, abs=1e-4)
    assert (found.hit_rate, found.false_alarm_rate) == (0.5, 0.25)
    assert "log-linear correction (Hautus 1995)" in found.d_prime.method


def crossed(
    texts: int = 20, workers: int = 60, each: int = 5, sd: float = 1.0, seed: int = 1, models: int = 1
) -> Judgements:
    """Workers who guess, on half human and half machine texts that differ in how hard they are; so do workers."""
    rng = np.random.default_rng(seed)
    hard, skill = rng.normal(0, sd, texts), rng.normal(0, sd, workers)
    worker = np.repeat(np.arange(workers), each)
    text = np.concatenate([rng.permutation(texts)[:each] for _ in range(workers)])
    right = rng.random(len(text)) < 1 / (1 + np.exp(-(hard[text] + skill[worker])))
    machine = text % 2 == 1
    source = np.where(machine, "gpt", "human")
    answer = np.where(right == machine, 4, 1)
    model = np.char.add("m", (text // 2 % models).astype(str))
    return judgements_from_arrays(worker, text, source, answer, groups={"model": model})


def test_accuracy_has_the_two_way_variance_by_moments() -> None:
    judged = crossed()
    right = judged.frame["right"].to_numpy(dtype=float)
    clusters = [pd.factorize(judged.frame[name])[0] for name in ("text", "worker")]
    reference = reference_spread(right, *clusters)
    accuracy = measures(judged).accuracy
    p = right.mean()
    ends = [math.log(end / (1 - end)) for end in (accuracy.low, accuracy.high)]
    half = stats.t.ppf(0.975, reference.freedom) * math.sqrt(reference.variance) / (p * (1 - p))
    assert (ends[1] - ends[0]) / 2 == pytest.approx(half, rel=1e-9)
    assert accuracy.method.startswith("clustered by 20 texts and 60 workers")


def test_an_interval_of_accuracy_never_leaves_zero_to_one() -> None:
    judged = crossed(texts=8, workers=8, each=6, sd=2.0)
    nearly = Judgements(judged.frame.assign(right=[True] * 46 + [False] * 2))
    accuracy = measures(nearly).accuracy
    assert accuracy.low < accuracy.value < accuracy.high < 1


def test_d_prime_has_the_delta_methods_variance() -> None:
    """Without clusters (one answer a worker and a text): z′ is 1/φ, rates are binomial (Macmillan & Creelman 2005,
    ch. 13)."""
    n = 400
    rng = np.random.default_rng(4)
    said = np.concatenate([rng.random(n) < 0.7, rng.random(n) < 0.4])
    source = ["gpt"] * n + ["human"] * n
    names = np.arange(2 * n)
    found = sensitivity(judgements_from_arrays(names, names, source, np.where(said, 4, 1)))
    hits, alarms = said[:n].mean(), said[n:].mean()
    variance = sum(rate * (1 - rate) / n / stats.norm.pdf(stats.norm.ppf(rate)) ** 2 for rate in (hits, alarms))
    half = (found.d_prime.high - found.d_prime.low) / 2
    assert half == pytest.approx(1.96 * math.sqrt(variance), rel=0.01)


def test_forced_choice_has_the_d_prime_of_two_alternatives() -> None:
    """76 of 100 right: d′ = √2 · z(0.76) = 1.00 (Macmillan & Creelman 2005, table A5.3), before the correction."""
    right = np.repeat([1, 0], [7600, 2400])
    found = forced_choice(np.arange(10_000) % 500, np.arange(10_000) // 500, right)
    assert found.accuracy.value == 0.76
    assert found.d_prime.value == pytest.approx(1.0, abs=5e-3)
    assert "log-linear" in found.d_prime.method
    with pytest.raises(ValueError, match=r"right \(1\) or wrong \(0\)"):
        forced_choice([1], [1], [2])


def test_guessing_workers_are_told_from_chance_in_one_study_of_twenty() -> None:
    """200 studies of 60 workers on 20 texts that differ: 10 expected, s.d. 3.1. Tests over workers alone reject 60."""
    rejected = {"chance": 0, "published": 0, "models": 0}
    for seed in range(200):
        judged = crossed(seed=seed, models=2)
        rejected["chance"] += against_chance(judged)[0].p < 0.05
        rejected["models"] += differences(judged, "model")[0].p < 0.05
        rejected["published"] += mean_against(worker_scores(judged)["accuracy"]).p < 0.05
    assert rejected["chance"] <= 20
    assert rejected["models"] <= 20
    assert rejected["published"] >= 30


def test_groups_are_compared_in_pairs_with_holms_correction() -> None:
    judged = crossed(texts=60, models=3)
    pairs = differences(judged, "model")
    assert [(each.first, each.second) for each in pairs] == [
        (one, two) for one, two in combinations(dict.fromkeys(judged.frame["model"]), 2)
    ]
    assert [each.corrected for each in pairs] == pytest.approx(multipletests([e.p for e in pairs], method="holm")[1])
    accuracies = judged.frame.groupby("model")["right"].mean()
    assert pairs[0].difference.value == pytest.approx(accuracies[pairs[0].first] - accuracies[pairs[0].second])


def test_d_prime_of_perfect_answers_is_finite() -> None:
    judged = judgements_from_arrays(list("aabb"), list("hmhm"), ["human", "gpt"] * 2, [1, 4, 1, 4])
    # 2.5/3 and 0.5/3: z = ±0.9674.
    assert sensitivity(judged).d_prime.value == pytest.approx(1.9349, abs=1e-3)


# --- coded comments ---


def test_labels_and_their_agreement_by_hand() -> None:
    """Four comments, two coders. grammar: x 1 1 0 0, y 1 0 0 0. P_o = 3/4, shares 1/2 and 1/4, P_e = 1/2, κ = 1/2."""
    comments = [1, 2, 3, 4] * 2
    coders = ["x"] * 4 + ["y"] * 4
    (found,) = label_agreement(comments, coders, ["grammar"] * 8, [1, 1, 0, 0, 1, 0, 0, 0])
    assert (found.chosen, found.share.value) == (3, 3 / 8)
    assert found.kappa.value == pytest.approx(0.5)
    assert found.percent.value == 0.75
    # α: D_o = 1/4; 8 values, 3 ones: D_e = 2·3·5 / 56.
    assert found.alpha.value == pytest.approx(1 - 0.25 * 56 / 30)


def test_one_coder_has_no_agreement() -> None:
    (found,) = label_agreement([1, 2], ["x", "x"], ["vague"] * 2, [1, 0])
    assert math.isnan(found.kappa.value) and found.kappa.note
    with pytest.raises(ValueError, match="decided twice"):
        label_agreement([1, 1], ["x", "x"], ["a", "a"], [1, 0])


def test_null_comments_are_dropped_at_the_end() -> None:
    """Comment 1: grammar. 2: vague only. 3: grammar and vague. 4: nothing. Left are 1 and 3."""
    comments = [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]
    labels = ["grammar", "fact", "vague"] * 4
    shares, dropped = adjudicated_shares(comments, labels, [1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0], null_labels=["vague"])
    assert dropped == 2
    assert {name: (each.value, each.n) for name, each in shares.items()} == {"grammar": (1.0, 2), "fact": (0.5, 2)}
