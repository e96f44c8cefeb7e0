"""Biases, calibration and the planner of judges. Expected values are counted by hand or come from cited formulas."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.judges import (
    JudgedDesign,
    calibration,
    equal_with_the_others,
    equal_with_the_people,
    items_needed,
    length_bias,
    own_texts_bias,
    position_bias,
    worth_correlation,
)
from bench.judges import CORRELATIONS, expected_widths, one_set


def test_a_judge_that_takes_the_first_text_has_all_the_position_bias_there_is() -> None:
    rows = [(item, side, 1.0 if side == "A" else -1.0) for item in "abcd" for side in "AB"]
    bias = position_bias(pd.DataFrame(rows, columns=["item", "side", "value"]))
    assert bias is not None
    assert (bias.shift.value, bias.flips, bias.pairs) == (1.0, 1.0, 4)
    fair = [(item, side, value) for item, value in zip("abcd", (1.0, -1.0, 1.0, 0.0), strict=True) for side in "AB"]
    none = position_bias(pd.DataFrame(fair, columns=["item", "side", "value"]))
    assert none is not None
    assert (none.shift.value, none.flips) == (0.0, 0.0)
    assert position_bias(pd.DataFrame([("a", "A", 1.0)], columns=["item", "side", "value"])) is None


def test_length_counts_only_beyond_what_people_share() -> None:
    lengths = pd.Series({f"i{n}": float(n) for n in range(6)})
    assert length_bias(pd.Series({f"i{n}": 0.1 * n for n in range(6)}), lengths) == pytest.approx((1.0, 6))
    assert math.isnan(length_bias(pd.Series({f"i{n}": 0.0 for n in range(6)}), lengths)[0])
    assert math.isnan(length_bias(pd.Series({"i1": 1.0}), lengths)[0])


def test_favouring_its_own_texts_is_a_difference_of_differences() -> None:
    answers = pd.DataFrame(
        [(f"i{n}", f"w{worker}", 3.0) for n in range(8) for worker in range(3)], columns=["item", "worker", "value"]
    )
    own = pd.Series({f"i{n}": n < 4 for n in range(8)})
    judged = pd.Series({f"i{n}": 4.5 if n < 4 else 3.5 for n in range(8)})
    bias = own_texts_bias(answers, judged, own)
    assert bias is not None
    assert bias.value == pytest.approx(1.0)  # (4.5 − 3) − (3.5 − 3)
    assert own_texts_bias(answers, judged, own & False) is None


def people_of(shares: dict[str, list[float]]) -> pd.DataFrame:
    rows = [(item, f"w{n}", value) for item, values in shares.items() for n, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["item", "worker", "value"])


def judge_of(chances: dict[str, dict[str, float]]) -> pd.DataFrame:
    rows = [(item, 0, 1.0, "", stated) for item, stated in chances.items()]
    return pd.DataFrame(rows, columns=["item", "sample", "value", "side", "chances"])


def test_calibration_by_hand() -> None:
    people = people_of({"a": [1, 1, 1, 2], "b": [2, 2, 1, 2]})
    perfect = calibration(people, judge_of({"a": {"1": 0.75, "2": 0.25}, "b": {"1": 0.25, "2": 0.75}}))
    assert perfect is not None
    assert perfect.error == pytest.approx(0.0)
    assert not perfect.from_samples
    sure = calibration(people, judge_of({"a": {"1": 1.0, "2": 0.0}, "b": {"1": 0.0, "2": 1.0}}))
    assert sure is not None
    assert sure.error == pytest.approx(0.25)  # it says 0 and 1 where people say 0.25 and 0.75
    assert [row[2] for row in sure.rows] == [2, 2]


def test_shares_of_samples_stand_for_probabilities() -> None:
    people = people_of({"a": [1, 2], "b": [1, 1]})
    rows = [("a", 0, 1.0), ("a", 1, 2.0), ("b", 0, 1.0), ("b", 1, 1.0)]
    judge = pd.DataFrame([(*row, "", {}) for row in rows], columns=["item", "sample", "value", "side", "chances"])
    measured = calibration(people, judge)
    assert measured is not None
    assert measured.error == pytest.approx(0.0)
    assert (measured.from_samples, measured.items) == (True, 2)
    assert calibration(people, judge[judge["sample"] == 0]) is None  # one sample has no share


def test_equal_answers_by_hand() -> None:
    people = people_of({"a": [1, 1, 2], "b": [2, 2, 2]})
    assert equal_with_the_people(people, pd.Series({"a": 1.0, "b": 2.0})) == pytest.approx((2 / 3 + 1) / 2)
    # Person 0 and 1 on a: one of two others; person 2: none. On b all agree.
    assert equal_with_the_others(people) == pytest.approx(((0.75 + 0.75 + 0.5) / 3, 3))


@pytest.mark.slow
@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_the_planner_expects_the_widths_of_simulated_studies(correlation: float) -> None:
    """Of the mean and of a difference, by people alone and by both: within 8% over 60 simulated studies."""
    rng = np.random.default_rng([3, int(10 * correlation)])
    sets = [[estimate.high - estimate.low for estimate, _ in one_set(correlation, rng)] for _ in range(60)]
    assert np.mean(sets, axis=0) == pytest.approx(expected_widths(correlation), rel=0.08)


def test_the_planner_by_hand() -> None:
    """Without workers and single answers, the formula of PPI++ is left: 1 − ρ² N/(N + n) of the items' variance."""
    alone = JudgedDesign(50, 1, 10_000, 1.0, 0.0, 0.0)
    both = JudgedDesign(50, 1, 10_000, 1.0, 0.0, 0.0, judged=500, correlation=0.8)
    assert both.width() / alone.width() == pytest.approx(math.sqrt(1 - 0.64 * 450 / 500))
    assert items_needed(both, alone.width()) == pytest.approx(50 * (1 - 0.64 * 0.95), abs=3)  # fewer items, thicker t
    useless = JudgedDesign(50, 5, 20, 1.0, 0.5, 1.0, judged=500, correlation=0.0)
    assert items_needed(useless, useless.width()) == 50
    assert items_needed(useless, 0.01) is None
    # Means of five answers with a reliability of 1/(1 + 1.25/5) = 0.8.
    observed = worth_correlation(0.5, per_item=5, sd_item=1.0, sd_worker=0.5, sd_answer=1.0)
    assert observed == pytest.approx(0.5 / math.sqrt(0.8))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--raters": "30"}, "30 raters an item need as many workers; there are 20"),
        ({"--rated": "500"}, "--rated is 500, more than the 400 items"),
        ({"--judged": "2"}, "--judged is a share above 0 and up to 1, not 2"),
        ({"--correlation": "1.5"}, "a correlation is from -1 to 1, not 1.5"),
        ({"--rated": "2"}, "2 items rated by people are too few"),
    ],
)
def test_plans_that_no_study_can_have_are_refused(
    change: dict[str, str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"--items": "400", "--rated": "40", "--raters": "5", "--workers": "20"}
    options |= {"--sd-item": "0.7", "--sd-worker": "0.5", "--sd-answer": "1", **change}
    assert main(["plan-judges", *(part for option in options.items() for part in option)]) != 0
    assert message in capsys.readouterr().err


def test_the_command_prints_what_a_judge_saves(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = {"items": 400, "rated": 40, "raters": 5, "workers": 20, "sd-item": 0.7, "sd-worker": 0.5, "sd-answer": 1}
    options = [part for name, value in numbers.items() for part in (f"--{name}", str(value))]
    assert main(["plan-judges", *options, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["figures"]["with_judge"]
    needed = [row["rated"] for row in rows]
    assert needed[0] == 40  # a judge that says nothing saves nothing
    assert needed == sorted(needed, reverse=True)
    assert needed[-1] < 40 * 0.6
    assert main(["plan-judges", *options]) == 0
    assert "People alone: 200 ratings of 40 items" in capsys.readouterr().out
