"""Models of raters: MACE beside crowd-kit's figures, severity beside a likelihood integrated without a grid."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from analysis.__main__ import main
from analysis.agreement import Ratings, ratings_from_arrays, ratings_from_matrix
from analysis.raters import competences, mace, modelled_accuracy, severities
from analysis.raters.severity import _Model

COMPETENCE = np.array([0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.3, 0.05])


def guessing() -> list[tuple[str, str, int]]:
    """120 units of four classes, five of nine raters each, who know the class with their competence, or guess."""
    random = np.random.default_rng(3)
    truth = random.integers(0, 4, 120)
    guesses = random.dirichlet(np.ones(4), 9)
    rows = []
    for unit in range(120):
        for rater in random.choice(9, 5, replace=False):
            knows = random.random() < COMPETENCE[rater]
            rows.append((f"u{unit}", f"r{rater}", int(truth[unit] if knows else random.choice(4, p=guesses[rater]))))
    return rows


def as_data(rows: list[Any]) -> Ratings:
    return ratings_from_arrays(*(np.array(column) for column in zip(*rows, strict=True)))


def test_competences_are_those_of_crowd_kit() -> None:
    """crowd-kit 1.4.2, MACE(method="em", n_iter=400), on the same ratings, sorted by rater."""
    reference = [
        *(0.97644513, 0.88725481, 0.84464471, 0.85197547, 0.76447382),
        *(0.4882377, 0.41504059, 0.27180229, 0.05344776),
    ]
    model = mace(as_data(guessing()), tolerance=0)
    assert model.competence == pytest.approx(reference, abs=1e-5)
    assert model.posterior.sum(axis=1) == pytest.approx(np.ones(120))


def test_intervals_hold_the_competence_and_accuracy_follows_it() -> None:
    data = as_data(guessing())
    estimates = list(competences(data, restarts=2).values())
    held = sum(estimate.low <= true <= estimate.high for estimate, true in zip(estimates, COMPETENCE, strict=True))
    assert held >= 7  # of nine 95% intervals
    accuracies = [estimate.value for estimate in modelled_accuracy(data).values()]
    assert stats.spearmanr(accuracies, COMPETENCE).statistic > 0.95
    few = competences(as_data([row for row in guessing() if row[0] < "u14"]), restarts=0)
    assert all("needs at least 20 ratings by a rater" in estimate.note for estimate in few.values())


def graded(random: np.random.Generator, units: int = 60, raters: int = 5) -> list[tuple[int, int, float]]:
    rows = []
    for unit in range(units):
        quality = random.normal()
        for rater in random.choice(raters, 3, replace=False):
            rows.append((unit, int(rater), float(np.clip(round(3 + quality - rater / 3 + random.normal() / 2), 1, 5))))
    return rows


def test_the_likelihood_is_that_of_the_formula() -> None:
    """log ∫ Π P(x | θ) φ(θ) dθ for every unit, integrated by QUADPACK, with probabilities from the definition."""
    rows = graded(np.random.default_rng(5), units=20, raters=3)
    model = _Model(as_data(rows))
    severity, slope, spread = np.array([0.4, -0.1, -0.5]), np.array([0.8, 1.3, 1.1]), 1.2
    points = sorted({value for *_, value in rows})
    thresholds = np.linspace(-1.0, 1.5, len(points) - 1)

    def probability(value: float, rater: int, quality: float) -> float:
        steps = slope[rater] * (quality - severity[rater] - thresholds)
        odds = np.exp(np.concatenate([[0.0], np.cumsum(steps)]))
        return float(odds[points.index(value)] / odds.sum())

    total = 0.0
    for unit in range(20):
        answers = [(value, rater) for at, rater, value in rows if at == unit]

        def density(quality: float, answers: list[tuple[float, int]] = answers) -> float:
            likelihood = math.prod(probability(value, rater, quality) for value, rater in answers)
            return likelihood * float(stats.norm.pdf(quality, scale=spread))

        total += math.log(quad(density, -12, 12, limit=200)[0])
    parameters = np.concatenate([severity, np.log(slope), thresholds, [math.log(spread)]])
    prior = (severity**2).sum() / 3.0**2 / 2 + (np.log(slope) ** 2).sum() / 0.75**2 / 2
    assert model.loss(parameters)[0] == pytest.approx(prior - total, abs=1e-6)


def test_the_other_end_of_the_scale_turns_severity_round_and_leaves_consistency() -> None:
    rows = graded(np.random.default_rng(6))
    one, other = severities(as_data(rows)), severities(as_data([(u, r, 6 - value) for u, r, value in rows]))
    for rater, figures in one.raters.items():
        turned = other.raters[rater]
        assert turned.severity.value == pytest.approx(-figures.severity.value, abs=1e-3)
        assert turned.consistency.value == pytest.approx(figures.consistency.value, abs=2e-3)
        assert turned.points == pytest.approx(-figures.points, abs=1e-3)
    values = [figures.severity.value for figures in one.raters.values()]
    assert values == sorted(values) and sum(values) == pytest.approx(0, abs=1e-9)
    assert one.raters[4].points < 0 < one.raters[0].points


def apart() -> list[tuple[int, int, float]]:
    return [(unit, 2 * (unit % 2) + rater, float((unit + rater) % 3)) for unit in range(30) for rater in range(2)]


@pytest.mark.parametrize(
    ("fit", "rows", "what"),
    [
        (mace, [("a", "x", 1), ("b", "x", 2)], "there is only one rater"),
        (mace, [("a", "x", 1), ("a", "y", 1)], "every rating has the same value"),
        (mace, [("a", "x", math.nan)], "there are no ratings"),
        (severities, [(unit, 0, float(unit % 3)) for unit in range(30)], "there is only one rater"),
        (severities, [(unit, rater, 1.0) for unit in range(30) for rater in range(2)], "2 to 12 different answers"),
        (severities, [(unit, rater, float(unit)) for unit in range(30) for rater in range(2)], "and there are 30"),
        (severities, [(unit, rater, float(unit % 3)) for unit in range(19) for rater in range(2)], "at least 20 units"),
        (severities, apart(), "raters fall into 2 groups that rated no unit in common"),
        (severities, [("a", "x", "good"), ("a", "y", "bad")], "text has no order"),
    ],
)
def test_what_no_model_can_use_is_refused(fit: Callable[[Ratings], object], rows: list[Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        fit(as_data(rows))


def test_raters_who_agree_on_everything_are_right_without_an_interval() -> None:
    matrix = np.tile(np.arange(40)[:, None] % 4, 3).astype(float)
    estimates = modelled_accuracy(ratings_from_matrix(matrix), smoothing=0.0)
    assert [estimate.value for estimate in estimates.values()] == pytest.approx([1, 1, 1])
    assert {estimate.note for estimate in estimates.values()} == {"at its limit: no interval"}


def test_the_command_prints_every_rater(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "grades.csv"
    lines = [f"{unit},r{rater},{value:g}" for unit, rater, value in graded(np.random.default_rng(7))]
    file.write_text("\n".join(["text,who,grade", *lines]) + "\n", encoding="utf-8")
    words = ["raters", str(file), "--unit", "text", "--rater", "who", "--value", "grade"]
    assert main([*words, "--level", "ordinal"]) == 0
    out = capsys.readouterr().out
    assert "180 ratings, 60 units, 5 raters" in out and "a near miss is a miss" in out
    assert [line.split()[0] for line in out.splitlines() if line.startswith("r") and line[1].isdigit()] == [
        f"r{at}" for at in range(5)
    ]
    assert main([*words, "--level", "nominal", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["data"]["ratings"]["left_out"] == {"severity": "categories have no order"}
    assert {name.split(".")[0] for name in record["estimates"]} == {"accuracy", "competence"}
    assert main(words) == 2
    assert "--level" in capsys.readouterr().err
