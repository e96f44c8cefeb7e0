"""Judges beside people: estimates that use both, the alternative annotator test, and ``python -m analysis judges``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from analysis.__main__ import main
from analysis.judges import alternative_annotator_test, powered_levels, with_the_others, with_the_people
from bench.judges import one_set

#: One rating each of eight items, the judge's of the same, and its ratings of twelve others.
PEOPLE = (3.0, 4.0, 2.0, 5.0, 4.0, 1.0, 3.0, 2.0)
SAME = (2.5, 4.5, 2.0, 4.0, 4.5, 2.0, 3.0, 1.5)
OTHERS = (3.0, 3.5, 4.0, 2.0, 1.5, 5.0, 4.5, 3.0, 2.0, 2.5, 4.0, 3.5)
#: `ppi_mean_pointestimate(PEOPLE, SAME, OTHERS, lam=…)` of ppi-python 0.2.3.
OF_PPI_PYTHON = {0.0: 3.0, 0.5: 3.10416667, 0.7: 3.14583333, 1.0: 3.20833333}


def judge_of_all() -> pd.Series:
    return pd.Series([*SAME, *OTHERS], index=[f"t{number}" for number in range(len(SAME) + len(OTHERS))])


def powered(judged: pd.Series, weight: float | None = None) -> Any:
    names = [f"t{number}" for number in range(len(PEOPLE))]
    workers = [f"w{number}" for number in range(len(PEOPLE))]
    return powered_levels(PEOPLE, items=names, workers=workers, judged=judged, weight=weight)


@pytest.mark.parametrize(("weight", "mean"), OF_PPI_PYTHON.items())
def test_means_are_those_of_ppi_python(weight: float, mean: float) -> None:
    [level] = powered(judge_of_all(), weight).levels
    assert level.both.value == pytest.approx(mean, abs=1e-8)
    assert (level.people.value, level.rated, level.unrated) == (3.0, 8, 12)
    assert level.both.low < mean < level.both.high


def test_the_variance_is_that_of_the_two_parts() -> None:
    """With one answer for each item and worker: var(y − a f)/n + a² var(f_U)/N, by hand."""
    both = powered(judge_of_all(), 0.7).levels[0].both
    first = np.var(np.array(PEOPLE) - 0.7 * np.array(SAME), ddof=1) / 8
    second = 0.49 * np.var(OTHERS, ddof=1) / 12
    freedom = (first + second) ** 2 / (first**2 / 7 + second**2 / 11)
    assert f"{freedom:.4g} degrees" in both.method
    half = (both.high - both.low) / 2
    assert half == pytest.approx(t.ppf(0.975, freedom) * np.sqrt(first + second), rel=1e-6)


def test_a_judge_that_is_too_generous_changes_nothing() -> None:
    level, shifted = (powered(judge_of_all() + extra).levels[0] for extra in (0.0, 1.5))
    assert shifted.both.value == pytest.approx(level.both.value) and 0 < level.weight < 1


def test_a_judge_that_says_the_same_about_everything_has_no_weight() -> None:
    [level] = powered(pd.Series(4.0, index=judge_of_all().index)).levels
    assert level.weight == 0 and level.both.value == level.people.value and level.both.low == level.people.low


def test_without_other_items_people_decide_alone() -> None:
    [level] = powered(judge_of_all().iloc[: len(PEOPLE)]).levels
    assert (level.weight, level.unrated, level.both) == (0.0, 0, level.people)


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_intervals_hold_the_truth(correlation: float) -> None:
    rng = np.random.default_rng(7)
    held = [[e.low <= truth <= e.high for e, truth in one_set(correlation, rng)] for _ in range(120)]
    assert np.mean(held, axis=0) == pytest.approx(0.95, abs=0.06)  # three standard errors


def test_a_good_judge_makes_intervals_narrower_and_a_bad_one_hardly_wider() -> None:
    rng = np.random.default_rng(8)
    good, bad = (
        np.mean([[e.high - e.low for e, _ in one_set(correlation, rng)] for _ in range(30)], axis=0)
        for correlation in (0.9, 0.0)
    )
    assert good[1] < 0.9 * good[0] and good[3] < 0.9 * good[2]
    assert bad[1] < 1.03 * bad[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda judged: judged.drop("t3"), "has not rated “t3”"),
        (lambda judged: pd.concat([judged, judged.iloc[:1]]), "more than once"),
    ],
)
def test_ratings_that_cannot_be_used_are_refused(change: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        powered(change(judge_of_all()))


# --- the alternative annotator test ---


def three_people(items: int = 30) -> pd.DataFrame:
    """Three people who all say 1 about everything."""
    return pd.DataFrame(
        [(f"t{item}", worker, 1.0) for item in range(items) for worker in "abc"], columns=["item", "worker", "value"]
    )


def judge_wrong_about(wrong: int, items: int = 30) -> pd.Series:
    return pd.Series([0.0] * wrong + [1.0] * (items - wrong), index=[f"t{item}" for item in range(items)])


@pytest.mark.parametrize(
    ("wrong", "margin", "winning_rate"),
    [
        (0, 0.1, 1.0),
        (30, 0.1, 0.0),
        # The mean difference is 1/30 with a standard error of 1/30: t = −2, p = 0.0275 for each. Alone, each is below
        # 0.05; with three people, Benjamini and Yekutieli ask for 0.05 / (1 + 1/2 + 1/3) = 0.0273.
        (1, 0.1, 0.0),
        # t = −3.5, p = 0.0008.
        (1, 0.15, 1.0),
    ],
)
def test_the_test_of_a_judge_by_hand(wrong: int, margin: float, winning_rate: float) -> None:
    test = alternative_annotator_test(three_people(), judge_wrong_about(wrong), nominal=True, margin=margin)
    assert (test.winning_rate, test.people) == (winning_rate, 3)
    assert test.advantage == pytest.approx((30 - wrong) / 30) and test.passes is (winning_rate >= 0.5)


def test_people_with_few_items_are_not_tested() -> None:
    test = alternative_annotator_test(three_people(29), judge_wrong_about(0, 29), nominal=True)
    assert test.people == 0 and test.left_out == 3 and "30 items" in test.note and not test.passes


def test_numbers_agree_by_their_distance() -> None:
    """The others say 2 and 4: a judge's 3 is as far from each as can be had, a person's 5 is further."""
    rows = [(f"t{item}", worker, value) for item in range(30) for worker, value in (("a", 5.0), ("b", 2.0), ("c", 4.0))]
    answers = pd.DataFrame(rows, columns=["item", "worker", "value"])
    judged = pd.Series(3.0, index=[f"t{item}" for item in range(30)])
    test = alternative_annotator_test(answers, judged, nominal=False)
    # a: √((9 + 1) / 2) against √((1 + 1) / 2). b: √((9 + 4) / 2) against √((4 + 1) / 2). c: √((1 + 4) / 2) against the
    # same of 3: |3 − 5| = 2 and |3 − 2| = 1: equal, so both win.
    assert (test.winning_rate, test.advantage) == (1.0, 1.0)


def test_correlations_by_hand() -> None:
    values = {"a": (1, 2, 3, 4, 5), "b": (1, 2, 3, 4, 5), "c": (5, 4, 3, 2, 1)}
    rows = [(f"t{item}", worker, float(v)) for worker, own in values.items() for item, v in enumerate(own)]
    answers = pd.DataFrame(rows, columns=["item", "worker", "value"])
    judged = pd.Series([2.0, 3.0, 4.0, 5.0, 9.0], index=[f"t{item}" for item in range(5)])
    assert with_the_people(answers, judged) == pytest.approx(1.0)  # means 7/3, 8/3, 3, 10/3, 11/3
    # For a and b, the others' mean is 3 throughout: not defined. For c, it is a's and b's: −1.
    correlation, people = with_the_others(answers)
    assert correlation == pytest.approx(-1.0) and people == 1


# --- the command ---


def write(folder: Path, name: str, content: str) -> str:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return str(path)


def people_file(folder: Path) -> str:
    rows = [f"t{n},w{n % 6},{'ab'[n % 2]},{PEOPLE[n % 8] + w:g}" for n in range(12) for w in (0, 1)]
    rows = [row.replace(f",w{n % 6},", f",w{(n + k) % 6},") for k in (0, 1) for n, row in enumerate(rows[k::2])]
    return write(folder, "people.csv", "item,worker,system,value\n" + "\n".join(rows) + "\n")


def judge_file(folder: Path, extra: str = "") -> str:
    rows = [f"t{n},{'ab'[n % 2]},{(SAME + OTHERS)[n % 20]:g}" for n in range(40)]
    return write(folder, "judge.csv", "item,system,value\n" + "\n".join([*rows, *([extra] if extra else [])]) + "\n")


def test_the_command_prints_levels_differences_bias_and_agreement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judges", people_file(tmp_path), "--judge", judge_file(tmp_path), "--factor", "system"]) == 0
    printed = capsys.readouterr().out
    assert "24 answers by 6 workers about 12 of\n40 items" in printed
    for words in ("people and judge", "a − b: ", "less people’s answer", "Spearman’s ρ", "differ most"):
        assert words in printed
    assert "6 people with fewer than 30 items" in printed


def test_items_without_a_level_are_left_out_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge = judge_file(tmp_path, "t99,,3")
    assert main(["judges", people_file(tmp_path), "--judge", judge, "--factor", "system"]) == 0
    printed = capsys.readouterr().out
    assert "of\n40 items that the judge rated" in printed and "1 item of the judge’s without a level" in printed


def test_an_answer_without_a_level_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = write(tmp_path, "people.csv", "item,worker,system,value\nt1,w1,a,3\nt2,w1,,4\n")
    assert main(["judges", people, "--judge", judge_file(tmp_path), "--factor", "system"]) == 2
    assert 'row 2, column "system": the cell is empty' in capsys.readouterr().err


def test_json_has_every_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judges", people_file(tmp_path), "--judge", judge_file(tmp_path), "--json"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert set(outcome["estimates"]) == {"value.people", "value.both", "value.bias"}
    assert outcome["data"]["value"]["items_of_judge"] == 40
    assert outcome["figures"]["value.agreement"]["alternative_annotator_test"]["left_out"] == 6


@pytest.mark.parametrize(
    ("judge", "options", "words"),
    [
        ("item,value\nt1,six\n", [], "“six”|six"),
        ("item,value\nt1,9\n", ["--low", "1", "--high", "6"], "not on the scale from 1 to 6"),
        ("item,value\nother,3\n", [], "rated no item that people rated"),
        ("item,points\nt1,3\n", [], "there is no such column"),
        ("item,value\n,3\n", [], "the cell is empty"),
        ("item,value\nt1,3\n", ["--low", "5", "--high", "1"], "no ends of a scale"),
        ("item,value\n", [], ""),
    ],
)
def test_bad_input_is_named(
    judge: str, options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["judges", people_file(tmp_path), "--judge", write(tmp_path, "j.csv", judge), *options]
    assert main(arguments) == 2
    printed = capsys.readouterr().err
    assert any(word in printed for word in words.split("|")) and "Traceback" not in printed
