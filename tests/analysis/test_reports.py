"""The numbers of a report are right, complete, and the same for the same seed."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

from analysis.description import Score
from tests.analysis.support.examples import CLASS_VALUES, CLASSES, TEXTBOOK, UNITS
from tests.analysis.support.pages import Page, built, unknown_numbers
from tests.analysis.support.studies import (
    RNK_HDS,
    SIM_HDS,
    Values,
    a_pair,
    a_set,
    study_data,
)


def test_alpha_of_the_textbook_example(tmp_path: Path) -> None:
    data = study_data(UNITS, TEXTBOOK)

    page, sections = built(data, tmp_path)

    alpha = sections["answers"]["diversity"]["agreement"]["Krippendorff’s α, ordinal"]
    assert alpha["value"] == pytest.approx(0.815, abs=5e-4)  # as printed there
    assert alpha["n"] == 11
    assert "fewer than 2 ratings" in alpha["note"]  # the twelfth unit
    assert alpha["low"] < alpha["value"] < alpha["high"]
    assert "0.815" in page


def test_level_and_distribution(tmp_path: Path) -> None:
    data = study_data(CLASSES, CLASS_VALUES)

    _, sections = built(data, tmp_path)

    diversity = sections["answers"]["diversity"]
    assert diversity["n"] == 16
    assert diversity["location"]["Mean"]["value"] == pytest.approx(28 / 8)
    # Squares of 1 2 3 4.5 3.5 4 5 5, each twice, sum to 225; less 16 · 3.5² leaves 29 over 15.
    assert diversity["location"]["Standard deviation"]["value"] == pytest.approx(math.sqrt(29 / 15))
    assert (diversity["location"]["Mean"]["n"], diversity["location"]["Mean"]["n_of"]) == (16, "answers")
    counts = {row["value"]: row["n"] for row in diversity["distribution"]}
    assert counts == {1: 2, 1.5: 0, 2: 2, 2.5: 0, 3: 2, 3.5: 2, 4: 2, 4.5: 2, 5: 4}
    assert diversity["agreement"]["Percent agreement"]["value"] == 1


def test_two_classes_give_rho_oca_and_the_threshold(tmp_path: Path) -> None:
    data = study_data(CLASSES, CLASS_VALUES)

    page, sections = built(data, tmp_path)

    found = sections["diversity"]["diversity"]
    assert found["test"] == "contest"
    human = found["tests"]["absHDS"]
    # Ranks of the low class 1 2 3 6, of the high class 4 5 7.5 7.5: covariance 6, sums of squares 2 and 41.5.
    assert human["spearman"]["value"] == pytest.approx(6 / math.sqrt(2 * 41.5))
    assert human["second"]["value"] == pytest.approx(7 / 8)
    assert human["threshold"]["value"] == pytest.approx(3.25)
    assert "best threshold 3.25: 0.88 right" in page
    assert set(found["tests"]) == {"absHDS", "distinct-n", "cos-sim"}


def test_a_set_s_score_its_spread_and_its_size(tmp_path: Path) -> None:
    data = study_data(["one", "two"], {("one", "anna"): 2.0, ("one", "ben"): 4.0, ("two", "ben"): 5.0})

    _, sections = built(data, tmp_path)

    one, two = sections["diversity"]["diversity"]["sets"]
    assert (one["item"], one["score"], one["sd"], one["n"]) == ("one", 3.0, 1.0, 2)  # n in the denominator
    assert (two["item"], two["score"], two["sd"], two["n"]) == ("two", 5.0, 0.0, 1)
    assert two["low"] is None


def test_similarity_scores_are_minus_the_mean_over_pairs(tmp_path: Path) -> None:
    values: Values = {
        ("one", "anna"): {"0-1": 1.0, "0-2": 3.0, "1-2": 5.0},
        ("one", "ben"): {"0-1": 2.0, "0-2": 2.0, "1-2": 5.0},
    }
    data = study_data(["one"], values, **SIM_HDS)

    _, sections = built(data, tmp_path)

    (one,) = sections["diversity"]["similarity"]["sets"]
    assert one["score"] == pytest.approx(-(1.5 + 2.5 + 5) / 3)
    assert one["n"] == 6
    assert sections["answers"]["similarity"]["agreement"]["Percent agreement"]["n"] == 3  # pairs


def test_a_score_may_reverse_a_question(tmp_path: Path) -> None:
    values: Values = {("one", "anna"): 2.0, ("one", "ben"): 4.0, ("one", "cy"): 3.0}
    data = study_data(["one"], values, scores=(Score("diversity", "sameness", -1),))

    _, sections = built(data, tmp_path)

    (one,) = sections["diversity"]["diversity"]["sets"]
    assert one["score"] == -3.0
    assert one["low"] + one["high"] == pytest.approx(-6.0)
    assert one["low"] < -3.0 < one["high"]


def test_a_numeric_parameter_gives_correlations(tmp_path: Path) -> None:
    items = [a_set(f"t{at}", label=at / 10) for at in range(1, 9)]
    scores = [1.0, 2.0, 1.5, 3.0, 3.5, 4.0, 4.5, 5.0]
    data = study_data(items, {(f"t{at}", "anna"): score for at, score in enumerate(scores, start=1)})

    page, sections = built(data, tmp_path)

    found = sections["diversity"]["diversity"]
    assert found["test"] == "dectest"
    # One swap of neighbours among eight: 1 − 6 · 2 / (8 · 63).
    assert found["tests"]["absHDS"]["spearman"]["value"] == pytest.approx(1 - 12 / 504)
    assert "absHDS against temp" in page


def test_comparisons_are_tested_by_the_sign_of_their_difference(tmp_path: Path) -> None:
    items = [a_pair(f"p{at}", labels) for at, labels in enumerate([(1, 0), (0, 1), (0, 1), (1, 0)])]
    ratings = [5.0, 1.5, 2.0, 3.0]  # right three times, then a tie, which is a miss
    values = {(f"p{at}", "anna"): value for at, value in enumerate(ratings)}
    data = study_data(items, values, **RNK_HDS)

    page, sections = built(data, tmp_path)

    found = sections["diversity"]["ranking"]
    assert found["test"] == "ranking"
    assert found["tests"]["rnkHDS"]["second"]["value"] == pytest.approx(3 / 4)
    assert "no difference" in page
    # Ratings are stored for set 1 and set 2, whichever side of the page each was on; workers read A and B.
    answered = {row["value"]: row for row in sections["answers"]["ranking"]["distribution"]}
    assert (answered[5]["answer"], answered[5]["n"]) == ("5 Set 1 is much more", 1)
    assert "5 Set A is much more" in page
    # All pairs share one context, so there is nothing to resample together.
    assert "belong together" not in page
    assert "5 workers, and there is only 1" in found["tests"]["rnkHDS"]["spearman"]["note"]


def test_differences_that_are_equal_but_for_rounding_tie(tmp_path: Path) -> None:
    labels = [(0.3, 0.6), (0.6, 0.9), (0.9, 1.2), (0.6, 0.3), (0.9, 0.6), (1.2, 0.9)]
    items = [a_pair(f"p{at}", pair) for at, pair in enumerate(labels)]
    values = {(f"p{at}", "anna"): value for at, value in enumerate([1.0, 2.0, 1.5, 4.0, 5.0, 4.5])}
    data = study_data(items, values, **RNK_HDS)

    page, sections = built(data, tmp_path)

    # Two values of the parameter, −0.3 and 0.3; Spearman's rho with ranks 2, 2, 2, 5, 5, 5.
    found = sections["diversity"]["ranking"]["tests"]["rnkHDS"]["spearman"]["value"]
    assert found == pytest.approx(27 / math.sqrt(17.5 * 13.5) / 2)
    assert "made with 2 values of temp" in page


@pytest.mark.released
@pytest.mark.parametrize(
    ("task", "human", "distinct", "cosine"),
    [
        ("story", (0.85, 0.95), (0.57, 0.77), (0.56, 0.77)),
        ("resp", (0.63, 0.81), (0.345, 0.675), (0.33, 0.66)),
        ("prompt", (0.78, 0.89), (0.33, 0.68), (0.36, 0.67)),
    ],
)
def test_the_published_figures_come_out_of_the_released_sets(
    task: str,
    human: tuple[float, float],
    distinct: tuple[float, float],
    cosine: tuple[float, float],
    released: Path,
    tmp_path: Path,
) -> None:
    """Tevet & Berant 2021, table 4 (conTest); the released mean of each set stands in for its ratings."""
    path = released / "diversity-eval" / "conTest" / f"con_test_200_with_hds_{task}_gen.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    items, values = [], {}
    for number, row in enumerate(rows):
        responses = [row[name] for name in sorted(row) if name.startswith("resp_")]
        items.append(a_set(str(number), label=float(row["label_value"]), responses=responses, context=row["context"]))
        values[str(number), "all of them"] = float(row["metric_abs_hds_mean"])
    data = study_data(items, values)

    _, sections = built(data, tmp_path)

    tests = sections["diversity"]["diversity"]["tests"]
    for name, (rho, oca) in {"absHDS": human, "distinct-n": distinct, "cos-sim": cosine}.items():
        assert tests[name]["spearman"]["value"] == pytest.approx(rho, abs=0.0061), name
        assert tests[name]["second"]["value"] == pytest.approx(oca, abs=0.0061), name
    assert tests["distinct-n"]["spearman"]["method"].startswith("percentile bootstrap over groups of sets")
    # The released means stand for all workers, so nothing says how workers differ.
    assert tests["absHDS"]["spearman"]["note"] == "an interval needs at least 5 workers, and there is only 1"


def test_what_a_person_left_out_does_not_count(tmp_path: Path) -> None:
    values: Values = {("one", "anna"): 2.0, ("one", "ben"): 4.0, ("one", "carl"): 5.0, ("one", "dora"): 4.5}
    data = study_data(["one"], values, excluded=[3, 4], flags=[(1, "copied"), (3, "copied")])

    page, sections = built(data, tmp_path)

    assert sections["diversity"]["diversity"]["sets"][0]["score"] == 3.0
    assert sections["data"]["submissions_left_out"] == 2
    assert sections["workers"]["flags"] == [{"reason": "copied", "submissions": 2, "share": 2 / 4, "left_out": 1}]
    assert "2 left out by review or rule" in page


def test_workers_are_compared_with_the_rest(tmp_path: Path) -> None:
    values: Values = {}
    for at, value in enumerate([1.0, 2.0, 3.0, 4.0]):
        values = {**values, (f"i{at}", "anna"): value, (f"i{at}", "ben"): value, (f"i{at}", "high"): value + 1}
    data = study_data([a_set(f"i{at}") for at in range(4)], values)

    _, sections = built(data, tmp_path)

    workers = {row["worker"]: row for row in sections["workers"]["diversity"]}
    assert workers["high"]["bias"] == pytest.approx(1)
    assert workers["anna"]["bias"] == pytest.approx(-0.5)
    assert workers["anna"]["agreement"] == pytest.approx(1)
    assert workers["anna"]["ratings"] == 4


def test_the_same_data_and_seed_give_the_same_numbers(tmp_path: Path) -> None:
    data = study_data(CLASSES, CLASS_VALUES)

    first, second, other = (built(data, tmp_path / name, seed=seed)[1] for name, seed in (("a", 5), ("b", 5), ("c", 6)))

    assert first == second
    assert first != other


def test_every_number_in_a_table_is_in_the_json(tmp_path: Path) -> None:
    page, sections = built(study_data(CLASSES, CLASS_VALUES), tmp_path)

    shown = Page(page)
    assert len(shown.numbers) > 200
    assert unknown_numbers(shown, sections) == []
