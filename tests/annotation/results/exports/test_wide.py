"""The wide export: a row for every item, with the same figures as the report."""

from __future__ import annotations

import math
from typing import Any
from unittest.mock import patch

import pytest

from analysis.report import report_numbers
from annotation.models import Item
from annotation.results import exports
from annotation.results.exports.items import merged_columns, with_metrics
from annotation.results.frames import study_data
from annotation.studies.items_overview import item_rows
from annotation.task_types.hds.hds_type import HdsType
from annotation.task_types.kinds.choices import ChoicesQuestion
from annotation.task_types.questions import Option
from tests.annotation.results.exports.helpers import (
    OF_RATINGS,
    exclude,
    exported,
    one_set,
    rated,
    read_csv,
    study_of,
)
from tests.factories import make_participant, make_study, make_submission


@pytest.mark.django_db
def test_wide_gives_mean_sd_and_n_of_every_question_and_the_score() -> None:
    study = study_of([one_set(), one_set(sample_id="b", context="Unrated.")], ratings=3)
    rated(
        study,
        {
            "x": [("a", "diversity", "", 4.5), ("a", "quality", "0", 2.0)],
            "y": [("a", "diversity", "", 3.0), ("a", "quality", "0", 4.0)],
            "z": [("a", "diversity", "", 1.5)],
        },
    )
    found = read_csv(exported(study, "wide"))
    # mean (4.5 + 3 + 1.5) / 3 = 3; s.d. with ddof 0 = sqrt((2.25 + 0 + 2.25) / 3) = sqrt(1.5)
    assert float(found[0]["diversity_mean"]) == 3.0
    assert float(found[0]["diversity_sd"]) == pytest.approx(math.sqrt(1.5))
    assert (found[0]["diversity_n"], found[0]["quality_n"], found[0]["own_response_n"]) == ("3", "2", "0")
    assert (float(found[0]["quality_mean"]), float(found[0]["quality_sd"])) == (3.0, 1.0)
    assert float(found[0]["score"]) == 3.0
    assert (found[0]["submissions"], found[0]["synthetic"]) == ("3", "0")
    assert [found[1][name] for name in ("diversity_mean", "diversity_sd", "diversity_n", "score")] == ["", "", "0", ""]
    assert [row["item"] for row in found] == ["a", "b"]
    assert found[1]["context"] == "Unrated."


@pytest.mark.django_db
def test_similarity_scores_are_minus_the_mean_over_pairs_each_pair_the_same() -> None:
    study = study_of([one_set(resp_2="Well.")], task_type="sim_hds", ratings=2)
    rated(
        study,
        {
            "x": [("a", "similarity", "0-1", 5.0), ("a", "similarity", "0-2", 1.0), ("a", "similarity", "1-2", 3.0)],
            "y": [("a", "similarity", "0-1", 3.0)],
        },
    )
    (row,) = read_csv(exported(study, "wide"))
    # pairs' means 4, 1, 3: mean 8/3; the workers' own means 3 and 3: s.d. 0
    assert float(row["score"]) == pytest.approx(-8 / 3)
    assert float(row["similarity_mean"]) == pytest.approx(8 / 3)
    assert (float(row["similarity_sd"]), row["similarity_n"]) == (0.0, "4")
    (row,) = read_csv(exported(study, "diversity-eval"))
    assert (row["metric_sim_hds_mean"], row["metric_sim_hds_std"]) == ("-2.667", "0.000")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("task_type", "topic"),
    [("abs_hds", "diversity"), ("asp_hds", "diversity"), ("rnk_hds", "ranking"), ("sim_hds", "similarity")],
)
def test_export_console_and_report_have_one_score_of_an_item(task_type: str, topic: str) -> None:
    study = make_study(task_type=task_type, items=4, ratings_per_item=4, hits_per_worker=None, responses=3)
    for number in range(4):
        worker = make_participant(study=study)
        for _ in range(4 - number):
            last = make_submission(study=study, participant=worker, profile="noisy", seed=number)
    exclude(last)
    reported = report_numbers(study_data(study), draws=10)["sections"]["diversity"][topic]["sets"]
    of_report = {each["item"]: each for each in reported}
    shown = {row.item.external_id: row.scores[0] for row in item_rows(study, list(study.items.all()))}
    found = read_csv(exported(study, "wide"))
    assert len(found) == len(shown) == 4
    for row in found:
        item, expected = shown[row["item"]], of_report[row["item"]]
        assert float(row["score"]) == item.score == expected["score"]
        assert float(row[f"{topic}_sd"]) == item.sd == expected["sd"]
        assert (item.low, item.high) == (expected["low"], expected["high"])
        assert int(row[f"{topic}_n"]) == item.n == expected["n"]


@pytest.mark.django_db
def test_a_study_with_arms_has_a_row_for_every_item_and_arm() -> None:
    arms: list[dict[str, Any]] = [{"name": "alone"}, {"name": "together", "config": {"write_first": False}}]
    study = study_of([one_set(), one_set(sample_id="b")], ratings=2, arms=arms)
    low = [("a", "diversity", "", 1.0), ("b", "diversity", "", 2.0)]
    made = rated(study, {"x": low, "y": [("a", "diversity", "", 5.0)]})
    names = {name: submission.participant.arm.name for name, submission in made.items()}
    assert sorted(names.values()) == ["alone", "together"]
    found = {(row["item"], row["arm"]): (row["submissions"], row["score"]) for row in read_csv(exported(study, "wide"))}
    assert found == {
        ("a", names["x"]): ("1", "1.0"),
        ("a", names["y"]): ("1", "5.0"),
        ("b", names["x"]): ("1", "2.0"),
        ("b", names["y"]): ("0", ""),
    }
    assert [row["metric_abs_hds_mean"] for row in read_csv(exported(study, "diversity-eval"))] == ["3.000", "2.000"]


@pytest.mark.django_db
def test_a_study_without_arms_has_no_column_for_them_and_the_role_of_each_item() -> None:
    study = study_of([one_set(), one_set(sample_id="b")])
    Item.objects.filter(external_id="b").update(role="gold")
    found = read_csv(exported(study, "wide"))
    assert "arm" not in found[0]
    assert [row["role"] for row in found] == ["main", "gold"]


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["wide", "diversity-eval"])
def test_what_a_review_left_out_counts_nowhere(kind: str) -> None:
    study = study_of([one_set()], ratings=3)
    made = rated(
        study,
        {"x": [("a", "diversity", "", 5.0)], "y": [("a", "diversity", "", 1.0)], "z": [("a", "diversity", "", 4.0)]},
    )
    exclude(made["y"])
    (row,) = read_csv(exported(study, kind))
    name = "score" if kind == "wide" else "metric_abs_hds_mean"
    assert float(row[name]) == 4.5


@pytest.mark.django_db
def test_simulated_workers_are_counted_apart_and_named_in_the_file_name() -> None:
    study = study_of([one_set()], ratings=2)
    person = rated(study, {"x": [("a", "diversity", "", 5.0)]})["x"]
    assert exports.file_name(study, kind="wide", format="csv") == f"{study.slug}-wide.csv"
    bot = rated(study, {"bot": [("a", "diversity", "", 2.0)]})["bot"]
    type(bot.participant).objects.filter(pk=bot.participant_id).update(synthetic=True)
    by_choice = {choice: read_csv(exported(study, "wide", simulated=choice))[0] for choice in (None, False, True)}
    assert {choice: float(row["score"]) for choice, row in by_choice.items()} == {None: 3.5, False: 5.0, True: 2.0}
    assert (by_choice[None]["submissions"], by_choice[None]["synthetic"]) == ("2", "1")
    for kind in OF_RATINGS:
        assert exports.file_name(study, kind=kind, format="csv") == f"{study.slug}-{kind}-simulated.csv"
        assert exports.file_name(study, kind=kind, format="csv", simulated=False) == f"{study.slug}-{kind}.csv"
    exclude(bot)
    assert exports.file_name(study, kind="diversity-eval", format="csv") == f"{study.slug}-diversity-eval.csv"
    assert exports.file_name(study, kind="long", format="csv") == f"{study.slug}-long-simulated.csv"
    assert person.participant.synthetic is False


@pytest.mark.django_db
def test_a_column_of_the_file_that_has_one_of_our_names_is_kept_under_another() -> None:
    study = study_of([one_set(score="theirs", item="their item", source_item="and this")])
    (row,) = read_csv(exported(study, "wide"))
    assert (row["item"], row["score"]) == ("a", "")
    assert (row["source_score"], row["source_item"], row["source_source_item"]) == ("theirs", "their item", "and this")


def test_columns_of_later_items_are_beside_their_neighbours() -> None:
    assert merged_columns([["id", "r0", "r1", "x"], ["id", "r0", "r1", "r2", "x", "y"], ["z", "id"]]) == [
        "z", "id", "r0", "r1", "r2", "x", "y",
    ]  # fmt: skip


def test_metrics_are_in_the_columns_of_the_released_files() -> None:
    ours = ["metric_m_mean", "metric_m_std"]
    assert with_metrics(["id", "r0", "metric_x"], ours) == ["id", "r0", *ours, "metric_x"]
    assert with_metrics(["id", "r0"], ours) == ["id", "r0", *ours]
    assert with_metrics(["id", *ours, "metric_x"], ours) == ["id", *ours, "metric_x"]
    assert with_metrics(["id", "metric_x", "metric_m_std"], ours) == ["id", *ours, "metric_x"]


@pytest.mark.django_db
def test_options_have_a_column_each_and_answers_are_counted_once() -> None:
    """Two answers: the first ticked one option, the second both."""
    study = study_of([one_set()], ratings=2)
    rated(
        study,
        {
            "x": [("a", "problems", "off", 1.0), ("a", "problems", "vague", 0.0)],
            "y": [("a", "problems", "off", 1.0), ("a", "problems", "vague", 1.0)],
        },
    )
    asked = ChoicesQuestion("p", "What is wrong?", "problems", options=(Option("off", "Off"), Option("vague", "Vague")))
    with patch.object(HdsType, "describe_questions", return_value=[asked.describe()]):
        (row,) = read_csv(exported(study, "wide"))
    assert (row["problems_off"], row["problems_vague"], row["problems_n"]) == ("1.0", "0.5", "2")
