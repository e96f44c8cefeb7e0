"""Bradley–Terry strengths with ties: closed forms, choix, a literal likelihood, graphs without an answer."""

from __future__ import annotations

import math

import choix
import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from statsmodels.discrete.discrete_model import Logit
from statsmodels.stats.sandwich_covariance import cov_cluster

from analysis.inference import Dimensions
from analysis.preference import Comparisons, bradley_terry, comparisons_from_choices, comparisons_from_ratings


def counted(*rows: tuple[str, str, int, int, int]) -> Comparisons:
    """Comparisons from (first, second, wins, ties, losses)."""
    first, second, outcome = [], [], []
    for one, two, *counts in rows:
        for value, times in zip((1, 0, -1), counts, strict=True):
            first += [one] * times
            second += [two] * times
            outcome += [value] * times
    return comparisons_from_choices(first, second, outcome)


def simulated(rng: np.random.Generator, systems: int, pairs: list[tuple[int, int]], nu: float) -> Comparisons:
    """One comparison per pair, drawn from Davidson's model as the paper states it."""
    strength = np.exp(rng.normal(size=systems))
    outcome = []
    for i, j in pairs:
        parts = np.array([strength[i], nu * math.sqrt(strength[i] * strength[j]), strength[j]])
        outcome.append(int(rng.choice([1, 0, -1], p=parts / parts.sum())))
    return comparisons_from_choices([f"s{i:02d}" for i, _ in pairs], [f"s{j:02d}" for _, j in pairs], outcome)


def values(comparisons: Comparisons, *, prior_sd: float | None = None) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([each.value for each in bradley_terry(comparisons, prior_sd=prior_sd).strengths.values()])


def test_two_systems_have_a_closed_form() -> None:
    """Saturated: θ_A − θ_B = log(wins / losses), ν = ties / √(wins · losses)."""
    found = bradley_terry(counted(("A", "B", 8, 6, 2)))
    assert found.strengths["A"].value == pytest.approx(math.log(4) / 2)
    assert found.strengths["B"].value == pytest.approx(-math.log(4) / 2)
    assert found.ties.value == pytest.approx(6 / 4)
    assert found.probabilities("A", "B") == pytest.approx((0.5, 0.375, 0.125))
    assert found.log_likelihood == pytest.approx(8 * math.log(0.5) + 6 * math.log(0.375) + 2 * math.log(0.125))


def test_the_interval_of_two_systems_has_a_closed_form() -> None:
    """Without ties, the variance of a log odds is 1/wins + 1/losses; θ_A is half of it."""
    found = bradley_terry(counted(("A", "B", 30, 0, 10))).strengths["A"]
    half = 1.959964 * math.sqrt(1 / 30 + 1 / 10) / 2
    assert (found.low, found.high) == pytest.approx((math.log(3) / 2 - half, math.log(3) / 2 + half), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_equal_to_choix_on_dense_and_sparse_graphs(seed: int) -> None:
    """Reference: choix (Maystre), maximum likelihood by iterated Luce spectral ranking."""
    rng = np.random.default_rng(seed)
    ring = [(i, (i + 1) % 12) for i in range(12) for _ in range(40)]
    every = [(i, j) for i in range(12) for j in range(i) for _ in range(6)]
    for pairs in (ring, every):
        found = simulated(rng, 12, pairs, 0.0)
        data = [(int(a), int(b)) if o > 0 else (int(b), int(a)) for a, b, o in zip(
            found.first, found.second, found.outcome, strict=True)]  # fmt: skip
        reference = choix.ilsr_pairwise(12, data, alpha=0, max_iter=10_000, tol=1e-10)
        assert values(found) == pytest.approx(reference, abs=1e-6)


def test_equal_to_choix_with_a_prior() -> None:
    """choix adds α Σθ² to the loss; a normal prior adds Σθ² / 2σ². The graph is split and C never wins."""
    found = counted(("A", "B", 3, 0, 1), ("B", "C", 2, 0, 0), ("D", "E", 1, 0, 1))
    data = [(0, 1)] * 3 + [(1, 0)] + [(1, 2)] * 2 + [(3, 4), (4, 3)]
    reference = choix.opt_pairwise(5, data, alpha=1 / (2 * 1.5**2), tol=1e-12)
    assert values(found, prior_sd=1.5) == pytest.approx(reference, abs=1e-6)


def test_converges_where_strengths_lie_far_apart() -> None:
    """A chain of 20 systems, each won 200 of 201 against the next: θ falls by log 200 each time."""
    found = values(counted(*((f"s{at:02d}", f"s{at + 1:02d}", 200, 0, 1) for at in range(19))))
    assert np.diff(found) == pytest.approx(np.full(19, -math.log(200)), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_ties_have_the_highest_likelihood(seed: int) -> None:
    """Davidson's likelihood, written as in the paper and maximised by SciPy without derivatives of ours."""
    rng = np.random.default_rng(seed)
    found = simulated(rng, 5, [(i, j) for i in range(5) for j in range(i) for _ in range(30)], 0.8)

    def loss(free: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        pi, nu = np.exp(np.append(free[:4], -free[:4].sum())), math.exp(free[4])
        a, b = pi[found.first], pi[found.second]
        root = nu * np.sqrt(a * b)
        top = np.where(found.outcome == 1, a, np.where(found.outcome == -1, b, root))
        return float(-np.log(top / (a + b + root)).sum())

    best = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-8})
    fitted = bradley_terry(found)
    assert fitted.log_likelihood == pytest.approx(-best.fun, abs=1e-8)
    assert [each.value for each in fitted.strengths.values()][:4] == pytest.approx(best.x[:4], abs=1e-4)
    assert fitted.ties.value == pytest.approx(math.exp(best.x[4]), abs=1e-4)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("A", "B", 1, 0, 1), ("C", "A", 0, 0, 3)], "“C” never won or tied .* no finite strength is low enough"),
        ([("A", "B", 1, 0, 1), ("C", "A", 3, 0, 0)], "“C” never lost or tied .* no finite strength is high enough"),
        ([("A", "B", 1, 0, 1), ("C", "D", 1, 0, 1)], "fall into 2 parts .* “A”, “B”"),
        ([("A", "B", 1, 0, 1), ("C", "D", 1, 0, 1), ("A", "C", 9, 0, 0)], "“C”, “D” never won or tied"),
        ([("A", "B", 0, 4, 0)], "too few wins for the number of ties"),
        ([("A", "B", 3, 2, 0)], "too few wins for the number of ties"),
    ],
)
def test_graphs_without_finite_strengths_are_refused_or_regularised(
    rows: list[tuple[str, str, int, int, int]], message: str
) -> None:
    comparisons = counted(*rows)
    with pytest.raises(ValueError, match=message):
        bradley_terry(comparisons)
    found = bradley_terry(comparisons, prior_sd=2)
    assert all(math.isfinite(each.low) and abs(each.value) < 10 for each in found.strengths.values())
    assert "normal prior of s.d. 2" in found.strengths["A"].method


def test_a_few_ties_and_a_cycle_of_wins_have_an_answer() -> None:
    """Existence needs a cycle with more wins than ties, and A > B > C > A is one."""
    found = bradley_terry(counted(("A", "B", 1, 1, 0), ("B", "C", 1, 1, 0), ("C", "A", 1, 1, 0)))
    assert [each.value for each in found.strengths.values()] == pytest.approx([0, 0, 0], abs=1e-8)
    # By symmetry every comparison ties with probability one half: ν / (2 + ν) = 1/2.
    assert found.ties.value == pytest.approx(2)


def test_ranks_hold_what_the_data_can_tell_apart() -> None:
    found = bradley_terry(counted(("A", "B", 500, 0, 50), ("B", "C", 21, 0, 20), ("A", "C", 500, 0, 50)))
    assert found.ranks["A"] == (1, 1, 1)
    assert found.ranks["B"][1:] == found.ranks["C"][1:] == (2, 3)


def test_clusters_widen_intervals_of_repeated_comparisons() -> None:
    """Every comparison four times over: the sandwich over the originals is that of one copy, twice as wide as Wald."""
    rng = np.random.default_rng(2)
    tasks = np.repeat(np.arange(200), 3)
    ratings = rng.integers(1, 6, 600) + np.tile([0, 1, 1], 200)
    once = comparisons_from_ratings(tasks, np.tile(list("ABC"), 200), ratings)
    many = comparisons_from_ratings(
        np.concatenate([tasks + 1000 * copy for copy in range(4)]),
        np.tile(list("ABC"), 800),
        np.tile(ratings, 4),
    )
    origin = np.tile(tasks, 4)[many.left]
    alone = bradley_terry(once, dimensions=Dimensions.of(tasks=tasks[once.left])).strengths["A"]
    repeated = bradley_terry(many, dimensions=Dimensions.of(tasks=origin)).strengths["A"]
    naive = bradley_terry(many).strengths["A"]
    assert (repeated.low, repeated.high) == pytest.approx((alone.low, alone.high), abs=1e-6)
    assert repeated.high - repeated.low > 1.5 * (naive.high - naive.low)
    assert (repeated.n, repeated.n_of) == (2400, "comparisons") and "200 tasks" in repeated.method


def test_the_sandwich_is_that_of_a_logit() -> None:
    """Without ties, Bradley and Terry's model of two systems is a logit with a constant: statsmodels' clusters."""
    rng = np.random.default_rng(9)
    task = np.repeat(np.arange(30), 6)
    won = rng.random(180) < 1 / (1 + np.exp(-rng.normal(0.5, 1, 30)[task]))
    found = comparisons_from_choices(["A"] * 180, ["B"] * 180, np.where(won, 1, -1))
    strength = bradley_terry(found, dimensions=Dimensions.of(tasks=task)).strengths["A"]
    fit = Logit(won.astype(float), np.ones(180)).fit(disp=0)
    error = math.sqrt(cov_cluster(fit, task, use_correction=False)[0, 0] * 30 / 29)
    half = stats.t.ppf(0.975, 29) * error / 2  # a strength is half of the log odds
    assert strength.value == pytest.approx(fit.params[0] / 2, abs=1e-6)
    assert (strength.high - strength.low) / 2 == pytest.approx(half, rel=1e-5)


def test_bad_options_are_refused() -> None:
    comparisons = counted(("A", "B", 2, 0, 1))
    with pytest.raises(ValueError, match="prior_sd must be above 0"):
        bradley_terry(comparisons, prior_sd=0)
    with pytest.raises(ValueError, match="each of the 3 comparisons"):
        bradley_terry(comparisons, dimensions=Dimensions.of(tasks=["x"] * 2))
