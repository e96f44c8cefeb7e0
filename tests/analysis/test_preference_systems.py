"""Systems whose samples were shown together: scores, agreement and entropy, worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from analysis.agreement import fleiss_kappa, ratings_from_arrays
from analysis.diversity.resampling import Bootstrap
from analysis.estimate import Estimate
from analysis.preference import (
    Choices,
    binomial_test,
    comparisons_from_choices,
    comparisons_from_ratings,
    outcome_table,
    pair_cohen,
    pair_fleiss,
    quality_diversity,
    ranked,
    system_entropy,
    system_scores,
    win_share,
)

PLAN = Bootstrap(draws=400, seed=3)


def test_five_ratings_give_twenty_ordered_pairs() -> None:
    """Example 1. Ratings 5, 4, 4, 2, 1: A beats four, B and C beat two, tie once, lose once, D 1:3, E 0:4."""
    found = comparisons_from_ratings(["t"] * 5, list("ABCDE"), [5, 4, 4, 2, 1])
    scores = system_scores(found, ["t"] * len(found), plan=PLAN, n_of="tasks")

    assert len(found) == 10
    values = {name: each.value for name, each in scores.estimates.items()}
    assert values == {"A": 1.0, "B": 0.25, "C": 0.25, "D": -0.5, "E": -1.0}
    assert sum(scores.pairs.values()) == 20
    # One task cannot be resampled.
    assert all(math.isnan(each.low) for each in scores.estimates.values())
    assert ranked(scores.estimates) == list("ABCDE")


def test_scores_weighted_by_their_pairs_sum_to_zero() -> None:
    """Example 2. Task 1: A 3, B 2. Task 2: A 1, B 2, C 2. A: +1, −1, −1; B: −1, +1, 0; C: +1, 0."""
    tasks, systems = [1, 1, 2, 2, 2], list("ABABC")
    found = comparisons_from_ratings(tasks, systems, [3, 2, 1, 2, 2])
    scores = system_scores(found, np.asarray(tasks)[found.left], plan=PLAN, n_of="tasks")

    assert {name: each.value for name, each in scores.estimates.items()} == {
        "A": pytest.approx(-1 / 3),
        "B": 0.0,
        "C": 0.5,
    }
    assert scores.pairs == {"A": 3, "B": 3, "C": 2}
    assert sum(scores.estimates[name].value * scores.pairs[name] for name in "ABC") == pytest.approx(0)
    assert [scores.estimates[name].n for name in "ABC"] == [2, 2, 1]


def test_wins_ties_and_losses_by_pair_of_systems() -> None:
    """Example 3. The same two tasks."""
    found = outcome_table(comparisons_from_ratings([1, 1, 2, 2, 2], list("ABABC"), [3, 2, 1, 2, 2]))
    assert found.values.tolist() == [["A", "B", 1, 0, 1, 0.0], ["A", "C", 0, 0, 1, -1.0], ["B", "C", 0, 1, 0, 0.0]]


def test_samples_of_one_system_and_missing_ratings_make_no_comparison() -> None:
    """Example 4. Two samples of A and one of B: two comparisons, and one pair of A with itself. NaN and a task with one
    rating add nothing."""
    found = comparisons_from_ratings([1, 1, 1, 1, 2], list("AABCA"), [2, 3, 1, math.nan, 5])
    assert (len(found), found.same_system, found.alone) == (2, 1, 1)
    assert found.outcome.tolist() == [1, 1]
    assert found.systems == ("A", "B", "C")


def test_the_interval_is_that_of_literal_resampling() -> None:
    rng = np.random.default_rng(8)
    tasks = np.repeat(np.arange(40), 3)
    systems = np.array([rng.permutation(list("ABCD"))[:3] for _ in range(40)]).ravel()
    values = rng.integers(1, 6, 120).astype(float)
    found = comparisons_from_ratings(tasks, systems, values)
    scores = system_scores(found, tasks[found.left], plan=Bootstrap(draws=4000, seed=1), n_of="tasks")

    literal = []
    for _ in range(2000):
        total, n = 0.0, 0
        for task in rng.integers(40, size=40):
            mine = dict(zip(systems[tasks == task], values[tasks == task], strict=True))
            if "A" in mine:
                total += sum(np.sign(mine["A"] - other) for name, other in mine.items() if name != "A")
                n += len(mine) - 1
        literal.append(total / n)
    low, high = np.quantile(literal, [0.025, 0.975])
    assert (scores.estimates["A"].low, scores.estimates["A"].high) == pytest.approx((low, high), abs=0.03)


def test_the_same_seed_gives_the_same_numbers_and_a_difference_uses_the_same_draws() -> None:
    tasks, systems = np.repeat(np.arange(12), 2), list("AB") * 12
    values = np.tile([2.0, 1.0, 1.0, 2.0, 2.0, 1.0], 4)
    found = comparisons_from_ratings(tasks, systems, values)
    one, two = (system_scores(found, tasks[found.left], plan=PLAN, n_of="tasks") for _ in range(2))
    assert one.estimates == two.estimates
    # With two systems B's score is minus A's in every draw.
    apart = one.difference("A", "B")
    assert apart.value == pytest.approx(2 * one.estimates["A"].value)
    assert apart.low == pytest.approx(2 * one.estimates["A"].low)


@pytest.mark.parametrize(
    ("tasks", "systems", "values", "message"),
    [
        ([1, 1], ["A"], [1, 2], "equal length"),
        ([1, 1], ["A", "B"], [1, math.inf], "infinite"),
        ([1, 2], ["A", "B"], [1, 2], "no task has ratings of two systems"),
        ([1, 1], ["A", "A"], [1, 2], "no task has ratings of two systems"),
    ],
)
def test_ratings_that_compare_nothing_are_refused(
    tasks: list[int], systems: list[str], values: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        comparisons_from_ratings(tasks, systems, values)


def test_forced_choices_are_comparisons_too() -> None:
    """Example 5."""
    found = comparisons_from_choices(["A", "B", "A", "A"], ["B", "A", "A", "B"], [1, 1, 1, math.nan])
    assert (len(found), found.same_system) == (2, 1)
    assert outcome_table(found).values.tolist() == [["A", "B", 1, 0, 1, 0.0]]
    with pytest.raises(ValueError, match="1, 0 or −1, not 2"):
        comparisons_from_choices(["A"], ["B"], [2])


def test_ties_that_count_stay_in_the_total() -> None:
    """Example 6. 6 wins, 2 ties, 2 losses: 6/10; 6 or more of 10 tosses: 386/1024, doubled."""
    counts = Choices(6, 2, 2)
    assert win_share(counts, ties="counted").value == 0.6
    assert binomial_test(counts, ties="counted") == pytest.approx(772 / 1024)


# --- agreement of pairs ---


def test_kappa_of_pairs_by_hand() -> None:
    """Example 7. Pair ab: +, +, 0 → P = 1/3. Pair cd: −, − → P = 1. In both orders 10 ratings: 2 ties, 4 +, 4 −.
    P_e = 0.04 + 0.16 + 0.16 = 0.36; κ = (2/3 − 0.36) / 0.64."""
    found = pair_fleiss(list("aaacc"), list("bbbdd"), [1, 1, 0, -1, -1], plan=PLAN)
    assert found.value == pytest.approx((2 / 3 - 0.36) / 0.64)
    assert (found.n, found.n_of) == (2, "pairs")


def test_which_sample_comes_first_changes_nothing() -> None:
    turned = pair_fleiss(list("baadc"), list("abbcd"), [-1, 1, 0, 1, -1], plan=PLAN)
    assert turned.value == pytest.approx((2 / 3 - 0.36) / 0.64)


def test_kappa_of_pairs_is_fleiss_kappa_of_both_orders() -> None:
    """Reference: `fleiss_kappa`, which is checked against statsmodels, on every pair in either order."""
    rng = np.random.default_rng(5)
    pair, rater = np.repeat(np.arange(60), 5), np.tile(np.arange(5), 60)
    keep = rng.random(300) < 0.8
    pair, rater, outcome = pair[keep], rater[keep], rng.integers(-1, 2, 300)[keep]
    first, second = [f"{at}a" for at in pair], [f"{at}b" for at in pair]
    found = pair_fleiss(first, second, outcome, plan=PLAN)
    both = ratings_from_arrays(
        np.concatenate([pair, pair + 100]), np.tile(rater, 2), np.concatenate([outcome, -outcome]).astype(float)
    )
    assert found.value == pytest.approx(fleiss_kappa(both, draws=0).value, abs=1e-12)


def test_kappa_of_pools_by_hand() -> None:
    """Example 8. Pool x: ab +, cd 0, ef −. Pool y: ab +, cd +, ef −. P_o = 2/3. Ties: 1/3 and 0; so
    P_e = 0 + 2 · (1/3 · 1/2) = 1/3. κ = 1/2. Pair gh was rated by one pool."""
    first, second = list("aceaceg"), list("bdfbdfh")
    found = pair_cohen(first, second, [1, 0, -1, 1, 1, -1, 1], list("xxxyyyx"), plan=PLAN)
    assert found.value == pytest.approx(0.5)
    assert found.n == 3 and "1 pairs" in found.note


def test_agreement_that_cannot_be_estimated_says_why() -> None:
    with pytest.raises(ValueError, match="no pair of samples was rated by two people"):
        pair_fleiss(["a"], ["b"], [1], plan=PLAN)
    with pytest.raises(ValueError, match="two pools, not 1"):
        pair_cohen(["a"], ["b"], [1], ["x"], plan=PLAN)
    with pytest.raises(ValueError, match="in two clusters"):
        pair_fleiss(["a", "a"], ["b", "b"], [1, 1], plan=PLAN, clusters=[1, 2])
    ties = pair_fleiss(["a", "a"], ["b", "b"], [0, 0], plan=PLAN)
    assert math.isnan(ties.value) and ties.note == "every rating is a tie"


# --- quality and diversity ---


def test_entropy_is_averaged_over_contexts() -> None:
    """Example 9. Context 1: −(−1 − 3)/2 = 2; context 2: 6. Mean 4, though context 1 has more samples."""
    found = system_entropy(["A"] * 4, [1, 1, 2, 2], [-1, -3, -6, math.nan], plan=PLAN)
    assert found["A"].value == 4
    assert (found["A"].n, found["A"].n_of) == (2, "contexts")
    assert (found["A"].low, found["A"].high) == (2, 6)


def test_quality_and_diversity_side_by_side() -> None:
    """Example 10. Quality falls with entropy but for one exchange: ranks 1 2 3 4 against 4 2 3 1, ρ = 1 − 6·18/60."""
    scores = {name: Estimate(value) for name, value in zip("ABCDE", [0.9, 0.1, 0.5, -0.5, 0.0], strict=True)}
    entropies = {name: Estimate(value) for name, value in zip("ABCD", [1.0, 2.0, 3.0, 4.0], strict=True)}
    found = quality_diversity(scores, entropies)
    assert [name for name, _, _ in found.points] == list("ABCD")
    assert found.spearman.value == pytest.approx(1 - 6 * (9 + 0 + 0 + 9) / 60)
    with pytest.raises(ValueError, match="both a score and an entropy"):
        quality_diversity(scores, {})


def test_systems_can_be_numbers_but_not_missing() -> None:
    found = comparisons_from_choices([1, 2], [2, 10], [1, 1])
    assert found.systems == ("1", "10", "2")
    assert outcome_table(found).values.tolist() == [["1", "2", 1, 0, 0, 1.0], ["10", "2", 0, 0, 1, -1.0]]
    missing: Any = ["A", None]
    with pytest.raises(ValueError, match="a system has no name"):
        comparisons_from_choices(missing, ["B", "A"], [1, 1])
