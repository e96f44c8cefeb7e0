"""What is settled while ratings arrive: rules by hand, choices and arms, and studies that a rule would stop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.__main__ import main
from analysis.description import Factor, StoppingRule
from analysis.estimate import Estimate
from analysis.findings.looks import OpenDifference, look_at
from analysis.planning.components import Components
from analysis.planning.scales import Scale
from analysis.planning.stopping import forecast
from analysis.planning.study_design import Design
from analysis.report.stopping import all_settled, looks_now
from analysis.sequential import always_valid_level, always_valid_p
from tests.analysis.support.pages import built
from tests.analysis.support.studies import CHOICE, LIKERT, a_set, study_data
from tests.analysis.support.studies import arm as an_arm

LIKING = LIKERT | {"questions": LIKERT["questions"][:1], "scores": LIKERT["scores"][:1]}
RULE = StoppingRule("system", "creative")


@pytest.mark.parametrize(
    ("share", "looks"), [(0.0, 0), (0.199, 0), (0.2, 1), (0.249, 1), (0.25, 2), (0.3, 3), (0.7, 11), (1.0, 17)]
)
def test_the_looks_at_20_25_and_so_on_percent(share: float, looks: int) -> None:
    assert RULE.looks_by(share) == looks


def a_difference(p: float, low: float, high: float, share: float = 1.0, asked: list[float] | None = None) -> Any:
    def interval(level: float) -> Estimate:
        if asked is not None:
            asked.append(level)
        return Estimate((low + high) / 2, low, high)

    return OpenDifference("A", "B", p, interval, share)


def test_three_differences_share_the_error() -> None:
    """Holm: the smallest of three p counts three times. Bonferroni: each interval has a third of the 5%."""
    levels: list[float] = []
    small, middle, large = 1e-9, 1e-4, 0.9
    looks = look_at([a_difference(p, -1, 1, 0.5, levels) for p in (large, small, middle)])
    valid = [always_valid_p(p, 1, 2) for p in (large, small, middle)]
    assert [look.p for look in looks] == pytest.approx([min(1, valid[0]), 3 * valid[1], 2 * valid[2]])
    assert levels == pytest.approx([always_valid_level(1, 2, 1 - 0.05 / 3)] * 3)


def test_what_settles_a_difference() -> None:
    differences = [a_difference(1e-12, 0.4, 0.6), a_difference(0.5, -0.2, 0.19), a_difference(0.5, -0.2, 0.21)]
    assert [look.settled for look in look_at(differences, smallest=0.21)] == ["different", "alike", ""]
    assert [look.settled for look in look_at(differences)] == ["different", "", ""]
    nothing = a_difference(float("nan"), float("nan"), float("nan"))
    assert [look.settled for look in look_at([nothing], smallest=5.0)] == [""]
    assert not all_settled([])


def ratings(items: int, workers: int, apart: float) -> dict[tuple[str, str], float]:
    random = np.random.default_rng(4)
    return {
        (f"i{item}", f"w{worker}"): float(np.clip(round(3 + apart * (item % 2) + random.normal()), 1, 7))
        for item in range(items)
        for worker in range(workers)
    }


def systems(items: int, **values: Any) -> list[dict[str, Any]]:
    return [a_set(f"i{item}", cells={"system": "AB"[item % 2]}, **values) for item in range(items)]


def test_the_level_with_the_smaller_share_decides_how_far_a_pair_is() -> None:
    """B has 10 of 20 planned ratings of each item, and A 10 of 40: the interval is that of a quarter of the plan."""
    items = [item | {"wanted": 40 if item["cells"]["system"] == "A" else 20} for item in systems(12)]
    data = study_data(items, ratings(12, 10, 2), **LIKING)
    [look] = looks_now(data, RULE)
    assert look.difference.level == pytest.approx(always_valid_level(1, 4))
    assert look.settled == "different"


def test_choices_between_two_are_differences_of_shares() -> None:
    """A is chosen in most of the pairs, on either side: its share minus that of B is its wins minus its losses."""
    sides = ({"system_1": "A", "system_2": "B"}, {"system_1": "B", "system_2": "A"})
    items = [a_set(f"i{item}", cells=sides[item % 2], wanted=8) for item in range(12)]
    wins = np.where(np.random.default_rng(3).random((12, 8)) < 0.85, 1.0, -1.0)
    values = {
        (f"i{item}", f"w{worker}"): float(wins[item, worker] * (-1) ** item)
        for item in range(12)
        for worker in range(8)
    }
    factor = Factor("system", "part", "", {"1": "system_1", "2": "system_2"})
    data = study_data(items, values, **(CHOICE | {"factors": (factor,)}))
    [look] = looks_now(data, StoppingRule("system", "overall", 0.9))
    assert (look.first, look.second, look.settled) == ("A", "B", "different")
    assert look.difference.value == pytest.approx(wins.mean())


def test_arms_are_compared_and_one_that_lags_behind_widens_the_interval() -> None:
    """6 workers of one arm and 2 of the other, of 10 ratings wanted for each of 8 items: 80% of the plan are there, but
    of the second arm only half as much as of both on average."""
    arms = (an_arm("one"), an_arm("two"))
    values = ratings(8, 8, 0)
    data = study_data(
        [a_set(f"i{item}", wanted=10) for item in range(8)],
        values,
        arm_of={f"w{worker}": "one" if worker < 6 else "two" for worker in range(8)},
        **(LIKING | {"arms": arms, "factors": (Factor("arm", "arm"),)}),
    )
    [look] = looks_now(data, StoppingRule("arm", "creative"))
    assert look.difference.level == pytest.approx(always_valid_level(4, 10))


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (StoppingRule("model", "creative"), "no factor model"),
        (StoppingRule("system", "beauty"), "nobody has answered on beauty"),
    ],
)
def test_what_is_not_there_cannot_be_looked_at(rule: StoppingRule, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        looks_now(study_data(systems(12), ratings(12, 6, 1), **LIKING), rule)


def test_without_answers_on_a_level_nothing_is_settled() -> None:
    only = {key: value for key, value in ratings(12, 8, 2).items() if int(key[0][1:]) % 2}
    with pytest.raises(ValueError, match="no answers yet on A"):
        looks_now(study_data(systems(12), only, **LIKING), RULE)
    with pytest.raises(ValueError, match="no answers yet"):
        looks_now(study_data(systems(12), {}, **LIKING), RULE)


def test_the_report_of_a_study_with_a_rule_says_which_figures_to_report(tmp_path: Path) -> None:
    kind = LIKING | {"stopping": StoppingRule("system", "creative", 0.5)}
    values = ratings(12, 10, 2)
    page, sections = built(study_data(systems(12), values, **kind), tmp_path / "running")
    assert "By system, 1 of 1 difference on creative is settled with 50% of the planned ratings." in page
    assert "The study stops when all of them are." in page

    page, _ = built(study_data(systems(12), values, status="closed", **kind), tmp_path / "closed")
    assert "report the intervals and p values that hold at all times: the others are too sure." in page

    page, sections = built(study_data(systems(12, wanted=10), values, **kind), tmp_path / "complete")
    [row] = sections["findings"]["looks by system"]
    assert row["settled"] == "different"
    assert "with 100% of the planned ratings" in page and "the others are too sure" in page


# --- what a rule would do ---

LIKERT_SCALE, VARIANCES = Scale(1, 5, 5), Components(0.1, 0.1, 0.02, 0.02, 0.5)
DESIGN = Design(2, 20, 6, 24, "some")


def test_a_margin_wider_than_any_interval_stops_at_the_first_look() -> None:
    """24 workers with 10 ratings each: 20% of the ratings are there with the fifth."""
    rule = StoppingRule("system", "rating", 50.0)
    forecasted = forecast(rule, DESIGN, LIKERT_SCALE, VARIANCES, effect=0.0, simulations=10)
    assert (forecasted.early, forecasted.used, forecasted.used_most) == (1.0, 5 / 24, 5 / 24)
    assert forecasted.wrong == 0.0


def test_a_large_difference_is_found_early_and_none_hardly_ever() -> None:
    rule = StoppingRule("system", "rating")
    none, large = (
        forecast(rule, DESIGN, LIKERT_SCALE, VARIANCES, effect=effect, simulations=60) for effect in (0.0, 1.5)
    )
    assert none.early <= 0.1 and none.wrong == none.early and none.used > 0.9
    assert large.early > 0.9 and large.used < 0.7 and large.wrong == 0.0
    assert min(none.held, large.held) >= 0.9


def test_what_cannot_be_simulated_is_refused() -> None:
    rule = StoppingRule("system", "rating")
    with pytest.raises(ValueError, match="one system"):
        forecast(rule, Design(1, 20, 6, 24), LIKERT_SCALE, VARIANCES, effect=0.0)
    with pytest.raises(ValueError, match="impossible"):
        forecast(rule, DESIGN, LIKERT_SCALE, VARIANCES, effect=4.5)


def test_the_command_prints_a_row_for_each_difference(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan-looks", "--items", "20", "--raters", "6", "--workers", "24", "--differences", "0", "1"]
    words += ["--smallest", "0.3", "--simulations", "20", "--variances", "items=0.1", "workers=0.1", "residual=0.5"]
    assert main(words) == 0
    assert "20 simulated studies a row" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["figures"]["forecasts"]
    assert [row["effect"] for row in rows] == [0.0, 1.0]
    assert main(["plan-looks", "--items", "20", "30"]) == 2
    assert "one number of --items" in capsys.readouterr().err
