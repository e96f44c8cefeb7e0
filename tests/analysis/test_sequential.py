"""Figures that hold at all times: the mixture by quadrature, by hand, under looks again and again, and the command."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from analysis.__main__ import main
from analysis.sequential import always_valid_level, always_valid_p
from tests.analysis.support.pages import built
from tests.analysis.support.studies import LIKERT, a_set, study_data


def test_by_hand_at_the_planned_end() -> None:
    """c = 5.9915 + log 6.9915 = 7.9361; z² = (1 + 1/c)(log(1 + c) + 5.9915) = 1.12601 · 8.18158 = 9.2125."""
    assert always_valid_level(800, 800) == pytest.approx(1 - 2 * stats.norm.sf(math.sqrt(9.2125)), abs=1e-6)


@pytest.mark.parametrize(("done", "alpha"), [(50, 0.05), (400, 0.05), (1600, 0.05), (400, 0.01)])
def test_the_bound_is_where_the_normal_mixture_reaches_one_in_alpha(done: int, alpha: float) -> None:
    """∫ exp(λS − λ²v/2) φ(λ; 0, ρ²) dλ = 1/α at S = z√v (Howard et al. 2021, section 3.2); here v is 1."""
    z = float(stats.norm.isf((1 - always_valid_level(done, 800, 1 - alpha)) / 2))
    narrowest = -2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha))
    scale = math.sqrt(narrowest * done / 800)

    def mixed(slope: float) -> float:
        return math.exp(slope * z - slope**2 / 2) * float(stats.norm.pdf(slope, scale=scale))

    assert quad(mixed, -40, 40, points=[0, z])[0] == pytest.approx(1 / alpha, rel=1e-6)


def test_p_is_below_alpha_where_the_interval_leaves_0() -> None:
    for done in (20, 200, 800, 3000):
        limit = 1 - always_valid_level(done, 800)
        assert always_valid_p(limit, done, 800) == pytest.approx(0.05)
        assert always_valid_p(1.1 * limit, done, 800) > 0.05 > always_valid_p(0.9 * limit, done, 800)
    assert math.isnan(always_valid_p(math.nan, 1, 2)) and always_valid_p(1.0, 1, 2) == 1.0
    assert always_valid_p(0.0, 400, 800) < 1e-100


def test_looking_after_every_rating_errs_as_seldom_as_it_says() -> None:
    """400 random walks without a drift, looked at 300 times: ordinary limits are left by more than a third of them."""
    walks = np.random.default_rng(2).normal(size=(400, 300)).cumsum(axis=1) / np.sqrt(np.arange(1, 301))
    limits = [stats.norm.isf((1 - always_valid_level(done, 300)) / 2) for done in range(1, 301)]
    assert (np.abs(walks) > limits).any(axis=1).mean() <= 0.05
    assert (np.abs(walks) > 1.96).any(axis=1).mean() > 0.35


@pytest.mark.parametrize(("done", "planned", "level"), [(0, 10, 0.95), (5, 0, 0.95), (5, 10, 1.0)])
def test_what_is_no_plan_is_refused(done: int, planned: int, level: float) -> None:
    with pytest.raises(ValueError, match=r"ratings|planned|level"):
        always_valid_level(done, planned, level)


def scores(folder: Path, apart: float, workers: int = 12) -> str:
    random = np.random.default_rng(1)
    lines = ["item,worker,system,score"]
    for worker in range(workers):
        for item in random.choice(40, 20, replace=False):
            value = 3 + apart * (item % 2) + (worker % 3) / 3 + random.normal() / 2
            lines.append(f"i{item},w{worker},{'AB'[item % 2]},{value:.2f}")
    path = folder / "scores.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_the_command_says_what_is_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--value", "score", "--factor", "system", "--planned", "800"]
    assert main(["looks", scores(tmp_path, 1.0), *words]) == 0
    out = capsys.readouterr().out
    assert "score by system: 240 of 800 planned answers" in out and "Every difference is settled" in out

    path = scores(tmp_path, 0.05)
    assert main(["looks", path, *words, "--json"]) == 0
    look = json.loads(capsys.readouterr().out)
    assert main(["compare", path, *words[:4], "--json"]) == 0
    once = json.loads(capsys.readouterr().out)
    (decided,) = look["figures"]["score.system"]
    assert decided["settled"] == "" and decided["p"] > 0.05
    (now,) = look["estimates"].values()
    ordinary = next(estimate for name, estimate in once["estimates"].items() if ".difference." in name)
    assert now["value"] == ordinary["value"] and now["high"] - now["low"] > 1.5 * (ordinary["high"] - ordinary["low"])

    assert main(["looks", scores(tmp_path, 1.0, workers=3), *words]) == 0
    assert "Not all differences can be tested yet." in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["looks", path, *words[:4]])
    assert "--planned" in capsys.readouterr().err


def test_a_report_of_an_unfinished_study_says_what_is_decided(tmp_path: Path) -> None:
    """12 items by two systems and 10 workers of the 20 wanted; a finished study has no such table."""
    items = [a_set(f"i{at}", cells={"system": "AB"[at % 2]}) for at in range(12)]
    random = np.random.default_rng(4)
    values = {
        (f"i{item}", f"w{worker}"): float(np.clip(round(2 + 3 * (item % 2) + random.normal()), 1, 7))
        for item in range(12)
        for worker in range(10)
    }
    kind = LIKERT | {"questions": LIKERT["questions"][:1], "scores": LIKERT["scores"][:1]}

    page, sections = built(study_data(items, values, **kind), tmp_path / "half")

    (look,) = sections["findings"]["looks by system"]
    (pair,) = sections["findings"]["differences by system"]
    ordinary = pair["pair"]
    assert (look["levels"], look["settled"]) == ("B − A", "different")
    assert look["difference"]["level"] == pytest.approx(always_valid_level(1, 2))
    assert look["p"] == pytest.approx(always_valid_p(ordinary["p"], 1, 2))
    wider = [look["difference"]["high"] - look["difference"]["low"]]
    assert wider[0] > 1.5 * (ordinary["difference"]["high"] - ordinary["difference"]["low"])
    assert "By system, 1 of 1 difference is settled, however often you look. 50% of the ratings are there" in page

    finished = [item | {"wanted": 10} for item in items]
    page, sections = built(study_data(finished, values, **kind), tmp_path / "whole")
    assert "looks by system" not in sections["findings"] and "however often you look" not in page
