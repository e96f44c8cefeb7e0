"""Means, variances and effects of levels: against the dense core, statsmodels, pingouin's definition and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from analysis.inference import Dimensions, LevelFigures, ratios


def crossed_answers(seed: int, *, nested: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Values, levels, items, workers: 18 items rated by 12 workers; a level has own items (nested) or rates all."""
    rng = np.random.default_rng(seed)
    items, workers = (index.ravel() for index in np.indices((18, 12)))
    levels = items % 3 if nested else workers % 2
    values = rng.normal(size=18)[items] + rng.normal(size=12)[workers] + rng.normal(size=216)
    return values, levels, items, workers


@pytest.mark.parametrize("nested", [True, False])
def test_the_sparse_sums_give_what_the_dense_ones_give(nested: bool) -> None:
    values, levels, items, workers = crossed_answers(1, nested=nested)
    weights = np.random.default_rng(2).uniform(0.5, 2, len(values))
    dimensions, count = Dimensions.of(items=items, workers=workers), int(levels.max()) + 1
    sparse = LevelFigures(values, levels, count, dimensions, weights=weights)
    below = weights[:, None] * (levels[:, None] == np.arange(count))
    dense = ratios(values[:, None] * below, below, dimensions)
    for first, second in ((0, 1), (1, 0)):
        one, other = sparse.difference(first, second), dense.difference(first, second)
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), rel=1e-12)
        assert (one.n, one.method) == (other.n, other.method)
        assert sparse.p_difference(first, second) == pytest.approx(dense.p_difference(first, second), rel=1e-10)
    assert sparse.estimate(0, bounds=(-9, 9)).low == pytest.approx(dense.estimate(0, bounds=(-9, 9)).low, rel=1e-12)


def test_cohens_d_by_hand() -> None:
    """2, 4, 6 and 1, 3: means 4 and 2, variances 4 and 2; pooled (2·4 + 1·2)/3 = 10/3; d = 2/√(10/3) = 1.0954."""
    figures = LevelFigures([2, 4, 6, 1, 3], [0, 0, 0, 1, 1], 2, Dimensions.of(workers=range(5)))
    assert figures.pooled_sd(0, 1) == pytest.approx(math.sqrt(10 / 3))
    assert figures.effect(0, 1).value == pytest.approx(1.0954, abs=5e-5)


def test_the_interval_of_d_is_that_of_independent_answers() -> None:
    """For normal answers that belong to nothing in common, the variance of d is 1/n₁ + 1/n₂ + d²/(2(n₁ + n₂))
    (Hedges & Olkin 1985, p. 86)."""
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.normal(1.0, 2.0, 4000), rng.normal(0.0, 2.0, 3000)])
    levels = np.repeat([0, 1], [4000, 3000])
    effect = LevelFigures(values, levels, 2, Dimensions.of(workers=np.arange(7000))).effect(0, 1)
    expected = math.sqrt(1 / 4000 + 1 / 3000 + effect.value**2 / (2 * 7000))
    assert (effect.high - effect.low) / 2 == pytest.approx(stats.norm.ppf(0.975) * expected, rel=0.02)


def test_equivalence_is_two_one_sided_tests() -> None:
    """Independent answers: two one-sided Welch tests with the standard error √(s₁²/n₁ + s₂²/n₂)."""
    rng = np.random.default_rng(4)
    first, second = rng.normal(0.1, 1, 60), rng.normal(0, 1.5, 40)
    levels = np.repeat([0, 1], [60, 40])
    figures = LevelFigures(np.concatenate([first, second]), levels, 2, Dimensions.of(workers=np.arange(100)))
    above = stats.ttest_ind(first + 0.8, second, equal_var=False, alternative="greater").pvalue
    below = stats.ttest_ind(first - 0.8, second, equal_var=False, alternative="less").pvalue
    assert figures.p_equivalent(0, 1, 0.8) == pytest.approx(max(above, below), rel=1e-6)
    with pytest.raises(ValueError, match="above 0"):
        figures.p_equivalent(0, 1, 0.0)


def test_a_difference_of_independent_answers_is_welchs_test() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.normal(0.5, 1, 30), rng.normal(0, 2, 20)
    figures = LevelFigures(np.concatenate([first, second]), np.repeat([0, 1], [30, 20]), 2,
                           Dimensions.of(workers=np.arange(50)))  # fmt: skip
    assert figures.p_difference(0, 1) == pytest.approx(stats.ttest_ind(first, second, equal_var=False).pvalue, rel=1e-9)


def test_levels_without_variation_or_answers_have_no_effect() -> None:
    same = LevelFigures([1, 1, 2, 2], [0, 0, 1, 1], 3, Dimensions.of(workers=[0, 1, 2, 3]))
    assert same.effect(0, 1).note == "answers do not vary within levels"
    assert same.effect(0, 2).note == "a level has no answers"
    assert math.isnan(same.estimate(2).value)


def test_wrong_input_is_refused() -> None:
    one = Dimensions.of(workers=[0, 1])
    with pytest.raises(ValueError, match="one entry for each answer"):
        LevelFigures([1], [0], 1, one)
    with pytest.raises(ValueError, match="is missing"):
        LevelFigures([1, math.nan], [0, 0], 1, one)
    with pytest.raises(ValueError, match="none of the 1"):
        LevelFigures([1, 2], [0, 1], 1, one)
