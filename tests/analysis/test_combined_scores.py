"""Scores that are made of several topics, sums over parts and scores of parts: counted by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pandas as pd
import pytest
from scipy import stats

from analysis.description import Score, Term
from analysis.description_json import description_from_json, description_to_json
from analysis.scores import combined, item_scores, own_scores
from tests.analysis.support.studies import LIKERT, a_set, study_data

#: Best minus worst, for each text of a set.
BEST_WORST = Score("quality", "Best − worst", low=-1, high=1, over="part", terms=(Term("best"), Term("worst", -1.0)))
#: Minor errors weigh 1, major ones 5; a text without errors has 0.
ERRORS = Score("errors", "Weighted errors", -1, over="sum", absent=True, terms=(Term("severity"),))


def frame(*rows: tuple[str, str, str, str, float]) -> pd.DataFrame:
    """Item, worker, question, target, value."""
    return pd.DataFrame(rows, columns=["item", "worker", "question", "target", "value"]).assign(
        arm=lambda rated: rated["worker"].map(lambda worker: f"arm of {worker}"), text=""
    )


def choice(item: str, worker: str, best: int, worst: int) -> list[tuple[str, str, str, str, float]]:
    """A choice among four texts, as questions with one choice of several options store it."""
    return [
        (item, worker, question, str(text), float(text == chosen))
        for question, chosen in (("best", best), ("worst", worst))
        for text in range(4)
    ]


CHOICES = frame(
    *choice("s", "ann", 0, 3), *choice("s", "ben", 0, 2), *choice("s", "cat", 1, 3), *choice("s", "dan", 0, 1)
)


def test_the_score_of_a_text_is_its_share_as_best_minus_its_share_as_worst() -> None:
    """Text 0 is best for three of four and never worst: 3/4. Text 1: 1/4 − 1/4 = 0. Text 2: −1/4. Text 3: −2/4.
    Standard deviations with n in the denominator: of (1, 1, 0, 1), (0, 0, 1, −1), (0, −1, 0, 0), (−1, 0, −1, 0)."""
    scores = item_scores(CHOICES, BEST_WORST)

    assert scores.index.tolist() == [("s", "0"), ("s", "1"), ("s", "2"), ("s", "3")]
    assert scores["score"].tolist() == [0.75, 0.0, -0.25, -0.5]
    assert scores["sd"].tolist() == pytest.approx([math.sqrt(3) / 4, math.sqrt(0.5), math.sqrt(3) / 4, 0.5])
    assert scores["n"].tolist() == scores["workers"].tolist() == [4] * 4


def test_the_interval_of_a_part_is_that_of_its_answers() -> None:
    plain = Score("quality", "", over="part", terms=BEST_WORST.terms)
    row = item_scores(CHOICES, plain).xs(("s", "1"))

    assert (row["low"], row["high"]) == pytest.approx(stats.t.interval(0.95, 3, 0.0, stats.sem([0, 0, 1, -1])))


def test_a_worker_who_left_out_a_term_has_no_answer() -> None:
    half = [row for row in choice("s", "eve", 3, 0) if row[2] == "best"]
    ratings = pd.concat([CHOICES, frame(*half)])

    assert item_scores(ratings, BEST_WORST)["score"].tolist() == [0.75, 0.0, -0.25, -0.5]


MARKED = frame(
    ("t1", "ann", "found_errors", "", 2.0), ("t1", "ann", "severity", "1", 5.0), ("t1", "ann", "severity", "2", 1.0),
    ("t1", "ben", "found_errors", "", 1.0), ("t1", "ben", "severity", "1", 1.0),
    ("t1", "cat", "found_errors", "", 0.0),
    ("t2", "ann", "found_errors", "", 0.0), ("t2", "ben", "found_errors", "", 0.0),
)  # fmt: skip


def test_errors_are_summed_and_a_text_without_any_has_zero() -> None:
    """Of t1: 6 by ann, 1 by ben, 0 by cat: mean 7/3, as a score −7/3; s.d. √(62/9). t2: nobody found any."""
    scores = item_scores(MARKED, ERRORS)

    assert scores["score"].to_dict() == pytest.approx({"t1": -7 / 3, "t2": 0.0})
    assert scores["sd"].to_dict() == pytest.approx({"t1": math.sqrt(62 / 9), "t2": 0.0})
    assert scores["n"].to_dict() == {"t1": 3, "t2": 2}
    assert (scores.loc["t1", "low"], scores.loc["t1", "high"]) == pytest.approx(
        stats.t.interval(0.95, 2, -7 / 3, stats.sem([6, 1, 0]))
    )


def test_without_absent_only_those_count_who_found_an_error() -> None:
    score = Score("errors", "", over="sum", terms=(Term("severity"),))

    assert item_scores(MARKED, score)["score"].to_dict() == {"t1": 3.5}


def test_absent_parts_count_as_zero_in_a_mean_over_parts() -> None:
    """Part 1 has 5, 1 and 0, part 2 has 1, 0 and 0: (2 + 1/3) / 2."""
    score = Score("errors", "", absent=True, terms=(Term("severity"),))

    assert item_scores(MARKED, score)["score"].to_dict() == pytest.approx({"t1": 7 / 6, "t2": 0.0})


def test_a_part_that_one_worker_rated_has_a_score_with_zeros_of_the_others() -> None:
    score = Score("errors", "", over="part", absent=True, terms=(Term("severity"),))

    scores = item_scores(MARKED, score)

    assert scores["score"].to_dict() == pytest.approx({("t1", "1"): 2.0, ("t1", "2"): 1 / 3})


def test_own_scores_are_each_workers_sum() -> None:
    own = own_scores(MARKED, ERRORS)

    assert own.to_numpy().tolist() == [["t1", "ann", -6.0], ["t1", "ben", -1.0], ["t1", "cat", 0.0],
                                       ["t2", "ann", 0.0], ["t2", "ben", 0.0]]  # fmt: skip


def test_combined_answers_keep_the_other_columns_of_the_ratings() -> None:
    answers = combined(MARKED, ERRORS)

    assert answers[["item", "worker", "question", "arm", "value"]].to_numpy().tolist()[0] == [
        "t1", "ann", "errors", "arm of ann", 6.0,
    ]  # fmt: skip
    assert set(answers["target"]) == {""}


def test_a_sum_of_two_topics_with_weights() -> None:
    """Twice the first minus the second, of each worker: 2·3 − 1 = 5 and 2·1 − 4 = −2."""
    ratings = frame(
        ("i", "ann", "a", "", 3), ("i", "ann", "b", "", 1), ("i", "ben", "a", "", 1), ("i", "ben", "b", "", 4)
    )
    score = Score("both", "", terms=(Term("a", 2.0), Term("b", -1.0)))

    assert item_scores(ratings, score)["score"].to_dict() == {"i": 1.5}


def test_answers_about_no_item_and_second_answers_are_left_out() -> None:
    ratings = pd.concat([MARKED, frame(("", "ann", "severity", "1", 9.0), ("t1", "ben", "severity", "1", 9.0))])

    assert item_scores(ratings, ERRORS)["score"].to_dict() == pytest.approx({"t1": -7 / 3, "t2": 0.0})


def test_no_ratings_give_no_scores() -> None:
    assert item_scores(MARKED.iloc[:0], ERRORS).empty
    assert item_scores(CHOICES.iloc[:0], BEST_WORST).empty


@pytest.mark.parametrize("values", [{"over": "sum"}, {"absent": True}])
def test_what_is_combined_needs_terms_and_a_topic_of_its_own(values: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="name its terms"):
        Score("severity", "", **values)  # type: ignore[arg-type]


def test_a_frame_without_topics_is_refused() -> None:
    with pytest.raises(ValueError, match="a column 'question' is missing"):
        item_scores(MARKED.drop(columns="question"), ERRORS)


def test_bundles_keep_terms() -> None:
    description = replace(study_data([a_set("a")], {}, **LIKERT).description, scores=[ERRORS, BEST_WORST])

    scores = description_from_json(json.loads(json.dumps(description_to_json(description)))).scores

    assert [replace(score, terms=tuple(score.terms)) for score in scores] == [ERRORS, BEST_WORST]
