"""Per-worker diagnostics against plain loops; Dawid & Skene's EM against a literal one; votes and accuracy by hand."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.agreement import (
    accuracy,
    class_shares,
    dawid_skene,
    majority_vote,
    ratings_from_arrays,
    worker_diagnostics,
)

NAN = math.nan


def crowd(seed: int = 0, units: int = 40, raters: int = 8, per_unit: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [(unit, f"w{rater}") for unit in range(units) for rater in rng.choice(raters, per_unit, replace=False)]
    frame = pd.DataFrame(rows, columns=["unit", "rater"])
    truth = rng.integers(1, 6, units)[frame["unit"]]
    frame["value"] = np.clip(truth + rng.integers(-1, 2, len(frame)), 1, 5)
    frame["seconds"] = rng.gamma(2, 10, len(frame))
    return frame


def pairs_with_rest(frame: Any, worker: Any) -> Any:
    for _, row in frame[frame["rater"] == worker].iterrows():
        rest = frame[(frame["unit"] == row["unit"]) & (frame["rater"] != worker)]["value"]
        if len(rest):
            yield row["value"], rest.to_numpy(dtype=float)


def test_numeric_diagnostics_are_those_of_plain_loops() -> None:
    lone = pd.DataFrame({"unit": [99], "rater": ["w0"], "value": [1], "seconds": [3.0]})
    frame: pd.DataFrame = pd.concat([crowd(), lone])
    found = worker_diagnostics(frame, seconds="seconds")
    for worker in frame["rater"].unique():
        mine, rest = map(np.array, zip(*((a, b.mean()) for a, b in pairs_with_rest(frame, worker)), strict=True))
        row = found.loc[worker]
        correlation = stats.pearsonr(mine, rest)
        interval = correlation.confidence_interval(0.95)
        assert row["agreement"] == pytest.approx(correlation.statistic, abs=1e-9)
        assert [row["agreement_low"], row["agreement_high"]] == pytest.approx([interval.low, interval.high], abs=1e-9)
        test = stats.ttest_1samp(mine - rest, 0)
        assert row["bias"] == pytest.approx((mine - rest).mean(), abs=1e-9)
        assert row["bias_low"] == pytest.approx(test.confidence_interval(0.95).low, abs=1e-9)
        assert row["bias_high"] == pytest.approx(test.confidence_interval(0.95).high, abs=1e-9)
        assert row["compared"] == len(mine)
        own = frame[frame["rater"] == worker]
        assert row["ratings"] == len(own)
        assert row["seconds_median"] == pytest.approx(own["seconds"].median())
        assert row["top_share"] == pytest.approx(own["value"].value_counts(normalize=True).iloc[0])
        assert row["longest_run"] == max(len(list(run)) for _, run in itertools.groupby(own["value"]))
        assert row["distinct"] == own["value"].nunique()


def test_nominal_agreement_is_the_mean_share_of_equal_others() -> None:
    frame = crowd(seed=1)
    found = worker_diagnostics(frame, scale="nominal")
    for worker in frame["rater"].unique():
        shares = np.array([(rest == mine).mean() for mine, rest in pairs_with_rest(frame, worker)])
        row = found.loc[worker]
        half = 1.959963984540054 * shares.std(ddof=1) / math.sqrt(len(shares))
        assert row["agreement"] == pytest.approx(shares.mean(), abs=1e-9)
        assert row["agreement_low"] == pytest.approx(max(shares.mean() - half, 0), abs=1e-9)
        assert row["agreement_high"] == pytest.approx(min(shares.mean() + half, 1), abs=1e-9)


def test_a_straight_liner_and_a_hasty_one_stand_out() -> None:
    frame = crowd(units=200)
    lazy = frame["rater"] == "w3"
    frame.loc[lazy, "value"] = 3
    frame.loc[lazy, "seconds"] = 1.0
    found = worker_diagnostics(frame, seconds="seconds")
    assert math.isnan(found["agreement"]["w3"])
    assert found.loc["w3", "distinct"] == 1
    assert found["top_share"].idxmax() == found["longest_run"].idxmax() == found["seconds_median"].idxmin() == "w3"


def test_missing_values_and_lone_ratings_do_not_compare() -> None:
    frame = pd.DataFrame({"unit": [1, 1, 2], "rater": ["a", "b", "a"], "value": [1.0, NAN, 2.0]})
    found = worker_diagnostics(frame)
    assert found.loc["a", "compared"] == 0
    assert math.isnan(found["bias"]["a"])
    assert found.loc["b", "ratings"] == 0


@pytest.mark.parametrize(
    ("change", "options", "error", "message"),
    [
        ({}, {"scale": "ordinal"}, ValueError, "nominal"),
        ({"value": "x"}, {}, ValueError, "text"),
        ({"value": None}, {}, ValueError, "no ratings"),
        ({}, {"seconds": "time"}, KeyError, "the columns are unit, rater, value, seconds"),
        ({"unit": 1, "rater": "a"}, {}, ValueError, "more than one rating"),
    ],
)
def test_frames_that_cannot_be_read_are_refused(change: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        worker_diagnostics(crowd().assign(**change), **options)


# --- votes


def test_majority_with_shared_ties() -> None:
    votes = majority_vote([["a", "b", None], ["b", "b", "a"], [None] * 3, ["c", "a", "b"]])  # type: ignore[arg-type]
    np.testing.assert_allclose(votes, np.array([[0.5, 0.5, 0], [0, 1, 0], [NAN] * 3, [1 / 3] * 3]))


def test_accuracy_counts_ties_by_share_and_names_units_without_gold() -> None:
    votes = majority_vote([["a", "b"], ["b", "b"], ["a", "a"], ["a", "a"]])
    estimate = accuracy(votes, {0: "a", 1: "b", 2: "never said"})
    assert estimate.value == pytest.approx(0.5)
    assert estimate.n == 3
    assert "1 of 4 units lack" in estimate.note
    with pytest.raises(ValueError, match="no unit has both"):
        accuracy(votes, {})
    with pytest.raises(ValueError, match="no ratings"):
        majority_vote([[NAN, NAN]])


# --- Dawid & Skene


def literal_em(labels: Any, steps: int) -> Any:
    """Equations 2.3–2.5 of the paper with loops over a complete units × raters matrix of codes."""
    units, raters = labels.shape
    classes = int(labels.max()) + 1
    T = np.array([[np.mean(row == k) for k in range(classes)] for row in labels])
    for _ in range(steps):
        p = T.mean(axis=0)
        pi = np.zeros((raters, classes, classes))
        for r in range(raters):
            for k in range(classes):
                for said in range(classes):
                    pi[r, k, said] = sum(T[i, k] for i in range(units) if labels[i, r] == said)
                pi[r, k] /= pi[r, k].sum()
        for i in range(units):
            T[i] = [p[k] * np.prod([pi[r, k, labels[i, r]] for r in range(raters)]) for k in range(classes)]
            T[i] /= T[i].sum()
    return p, pi, T


def noisy_labels(units: int = 60, raters: int = 5, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, units, p=[0.5, 0.3, 0.2])
    right = rng.random((units, raters)) < np.linspace(0.5, 0.9, raters)
    return truth, np.where(right, truth[:, None], rng.integers(0, 3, (units, raters)))


@pytest.mark.parametrize("steps", [1, 2, 25])
def test_each_step_is_that_of_a_literal_em(steps: int) -> None:
    _, labels = noisy_labels()
    p, pi, T = literal_em(labels, steps)
    model = dawid_skene(labels, iterations=steps, tolerance=-math.inf)
    np.testing.assert_allclose(model.shares, p, atol=1e-9)
    np.testing.assert_allclose(model.confusion, pi, atol=1e-9)
    np.testing.assert_allclose(model.posterior, T, atol=1e-9)
    assert model.iterations == steps


def test_it_recovers_what_the_labels_were_drawn_with() -> None:
    truth, labels = noisy_labels(units=4000)
    model = dawid_skene(labels)
    assert model.converged
    gold = dict(enumerate(truth.astype(float)))
    best, vote = accuracy(model.labels(), gold), accuracy(majority_vote(labels), gold)
    assert best.value > vote.value + 0.01
    assert model.shares == pytest.approx([0.5, 0.3, 0.2], abs=0.03)
    # The last rater: right 90% of the time, and a third of the rest by luck.
    assert np.diag(model.confusion[-1]) == pytest.approx([0.9 + 0.1 / 3] * 3, abs=0.03)


def test_shares_of_classes_have_intervals_from_fits_without_each_unit() -> None:
    """By hand: the model fitted without each of 40 units; 39/40 of the sum of squares, t with 39 degrees of freedom."""
    _, labels = noisy_labels(units=40)
    whole = dawid_skene(labels).shares[0]
    without = [dawid_skene(np.delete(labels, unit, axis=0)).shares[0] for unit in range(40)]
    variance = 39 / 40 * sum((share - whole) ** 2 for share in without)
    estimate = class_shares(labels, groups=40)[0.0]
    ends = [math.log(end / (1 - end)) for end in (estimate.low, estimate.high)]
    half = stats.t.ppf(0.975, 39) * math.sqrt(variance) / (whole * (1 - whole))
    assert (ends[1] - ends[0]) / 2 == pytest.approx(half, rel=1e-6)
    assert 0 < estimate.low < estimate.value < estimate.high < 1
    few = class_shares([["a", "a", "b"], ["b", "b", "b"], ["a", "b", "a"]])["a"]
    assert math.isnan(few.low) and "no interval" in few.note


def test_one_gives_the_likelihood_and_it_never_falls() -> None:
    _, labels = noisy_labels()
    path = [dawid_skene(labels, iterations=n, tolerance=-math.inf).log_likelihood for n in range(1, 30)]
    assert (np.diff(path) > -1e-9).all()
    p, pi, _ = literal_em(labels, 5)
    joint = [[p[k] * np.prod([pi[r, k, row[r]] for r in range(5)]) for k in range(3)] for row in labels]
    assert path[4] == pytest.approx(np.log(np.sum(joint, axis=1)).sum(), abs=1e-9)


def test_units_without_ratings_have_no_label() -> None:
    model = dawid_skene([["a", "a", "b"], [None] * 3, ["b", "b", "b"]])  # type: ignore[arg-type]
    assert np.isnan(model.posterior[1]).all()
    assert model.labels().isna().iloc[1].all()


def test_repeated_ratings_by_one_rater_all_count() -> None:
    unit, rater = [1, 1, 1, 2, 2], ["x", "x", "y", "x", "y"]
    model = dawid_skene(ratings_from_arrays(unit, rater, ["a", "a", "b", "b", "b"], repeats=True), iterations=1)
    assert model.shares == pytest.approx([1 / 3, 2 / 3])


def test_em_that_does_not_converge_says_so() -> None:
    _, labels = noisy_labels()
    model = dawid_skene(labels, iterations=2)
    assert not model.converged


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([[NAN, NAN]], {}, "no ratings"),
        ([[1], [2]], {}, "only one rater"),
        ([[1, 1], [1, 1]], {}, "same value"),
        ([[1, 2]], {"smoothing": -1}, "smoothing"),
        ([[1, 2]], {"iterations": 0}, "iterations"),
    ],
)
def test_labels_that_teach_nothing_are_refused(labels: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dawid_skene(labels, **options)
