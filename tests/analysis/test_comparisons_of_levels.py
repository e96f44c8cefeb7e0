"""Levels compared on a criterion: means, corrected p, letters, clusters, standardised scores, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from analysis.findings import Answers, compare_levels, level_codes
from analysis.findings.letters import clusters_of, letters_of, letters_of_tests


def apart(count: int, pairs: list[tuple[int, int]]) -> np.ndarray:
    different = np.zeros((count, count), dtype=bool)
    for first, second in pairs:
        different[first, second] = different[second, first] = True
    return different


def test_letters_and_clusters_by_hand() -> None:
    """A > B > C > D, in this order; A differs from C and D, B from D. Not told apart: AB, BC, CD."""
    different = apart(4, [(0, 2), (0, 3), (1, 3)])
    assert letters_of([0, 1, 2, 3], different) == ["a", "ab", "bc", "c"]
    assert clusters_of([0, 1, 2, 3], different) == [1, 1, 1, 1]
    # Both of the best differ from both of the others: two clusters.
    different = apart(4, [(0, 2), (0, 3), (1, 2), (1, 3)])
    assert letters_of([0, 1, 2, 3], different) == ["a", "a", "b", "b"]
    assert clusters_of([0, 1, 2, 3], different) == [1, 1, 2, 2]


def test_a_level_without_any_test_has_no_letter() -> None:
    p = np.array([[1.0, 0.01, np.nan], [0.01, 1.0, np.nan], [np.nan, np.nan, 1.0]])
    assert letters_of_tests([0, 2, 1], p, 0.05) == ["a", "b", ""]


@pytest.mark.parametrize("seed", range(20))
def test_levels_share_a_letter_exactly_if_they_do_not_differ(seed: int) -> None:
    """What defines a compact letter display (Piepho 2004), and no letter more than it needs: none within another."""
    rng = np.random.default_rng(seed)
    pairs = [(first, second) for second in range(8) for first in range(second) if rng.random() < 0.4]
    different = apart(8, pairs)
    letters = letters_of(list(range(8)), different)
    for first in range(8):
        for second in range(first):
            assert bool(set(letters[first]) & set(letters[second])) != bool(different[first, second])
    columns = [{level for level in range(8) if letter in letters[level]} for letter in set("".join(letters))]
    assert not any(column < other for column in columns for other in columns)


def answers_of(values: list[float], items: list[str], workers: list[str], **more: object) -> Answers:
    return Answers.of(values, items=items, workers=workers, **more)  # type: ignore[arg-type]


def test_every_item_and_part_counts_the_same() -> None:
    """Item a: part 0 rated 1 and 3 (mean 2), part 1 rated 6: (2 + 6)/2 = 4. Item b: 10. Mean of the level: 7."""
    answers = answers_of([1, 3, 6, 10], ["a", "a", "a", "b"], ["x", "y", "x", "y"], parts=["0", "0", "1", "0"])
    weights = answers.weights(np.zeros(4, dtype=np.int64))
    assert weights.tolist() == [0.25, 0.25, 0.5, 1.0]
    assert (weights @ answers.values) / weights.sum() == 7


def test_standardised_within_workers_by_hand() -> None:
    """x gave 1, 2, 3: mean 2, s.d. 1, so −1, 0, 1. y gave 5 twice, which says nothing."""
    scores, kept = answers_of([1, 2, 3, 5, 5], list("abcab"), list("xxxyy")).standardised()
    assert scores.values.tolist() == [-1, 0, 1]
    assert kept.tolist() == [True, True, True, False, False]


def crossed(seed: int, shift: float, *, nested: bool = True) -> tuple[Answers, np.ndarray]:
    """30 items by 12 workers, three levels; each next level is ``shift`` higher. Items belong to one level, or (not
    ``nested``) to contexts that all levels share."""
    rng = np.random.default_rng(seed)
    items, workers = (index.ravel() for index in np.indices((30, 12)))
    levels = items % 3
    contexts = items // 3
    difficulty = rng.normal(0, 0.7, 30) if nested else np.repeat(rng.normal(0, 3, 10), 3)
    values = shift * levels + difficulty[items] + rng.normal(0, 0.7, 12)[workers] + rng.normal(size=360)
    return Answers.of(values, items=items, workers=workers, contexts=None if nested else contexts), levels


def test_the_best_level_is_told_apart_and_p_is_corrected() -> None:
    answers, levels = crossed(1, 2.0)
    result = compare_levels(answers, levels, ["low", "middle", "high"])
    assert [level.name for level in result.levels] == ["high", "middle", "low"]
    assert [level.letters for level in result.levels] == ["a", "b", "c"]
    assert [level.cluster for level in result.levels] == [1, 2, 3]
    assert [level.rank for level in result.levels] == [(1, 1, 1), (2, 2, 2), (3, 3, 3)]
    assert [(d.first, d.second) for d in result.differences] == [("high", "middle"), ("high", "low"), ("middle", "low")]
    tests = sorted(result.differences, key=lambda difference: difference.p)
    # Holm 1979: the smallest of three p times 3, the next times 2 if larger.
    assert tests[0].p_corrected == pytest.approx(3 * tests[0].p)
    assert tests[1].p_corrected == pytest.approx(max(3 * tests[0].p, 2 * tests[1].p))
    assert (result.levels[0].items, result.levels[0].workers, result.levels[0].answers) == (10, 12, 120)


def test_differences_from_a_reference_alone() -> None:
    answers, levels = crossed(1, 2.0)
    result = compare_levels(answers, levels, ["low", "middle", "high"], reference="middle", margin=1.0)
    assert [(d.first, d.second) for d in result.differences] == [("high", "middle"), ("low", "middle")]
    assert result.differences[0].difference.value > 0 > result.differences[1].difference.value
    assert result.family == "all differences from middle, 2"
    first = result.differences[0]
    assert first.p_equivalent > 0.5 and first.equivalent_within > first.difference.value


def test_contexts_that_levels_share_cancel_out() -> None:
    """Contexts differ ten times more than answers do; the items of one context share it. Clustered by contexts, the
    difference is as sure as a paired test over the ten contexts."""
    answers, levels = crossed(2, 1.0, nested=False)
    result = compare_levels(answers, levels, ["low", "middle", "high"])
    assert "10 contexts" in result.differences[0].difference.method
    means = np.array(
        [
            [answers.values[(levels == level) & (answers.contexts == context)].mean() for context in range(10)]
            for level in (0, 2)
        ]
    )
    paired = stats.ttest_rel(means[1], means[0])
    difference = next(d for d in result.differences if (d.first, d.second) == ("high", "low"))
    assert difference.difference.value == pytest.approx(float((means[1] - means[0]).mean()))
    low, high = paired.confidence_interval()
    assert (difference.difference.high - difference.difference.low) == pytest.approx(high - low, rel=0.6)


def test_workers_of_one_level_have_no_standardised_scores() -> None:
    answers, _ = crossed(3, 0.0)
    levels = answers.workers % 2
    result = compare_levels(answers, levels, ["a", "b"])
    assert all(level.standardised is None for level in result.levels)
    assert "No worker rated two levels" in result.notes[0]


def test_levels_that_share_neither_workers_nor_items_are_named() -> None:
    answers, _ = crossed(3, 0.0)
    split = answers.chosen((answers.workers % 2) == (answers.items % 2))
    notes = compare_levels(split, split.workers % 2, ["a", "b"]).notes
    assert "between their items" in notes[1]


def test_few_workers_have_means_without_tests() -> None:
    answers, levels = crossed(4, 2.0)
    few = answers.workers < 3
    result = compare_levels(answers.chosen(few), levels[few], ["low", "middle", "high"])
    assert math.isnan(result.differences[0].p) and math.isnan(result.differences[0].equivalent_within)
    assert result.levels[0].mean.note == "an interval needs at least 5 workers, and there are only 3"
    assert {level.letters for level in result.levels} == {""}  # a letter would say that they do not differ


def test_few_workers_who_rated_shared_contexts_have_a_test_about_items() -> None:
    """Ten contexts with all three levels, three workers: the p of SciPy's sign-flip test over contexts."""
    answers, levels = crossed(6, 1.0, nested=False)
    few = answers.workers < 3
    answers, levels = answers.chosen(few), levels[few]
    result = compare_levels(answers, levels, ["low", "middle", "high"], reference="low")
    tests = []
    for level in (2, 1):
        means = [
            [answers.values[(levels == at) & (answers.contexts == context)].mean() for context in range(10)]
            for at in (level, 0)
        ]
        differences = np.array(means[0]) - np.array(means[1])
        tests.append(
            stats.permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=10**6).pvalue
        )
    tests = [min(1.0, max(2 * min(tests), p) if p != min(tests) else 2 * p) for p in tests]
    assert [pair.p_these_workers for pair in result.differences] == pytest.approx(tests)
    assert all(math.isnan(pair.p) for pair in result.differences)


def test_equal_values_have_no_test() -> None:
    answers, levels = crossed(5, 0.0)
    result = compare_levels(
        Answers.of(np.full(360, 4.0), items=answers.items, workers=answers.workers), levels, list("abc")
    )
    assert all(math.isnan(difference.p) for difference in result.differences)
    assert result.differences[0].effect.note == "answers do not vary within levels"


@pytest.mark.parametrize(
    ("levels", "names", "reference", "message"),
    [
        (np.zeros(360, dtype=np.int64), ["a"], "", "all answers have the level a"),
        (np.full(360, -1), [], "", "no answer has a level"),
        (np.arange(360) % 200, [str(at) for at in range(200)], "", "there are 200 levels, and at most 30"),
        (np.arange(360) % 2, ["a", "b"], "c", "the reference c is no level with answers; there are a, b"),
    ],
)
def test_what_cannot_be_compared_is_refused(levels: np.ndarray, names: list[str], reference: str, message: str) -> None:
    answers, _ = crossed(1, 0.0)
    with pytest.raises(ValueError, match=message):
        compare_levels(answers, levels, names, reference=reference)


def test_levels_keep_their_order_and_numbers_sort_as_numbers() -> None:
    codes, names = level_codes(["b", "", "a", "b"], ["b"])
    assert (codes.tolist(), names) == ([0, -1, 1, 0], ("b", "a"))
    assert level_codes(["10", "9", "x"])[1] == ("9", "10", "x")
