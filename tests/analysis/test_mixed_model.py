"""The mixed model against lme4's printed figures and a balanced analysis of variance; what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis.inference import mixed
from analysis.inference.mixed import MixedModelError, fit_mixed_model

#: Diameters (mm) of six samples of penicillin, A to F, on 24 plates: Davies & Goldsmith 1972, § 6.6 (lme4: Penicillin).
PENICILLIN = """
    27 23 26 23 23 21
    27 23 26 23 23 21
    25 21 25 24 24 20
    26 23 25 23 23 20
    25 22 26 22 23 20
    24 22 25 23 22 19
    24 20 23 21 22 19
    26 22 26 24 24 21
    24 21 24 22 22 20
    24 21 24 23 22 19
    26 23 26 24 24 21
    25 22 26 24 24 20
    26 24 26 24 25 22
    26 23 26 23 23 20
    26 23 25 24 24 22
    25 22 25 23 23 20
    25 21 24 23 23 20
    25 22 24 23 23 19
    24 21 23 21 21 19
    26 23 26 24 24 21
    25 21 24 22 22 18
    25 22 25 22 22 20
    24 21 24 22 24 19
    24 21 24 22 21 18
"""


def test_the_figures_that_lme4_prints() -> None:
    """lmer(diameter ~ 1 + (1 | plate) + (1 | sample), Penicillin): standard deviations 0.8467, 1.9316, 0.5499; mean
    22.9722 (Bates et al. 2015, the data set's page of lme4), with the standard error 0.8086."""
    values = np.array([[float(cell) for cell in line.split()] for line in PENICILLIN.strip().splitlines()])
    plates, samples = (index.ravel() for index in np.indices(values.shape))
    fit = fit_mixed_model(values.ravel(), np.zeros(values.size), plates, samples)
    assert fit.means[0] == pytest.approx(22.9722, abs=5e-4)
    assert (fit.sd_items, fit.sd_workers, fit.sd_residual) == pytest.approx((0.8467, 1.9316, 0.5499), abs=1e-3)
    assert math.sqrt(fit.covariance[0, 0]) == pytest.approx(0.8086, abs=1e-3)


def balanced(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    items, workers = (index.ravel() for index in np.indices((20, 10)))
    effects = rng.normal(0, 0.8, 20)[items] + rng.normal(0, 0.8, 10)[workers]
    return effects + rng.normal(size=200) + 0.5 * (items % 2), items % 2, items, workers


def test_a_balanced_design_gives_the_analysis_of_variance() -> None:
    """Items nested in levels, all rated by all workers: REML is the analysis of variance, and the error of the
    difference of two levels is √(2 · MS(items within levels) / (items per level · workers))."""
    values, levels, items, workers = balanced(1)
    table = values.reshape(20, 10)
    item_means = table.mean(axis=1)
    within = sum(((item_means[level::2] - item_means[level::2].mean()) ** 2).sum() for level in (0, 1))
    mean_square = 10 * within / 18
    fit = fit_mixed_model(values, levels, items, workers)
    difference = fit.difference(0, 1, freedom=18)
    assert difference.value == pytest.approx(item_means[0::2].mean() - item_means[1::2].mean(), abs=1e-6)
    error = (difference.high - difference.low) / 2 / 2.10092204  # t(0.975; 18)
    assert error == pytest.approx(math.sqrt(2 * mean_square / 100), rel=1e-3)
    assert 0 < fit.p_difference(0, 1, 18) < 1


@pytest.mark.parametrize(
    ("values", "items", "workers", "message"),
    [
        ([1, 1, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1], "all answers are equal"),
        ([1, 2, 3, 4], [0, 0, 0, 0], [0, 1, 2, 3], "two items or more"),
        ([1, 2, 3, 4], [0, 1, 2, 3], [0, 0, 0, 0], "two workers or more"),
    ],
)
def test_what_it_cannot_fit_is_refused(values: list[float], items: list[int], workers: list[int], message: str) -> None:
    with pytest.raises(MixedModelError, match=message):
        fit_mixed_model(values, [0, 0, 0, 0], items, workers)


def test_too_many_answers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixed, "MOST_ANSWERS", 100)
    with pytest.raises(MixedModelError, match="more than 100 answers; there are 200"):
        fit_mixed_model(*balanced(1))


def test_a_fit_that_does_not_converge_gives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from statsmodels.regression.mixed_linear_model import MixedLM, MixedLMResults

    fit = MixedLM.fit

    def unfinished(self: MixedLM, **options: object) -> MixedLMResults:
        result = fit(self, **options)
        result.converged = False
        return result

    monkeypatch.setattr(MixedLM, "fit", unfinished)
    with pytest.raises(MixedModelError, match="did not converge"):
        fit_mixed_model(*balanced(2))
