"""Weighted rank correlation and best-threshold accuracy against SciPy and brute force on the samples written out."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.diversity.association import oca_draws, pearson_draws, spearman_draws, weighted_ranks

# Few different values, so that ties are the rule.
SAMPLES = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3), st.integers(0, 1)), min_size=3, max_size=12
).filter(lambda rows: sum(weight for _, _, weight, _ in rows) > 2)


def written_out(rows: list[tuple[int, ...]]) -> tuple[np.ndarray, ...]:
    columns = np.array(rows, dtype=float).T
    return tuple(np.repeat(column, columns[2].astype(int)) for column in (columns[0], columns[1], columns[3]))


def both_shapes(values: np.ndarray) -> list[np.ndarray]:
    return [values, values[None, :]]


@given(SAMPLES)
@settings(deadline=None)
def test_correlations_of_weighted_samples_are_scipys(rows: list[tuple[int, ...]]) -> None:
    x, y, weights, _ = np.array(rows, dtype=float).T
    left, right, _ = written_out(rows)
    for one, two in zip(both_shapes(x), both_shapes(y), strict=True):
        rho = spearman_draws(one, two, weights[None, :])[0]
        r = pearson_draws(one, two, weights[None, :])[0]
        if len(set(left)) == 1 or len(set(right)) == 1:
            assert math.isnan(rho)
            assert math.isnan(r)
        else:
            assert rho == pytest.approx(stats.spearmanr(left, right).statistic, abs=1e-12)
            assert r == pytest.approx(stats.pearsonr(left, right).statistic, abs=1e-12)


@given(SAMPLES)
def test_ranks_of_unweighted_samples_are_scipys(rows: list[tuple[int, ...]]) -> None:
    x = np.array(rows, dtype=float)[:, 0]
    assert weighted_ranks(x, np.ones((2, len(x)))).tolist() == [stats.rankdata(x).tolist()] * 2


def best_accuracy(scores: np.ndarray, high: np.ndarray, sides: tuple[int, ...]) -> float:
    """Tries every cut in these directions."""
    cuts = [-math.inf, *scores, math.inf]
    return max(float(np.mean((scores >= cut) == (high == side))) for cut in cuts for side in sides)


@given(SAMPLES)
@settings(deadline=None)
def test_oca_of_weighted_samples_is_that_of_brute_force(rows: list[tuple[int, ...]]) -> None:
    x, _, weights, high = np.array(rows, dtype=float).T
    left, _, label = written_out(rows)
    for scores in both_shapes(x):
        for either, sides in ((True, (0, 1)), (False, (1,))):
            oca = oca_draws(scores, high.astype(bool), weights[None, :], either=either)[0]
            if len(set(label)) == 1:
                assert math.isnan(oca)
            else:
                assert oca == pytest.approx(best_accuracy(left, label, sides), abs=1e-12)


def test_draws_do_not_mix() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    y = np.array([1.0, 3.0, 2.0, 0.0])
    weights = np.array([[1.0, 1, 1, 0], [0, 1, 1, 1], [1, 1, 1, 1]])
    expected = [stats.spearmanr(x[row > 0], y[row > 0]).statistic for row in weights]
    assert spearman_draws(x, y, weights) == pytest.approx(expected)


def test_a_constant_that_binary_cannot_hold_is_constant() -> None:
    # The mean of three times 0.1 is not 0.1 in floating point.
    ones = np.ones((1, 3))
    assert math.isnan(pearson_draws(np.full(3, 0.1), np.array([1.0, 2.0, 4.0]), ones)[0])


def test_pearson_of_large_values_close_together() -> None:
    x, y = 1e8 + np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 4.0])
    assert pearson_draws(x, y, np.ones((1, 3)))[0] == pytest.approx(1)
