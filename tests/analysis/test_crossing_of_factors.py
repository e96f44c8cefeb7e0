"""Two factors crossed: cells, overall means and interactions, by hand and against an analysis of variance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis.findings import Answers
from analysis.findings.crossing import OVERALL, cross_levels


def independent(values: list[float]) -> Answers:
    return Answers.of(values, items=None, workers=np.arange(len(values)))


def test_cells_and_overall_means_by_hand() -> None:
    """a × x: 1, 3; a × y: 5; b × x: 7; b × y: none."""
    crossing = cross_levels(
        independent([1, 3, 5, 7]), (np.array([0, 0, 0, 1]), ["a", "b"]), (np.array([0, 0, 1, 0]), ["x", "y"])
    )
    means = {(cell.first, cell.second): cell.mean.value for cell in crossing.cells if cell.answers}
    assert means == {
        ("a", "x"): 2, ("a", "y"): 5, ("a", OVERALL): 3, ("b", "x"): 7, ("b", OVERALL): 7,
        (OVERALL, "x"): pytest.approx(11 / 3), (OVERALL, "y"): 5, (OVERALL, OVERALL): 4,
    }  # fmt: skip
    assert crossing.empty == (("b", "y"),) and not crossing.interactions
    assert "without answers" in crossing.notes[0]


def test_an_interaction_is_the_difference_of_differences() -> None:
    """Of independent answers: the standard error is √Σ s²/n, with Welch’s degrees of freedom."""
    rng = np.random.default_rng(1)
    rows, columns = (index.ravel() for index in np.indices((2, 2)))
    first, second = np.repeat(rows, 50), np.repeat(columns, 50)
    values = rng.normal(size=200) + 0.5 * first + 0.3 * second + 0.9 * first * second
    crossing = cross_levels(independent(values.tolist()), (first, ["a", "b"]), (second, ["x", "y"]))
    (interaction,) = crossing.interactions
    cells = values.reshape(4, 50)
    means, errors = cells.mean(axis=1), cells.var(axis=1, ddof=1) / 50
    assert interaction.difference.value == pytest.approx(means[3] - means[1] - means[2] + means[0])
    t = interaction.difference.value / np.sqrt(errors.sum())
    freedom = errors.sum() ** 2 / (errors**2 / 49).sum()  # Welch–Satterthwaite
    assert interaction.p == pytest.approx(2 * stats.t.sf(abs(t), freedom), rel=1e-6)
    assert interaction.p_corrected == interaction.p


def test_many_interactions_are_not_tested() -> None:
    codes = np.arange(640) % 8, (np.arange(640) // 8) % 8
    values = np.random.default_rng(2).normal(size=640).tolist()
    names = list("abcdefgh")
    crossing = cross_levels(independent(values), (codes[0], names), (codes[1], names))
    assert not crossing.interactions and "49 interactions" in crossing.notes[0]


def test_factors_without_common_answers_are_refused() -> None:
    with pytest.raises(ValueError, match="a level of both"):
        cross_levels(independent([1, 2]), (np.array([0, -1]), ["a"]), (np.array([-1, 0]), ["x"]))
