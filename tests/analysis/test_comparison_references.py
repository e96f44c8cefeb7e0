"""Effects, equivalence, Holm's correction, rank sums and shares, against pingouin, R and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from analysis.findings.wmt import rank_sum_p
from analysis.inference import Dimensions, LevelFigures, holm

FIRST = [3, 4, 4, 5, 2, 5, 4, 3, 4, 5]
SECOND = [2, 3, 3, 4, 2, 1, 3, 4, 2, 3, 2, 2]


def independent() -> LevelFigures:
    """One answer by every worker, about nothing in common."""
    levels = np.repeat([0, 1], [len(FIRST), len(SECOND)])
    return LevelFigures([*FIRST, *SECOND], levels, 2, Dimensions.of(workers=np.arange(len(levels))))


def test_cohens_d_is_that_of_pingouin() -> None:
    """pingouin 0.7.0: compute_effsize(x, y, eftype="cohen")."""
    assert independent().effect(0, 1).value == pytest.approx(1.3950109331420686, rel=1e-12)


def test_equivalence_of_independent_answers_is_that_of_pingouin_and_statsmodels() -> None:
    """pingouin 0.7.0: tost(x, y, bound=2, correction=True), with 18.451054 degrees of freedom."""
    figures = independent()
    assert figures.p_equivalent(0, 1, 2.0) == pytest.approx(0.05540361518750101, rel=1e-9)
    assert figures.spread(figures.weights_of(0, 1)).freedom == pytest.approx(18.45105399850693, rel=1e-9)
    for margin in (0.5, 1.0, 3.0):
        reference = ttost_ind(np.array(FIRST), np.array(SECOND), -margin, margin, usevar="unequal")[0]
        assert figures.p_equivalent(0, 1, margin) == pytest.approx(reference, rel=1e-9)


def test_equivalence_of_pairs_is_that_of_pingouin_and_statsmodels() -> None:
    """The example in pingouin's documentation: tost(a, b, bound=0.5, paired=True) has p = 0.954854."""
    a, b = [4, 7, 8, 6, 3, 2], [6, 8, 7, 10, 11, 9]
    figures = LevelFigures([*a, *b], np.repeat([0, 1], 6), 2, Dimensions.of(items=np.tile(np.arange(6), 2)))
    assert figures.p_equivalent(0, 1, 0.5) == pytest.approx(0.9548543554335551, rel=1e-9)
    reference = ttost_paired(np.array(a), np.array(b), -5, 5)[0]
    assert figures.p_equivalent(0, 1, 5.0) == pytest.approx(reference, rel=1e-9)


def test_holm_is_that_of_r() -> None:
    """R 4.2.2: p.adjust(c(.5, .003, .32, .054, .0003), "holm"); pingouin's multicomp gives the same."""
    assert holm([0.5, 0.003, 0.32, 0.054, 0.0003]) == pytest.approx([0.64, 0.012, 0.64, 0.162, 0.0015])


def test_rank_sums_are_those_of_r() -> None:
    """R 4.2.2: wilcox.test(x, y, alternative = "greater", exact = FALSE), with ties."""
    x = np.array([3.1, 4, 4.2, 5, 2.5, 5.1, 4.4, 3.3, 4, 5])
    y = np.array([2, 3, 3, 4, 2, 1, 3, 4, 2, 3, 2, 2.5])
    assert rank_sum_p(x, y) == pytest.approx(0.000881583081711, rel=1e-9)


@pytest.mark.parametrize("cluster", ["items", "workers"])
def test_shares_of_levels_are_those_of_a_marginal_logistic_model(cluster: str) -> None:
    """A logistic model with one factor has a parameter for every level, so its shares, their difference, and the
    cluster-robust errors by the delta method are those of means of 0 and 1: statsmodels' GLM, clustered one way."""
    rng = np.random.default_rng(8)
    items, workers = (index.ravel() for index in np.indices((20, 12)))
    levels = items % 2
    effects = rng.normal(0, 1, 20)[items] + rng.normal(0, 1, 12)[workers] + 0.8 * levels
    chosen = (effects + rng.logistic(size=240) > 0).astype(float)
    groups = {"items": items, "workers": workers}[cluster]
    figures = LevelFigures(chosen, levels, 2, Dimensions.of(**{cluster: groups}))
    model = sm.GLM(chosen, np.eye(2)[levels], family=sm.families.Binomial())
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    shares = fit.predict(np.eye(2))
    slopes = shares * (1 - shares) * np.array([1.0, -1.0])
    variance = float(slopes @ fit.cov_params() @ slopes)
    # Items are of one level, so each level has its own factor; workers rated both, so there is one.
    factor = 10 / 9 if cluster == "items" else 12 / 11
    difference = figures.difference(0, 1)
    assert difference.value == pytest.approx(float(shares[0] - shares[1]), abs=1e-9)
    assert figures.spread(figures.weights_of(0, 1)).variance == pytest.approx(variance * factor, rel=1e-6)
