"""Systems whose samples were shown together: scores, agreement and entropy, worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from analysis.agreement import fleiss_kappa, ratings_from_arrays
from analysis.diversity.resampling import Bootstrap
from analysis.estimate import Estimate
from analysis.inference import Dimensions
from analysis.preference import (
    Choices,
    Comparisons,
    binomial_test,
    bradley_terry,
    comparison_dimensions,
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
from tests.analysis.support.two_way import reference_spread

PLAN = Bootstrap(draws=400, seed=3)


def test_five_ratings_give_twenty_ordered_pairs() -> None:
    """Example 1. Ratings 5, 4, 4, 2, 1: A beats four, B and C beat two, tie once, lose once, D 1:3, E 0:4."""
    found = comparisons_from_ratings(["t"] * 5, list("ABCDE"), [5, 4, 4, 2, 1])
    scores = system_scores(found, Dimensions.of(tasks=["t"] * len(found)))

    assert len(found) == 10
    values = {name: each.value for name, each in scores.estimates.items()}
    assert values == {"A": 1.0, "B": 0.25, "C": 0.25, "D": -0.5, "E": -1.0}
    assert sum(scores.pairs.values()) == 20
    # One task says nothing of others.
    assert all(
        each.note == "an interval needs at least 5 tasks, and there is only 1" for each in scores.estimates.values()
    )
    assert list(scores.ranking.ranks) == [(1, 1, 5), (2, 1, 5), (2, 1, 5), (4, 1, 5), (5, 1, 5)]
    assert ranked(scores.estimates) == list("ABCDE")


def test_scores_weighted_by_their_pairs_sum_to_zero() -> None:
    """Example 2. Task 1: A 3, B 2. Task 2: A 1, B 2, C 2. A: +1, −1, −1; B: −1, +1, 0; C: +1, 0."""
    tasks, systems = [1, 1, 2, 2, 2], list("ABABC")
    found = comparisons_from_ratings(tasks, systems, [3, 2, 1, 2, 2])
    scores = system_scores(found, Dimensions.of(tasks=np.asarray(tasks)[found.left]))

    assert {name: each.value for name, each in scores.estimates.items()} == {
        "A": pytest.approx(-1 / 3),
        "B": 0.0,
        "C": 0.5,
    }
    assert scores.pairs == {"A": 3, "B": 3, "C": 2}
    assert sum(scores.estimates[name].value * scores.pairs[name] for name in "ABC") == pytest.approx(0)
    assert [scores.estimates[name].n for name in "ABC"] == [3, 3, 2]


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


def rated_texts(
    rng: np.random.Generator, *, contexts: int, texts: int, workers: int = 12, raters: int = 5, sd: float = 1.0
) -> tuple[Comparisons, Dimensions]:
    """Four equal systems with ``texts`` per context. Every worker of a task rates its four texts, of one context. Texts
    have effects, and so have system × context (if there are several) and system × worker."""
    by_context = rng.normal(0, 0.5 if contexts > 1 else 0.0, (contexts, 4))
    by_text, by_worker = rng.normal(0, sd, (contexts, texts, 4)), rng.normal(0, 0.5, (workers, 4))
    context, text, of, system = (each.ravel() for each in np.indices((contexts, texts, raters, 4)))
    who = np.array([rng.permutation(workers)[:raters] for _ in range(contexts * texts)])
    worker = who[context * texts + text, of]
    effects = by_context[context, system] + by_text[context, text, system] + by_worker[worker, system]
    values = np.clip(np.round(3 + 0.7 * (effects + rng.logistic(size=len(system)))), 1, 5)
    task = (context * texts + text) * workers + worker
    found = comparisons_from_ratings(task, system, values)
    names = (context * texts + text) * 4 + system
    return found, comparison_dimensions(found, workers=worker, texts=names, contexts=context)


@pytest.mark.parametrize(("contexts", "texts", "about"), [(12, 1, "contexts"), (1, 20, "texts")])
def test_equal_systems_are_rarely_told_apart(contexts: int, texts: int, about: str) -> None:
    """150 studies: 7.5 expected by each test, s.d. 2.7. Clustered by submission alone, a fifth of tests are wrong."""
    rng = np.random.default_rng(6)
    rejected = apart = strengths_apart = 0
    for _ in range(150):
        found, dimensions = rated_texts(rng, contexts=contexts, texts=texts)
        scores = system_scores(found, dimensions)
        rejected += scores.figures.p_difference(0, 1, bounds=(-2, 2)) < 0.05
        apart += any((low, high) != (1, 4) for _, low, high in scores.ranking.ranks)
        fit = bradley_terry(found, dimensions=dimensions)
        strengths_apart += any((low, high) != (1, 4) for _, low, high in fit.ranks.values())
    assert about in dimensions.codes
    assert max(rejected, apart, strengths_apart) <= 15


def test_a_score_has_the_two_way_interval_by_moments() -> None:
    found, dimensions = rated_texts(np.random.default_rng(2), contexts=15, texts=1)
    score = system_scores(found, dimensions).estimates["0"]
    rows = (found.first == 0) | (found.second == 0)
    outcome = np.where(found.first == 0, found.outcome, -found.outcome)[rows]
    codes = [dimensions.codes[name][rows] for name in ("contexts", "workers")]
    reference = reference_spread(outcome, *codes)
    mean = outcome.mean()
    half = stats.t.ppf(0.975, reference.freedom) * math.sqrt(reference.variance) / (1 - mean**2)
    assert (score.low, score.high) == pytest.approx(
        (math.tanh(math.atanh(mean) - half), math.tanh(math.atanh(mean) + half))
    )


def test_with_two_systems_one_score_is_minus_the_other() -> None:
    tasks, systems = np.repeat(np.arange(12), 2), list("AB") * 12
    found = comparisons_from_ratings(tasks, systems, np.tile([2.0, 1.0, 1.0, 2.0, 2.0, 1.0], 4))
    scores = system_scores(found, Dimensions.of(tasks=tasks[found.left]))
    apart = scores.difference("A", "B")
    assert apart.value == pytest.approx(2 * scores.estimates["A"].value)
    assert apart.low == pytest.approx(2 * scores.estimates["A"].low)


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
    found = pair_fleiss(list("aaacc"), list("bbbdd"), [1, 1, 0, -1, -1], list("xyzxy"))
    assert found.value == pytest.approx((2 / 3 - 0.36) / 0.64)
    assert (found.n, found.n_of) == (2, "pairs")


def test_which_sample_comes_first_changes_nothing() -> None:
    turned = pair_fleiss(list("baadc"), list("abbcd"), [-1, 1, 0, 1, -1], list("xyzxy"))
    assert turned.value == pytest.approx((2 / 3 - 0.36) / 0.64)


def test_kappa_of_pairs_is_fleiss_kappa_of_both_orders() -> None:
    """Reference: `fleiss_kappa`, which is checked against statsmodels, on every pair in either order."""
    rng = np.random.default_rng(5)
    pair, rater = np.repeat(np.arange(60), 5), np.tile(np.arange(5), 60)
    keep = rng.random(300) < 0.8
    pair, rater, outcome = pair[keep], rater[keep], rng.integers(-1, 2, 300)[keep]
    first, second = [f"{at}a" for at in pair], [f"{at}b" for at in pair]
    found = pair_fleiss(first, second, outcome, rater)
    both = ratings_from_arrays(
        np.concatenate([pair, pair + 100]), np.tile(rater, 2), np.concatenate([outcome, -outcome]).astype(float)
    )
    assert found.value == pytest.approx(fleiss_kappa(both, interval=False).value, abs=1e-12)


def test_kappa_of_pools_by_hand() -> None:
    """Example 8. Pool x: ab +, cd 0, ef −. Pool y: ab +, cd +, ef −. P_o = 2/3. Ties: 1/3 and 0; so
    P_e = 0 + 2 · (1/3 · 1/2) = 1/3. κ = 1/2. Pair gh was rated by one pool."""
    first, second = list("aceaceg"), list("bdfbdfh")
    found = pair_cohen(first, second, [1, 0, -1, 1, 1, -1, 1], list("pppqqqp"), list("xxxyyyx"))
    assert found.value == pytest.approx(0.5)
    assert found.n == 3 and "1 pairs" in found.note


def test_agreement_that_cannot_be_estimated_says_why() -> None:
    with pytest.raises(ValueError, match="no pair of samples was rated by two people"):
        pair_fleiss(["a"], ["b"], [1], ["w"])
    with pytest.raises(ValueError, match="two pools, not 1"):
        pair_cohen(["a"], ["b"], [1], ["w"], ["x"])
    with pytest.raises(ValueError, match="in two clusters"):
        pair_fleiss(["a", "a"], ["b", "b"], [1, 1], ["v", "w"], clusters=[1, 2])
    ties = pair_fleiss(["a", "a"], ["b", "b"], [0, 0], ["v", "w"])
    assert math.isnan(ties.value) and ties.note == "every rating is a tie"


def test_the_interval_of_pairs_leaves_out_contexts_and_workers_as_one_would_by_hand() -> None:
    rng = np.random.default_rng(6)
    pair, rater = np.repeat(np.arange(40), 4), np.concatenate([rng.permutation(9)[:4] for _ in range(40)])
    outcome = np.where(rng.random(160) < 0.6, np.repeat(rng.integers(-1, 2, 40), 4), rng.integers(-1, 2, 160))
    first, second, context = np.char.add("a", pair.astype(str)), np.char.add("b", pair.astype(str)), pair // 4

    def without(mask: npt.NDArray[np.bool_]) -> float:
        kept = ~mask
        return pair_fleiss(first[kept], second[kept], outcome[kept], rater[kept]).value

    whole = without(np.zeros(160, dtype=bool))
    parts = [
        [without(context == name) for name in range(10)],
        [without(rater == name) for name in range(9)],
        [
            without((context == one) & (rater == two))
            for one in range(10)
            for two in set(rater[context == one].tolist())
        ],
    ]
    away = [[2 * math.atanh(figure) - 2 * math.atanh(whole) for figure in part] for part in parts]
    spread = [(len(part) - 1) / len(part) * sum(step**2 for step in part) for part in away]
    bias = [(len(part) - 1) / len(part) * sum(part) for part in away]
    estimate = pair_fleiss(first, second, outcome, rater, clusters=context)
    ends = [2 * math.atanh(end) for end in (estimate.low, estimate.high)]
    half = stats.t.ppf(0.975, 8) * math.sqrt(max(spread[0] + spread[1] - spread[2], spread[0]))
    centre = 2 * math.atanh(whole) - (bias[0] + bias[1] - bias[2])
    assert ends == pytest.approx([centre - half, centre + half], rel=1e-6)
    assert (
        estimate.method
        == "jackknife over 10 clusters and 9 raters; 89 to 100% of such 95% intervals are right in simulations"
    )


# --- quality and diversity ---


def test_entropy_is_averaged_over_contexts() -> None:
    """Example 9. Context 1: −(−1 − 3)/2 = 2; context 2: 6. Mean 4, though context 1 has more samples."""
    found = system_entropy(["A"] * 4, [1, 1, 2, 2], [-1, -3, -6, math.nan])
    assert found["A"].value == 4
    assert (found["A"].n, found["A"].n_of) == (2, "contexts")
    assert found["A"].note == "an interval needs at least 5 contexts, and there are only 2"


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
