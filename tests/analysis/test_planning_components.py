"""Variance components against lme4's printed figures, and from simulated answers with known ones; what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from analysis.planning.components import Components, Fit, fit_components, parse_components
from analysis.planning.published import PUBLISHED, published
from analysis.planning.scales import Scale
from analysis.planning.variances import fitted_variances
from bench.published_components import of_diversity, of_snow
from tests.analysis.test_mixed_model import PENICILLIN

#: Yields (grams) of six batches of dyestuff: Davies & Goldsmith 1972, § 6.4 (lme4: Dyestuff).
DYESTUFF = """
    1545 1440 1440 1520 1580
    1540 1555 1490 1560 1495
    1595 1550 1605 1510 1560
    1445 1440 1595 1465 1545
    1595 1630 1515 1635 1625
    1520 1455 1450 1480 1445
"""


def numbers(text: str) -> np.ndarray:
    return np.array([[float(cell) for cell in line.split()] for line in text.strip().splitlines()])


def test_the_figures_that_lme4_prints_for_crossed_effects() -> None:
    """lmer(diameter ~ 1 + (1 | plate) + (1 | sample), Penicillin): 0.8467, 1.9316, 0.5499 (Bates et al. 2015)."""
    values = numbers(PENICILLIN)
    plates, samples = (index.ravel() for index in np.indices(values.shape))
    fit = fit_components(values.ravel(), items=plates, workers=samples)
    sds = [math.sqrt(fit.components.items), math.sqrt(fit.components.workers), math.sqrt(fit.components.residual)]
    assert sds == pytest.approx([0.8467, 1.9316, 0.5499], abs=5e-5)
    assert (fit.answers, fit.items, fit.workers, fit.systems) == (144, 24, 6, 1)


def test_the_figures_that_lme4_prints_for_one_effect() -> None:
    """lmer(Yield ~ 1 + (1 | Batch), Dyestuff): variances 1764 and 2451 (Bates et al. 2015). Nobody answers twice."""
    values = numbers(DYESTUFF)
    fit = fit_components(values.ravel(), items=np.repeat(range(6), 5), workers=np.arange(30))
    assert (fit.components.items, fit.components.residual) == pytest.approx((1764.05, 2451.25))
    assert any("No worker has two answers" in note for note in fit.notes)


def unbalanced(rng: np.random.Generator, truth: Components) -> tuple[np.ndarray, ...]:
    """Answers to 60 items of three systems by 25 workers, of which two thirds are missing, more of some workers."""
    items, systems, workers = (index.ravel() for index in np.indices((60, 3, 25)))
    kept = rng.random(len(items)) < 0.1 + 0.5 * rng.random(25)[workers]
    items, systems, workers = items[kept], systems[kept], workers[kept]
    sds = {name: math.sqrt(getattr(truth, name)) for name in ("items", "workers", "item_system", "worker_system")}
    values = np.array([3.0, 3.5, 2.0])[systems] + rng.normal(0, sds["items"], 60)[items]
    values += rng.normal(0, sds["workers"], 25)[workers] + rng.normal(0, sds["item_system"], (60, 3))[items, systems]
    values += rng.normal(0, sds["worker_system"], (25, 3))[workers, systems]
    return values + rng.normal(0, math.sqrt(truth.residual), len(items)), items, workers, systems


def test_components_are_recovered_from_unbalanced_answers() -> None:
    """The mean of 60 estimates is within three of its standard errors of the truth; systems' means do not matter."""
    rng = np.random.default_rng(3)
    truth = Components(0.5, 0.4, 0.3, 0.2, 0.8)
    fits = []
    for _ in range(60):
        values, items, workers, systems = unbalanced(rng, truth)
        fits.append(fit_components(values, items=items, workers=workers, systems=systems).components)
    for label, variance in truth.named():
        estimates = [dict(fit.named())[label] for fit in fits]
        error = float(np.std(estimates)) / math.sqrt(len(fits))
        assert abs(float(np.mean(estimates)) - variance) < 3 * error, label
        assert error < 0.06


def test_items_of_one_system_each_count_as_texts() -> None:
    """What cannot be separated is put where it makes a plan cautious."""
    rng = np.random.default_rng(1)
    items, workers = (index.ravel() for index in np.indices((40, 12)))
    values = rng.normal(0, 1, 40)[items] + rng.normal(0, 0.5, 12)[workers] + rng.normal(size=480)
    fit = fit_components(values, items=items, workers=workers, systems=items % 2)
    assert fit.components.items == 0 and fit.components.item_system == pytest.approx(1.0, abs=0.4)
    assert any("None of the items has two systems" in note for note in fit.notes)


def test_a_variance_below_zero_counts_as_zero_and_is_named() -> None:
    items, workers = (index.ravel() for index in np.indices((4, 4)))
    values = np.where((items + workers) % 2, 1.0, 0.0)  # every item and every worker has the same mean
    fit = fit_components(values, items=items, workers=workers)
    assert fit.components.items == fit.components.workers == 0
    # Without them, what is left is the variance of all answers (n − 1).
    assert fit.components.residual == pytest.approx(float(values.var(ddof=1)))
    assert sum("came out below 0" in note for note in fit.notes) == 2


@pytest.mark.parametrize(
    ("values", "items", "workers", "message"),
    [
        ([], [], [], "there are no answers"),
        ([1, 2, 3], [0, 0, 0], [0, 1, 2], "all answers have the same item"),
        ([1, 2, 3], [0, 1, 2], [0, 0, 0], "all answers have the same worker"),
        ([2, 2, 2, 2], [0, 0, 1, 1], [0, 1, 0, 1], "all answers are equal"),
        ([1, 2], [0, 1], [0, 1], "no item and no worker has two answers"),
        ([1, float("nan")], [0, 1], [0, 1], "is missing"),
        ([1, 2, 3], [0, 1], [0, 1, 1], "one entry for each answer"),
        ([1, 2, 3, 4], [0, 0, 1, 1], [0, 0, 1, 1], "cannot be separated"),
    ],
)
def test_answers_that_show_nothing_are_refused(
    values: list[float], items: list[int], workers: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        fit_components(values, items=items, workers=workers)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["items=-0.1", "residual=1"], "the variance of items must be 0 or more, not -0.1"),
        (["items=nan"], "must be 0 or more"),
        (["items=0"], "all variances are 0"),
        (["people=1"], "write NAME=NUMBER with items, workers, item_system, worker_system, residual"),
        (["items"], "is no variance"),
        (["items=much"], "“much” is not a number: write items=0.2"),
    ],
)
def test_variances_that_are_none_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_components(words)


def test_named_variances_are_read() -> None:
    assert parse_components(["items=0.2", "item_system=0.1", "residual=0.7"]) == Components(0.2, 0, 0.1, 0, 0.7)


def test_published_variances_are_those_of_the_public_data(released: Path) -> None:
    """Each is rounded to the digits that are printed."""
    for name, components in of_snow(released / "snow2008").items():
        for (label, ours), (_, theirs) in zip(published(name).components.named(), components.named(), strict=True):
            assert ours == pytest.approx(theirs, abs=6e-4), (name, label)
    texts, residual = of_diversity(released / "diversity-eval")
    assert published("diversity").components == Components(item_system=round(texts, 3), residual=round(residual, 3))


def test_variances_of_earlier_answers_fit_another_scale_as_a_share_of_its_range() -> None:
    fit = Fit(Components(0.2, 0.1, 0.1, 0.1, 0.5), 600, 40, 12, 2, 4.0, ())
    on_nine = fitted_variances(fit, Scale(1, 5, 5), Scale(1, 9, 9), "pilot")
    assert on_nine.components == fit.components.times(4) and on_nine.mean == pytest.approx(7.0)
    assert any("other ends" in note for note in on_nine.notes) and any("12 of them" in note for note in on_nine.notes)
    assert fitted_variances(fit, Scale(1, 5, 5), None, "pilot").components == fit.components
    with pytest.raises(ValueError, match="on another kind of scale"):
        fitted_variances(fit, Scale(1, 5, 5), Scale(0, 1, 2), "pilot")


def test_published_variances_fit_another_scale_as_a_share_of_its_range() -> None:
    high = published("likert-high")
    assert high.on(Scale(1, 5, 5)).residual == pytest.approx(16 * 0.26**2)
    with pytest.raises(ValueError, match="use entailment or temporal"):
        high.on(Scale(0, 1, 2))
    with pytest.raises(ValueError, match="no published variances “mine”; there are likert-high"):
        published("mine")
    assert all(entry.source and entry.caution for entry in PUBLISHED)
