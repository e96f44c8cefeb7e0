"""The frames hold what was rated, under pseudonyms, without what a person left out, in a fixed number of queries."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.data import read_bundle, write_bundle
from analysis.report import report_numbers
from analysis.study_tables import TABLES, FlagRow, ItemRow, RatingRow, SubmissionRow
from annotation.instrument import live_instrument
from annotation.models import Arm, Flag, Rating, Study, Submission
from annotation.results.frames import StudyRows, study_data
from annotation.task_types.items import ItemData
from annotation.work.excluding import review_submission
from tests.factories import make_participant, make_researcher, make_study, make_submission
from tests.report_data import a_set, rated_study

pytestmark = pytest.mark.django_db

ITEMS = [a_set("first"), a_set("second")]


@pytest.fixture
def user() -> User:
    return make_researcher("reviewer")


def test_a_rating_is_shown_with_its_item_worker_and_time() -> None:
    study = rated_study(ITEMS, {("second", "anna"): 4.5})

    (row,) = study_data(study).ratings.to_dict("records")

    assert (row["item"], row["question"], row["target"], row["value"]) == ("second", "diversity", "", 4.5)
    assert (row["seconds"], row["text"], row["synthetic"]) == (8.0, "", False)
    assert row["worker"] == study.participants.get().pseudonym


def test_nobody_is_known_by_their_name_on_the_platform() -> None:
    study = rated_study(ITEMS, {("first", "anna.adams"): 1.0, ("second", "anna.adams"): 2.0})

    data = study_data(study)

    for frame in (data.all_ratings, data.items, data.submissions, data.flags):
        assert "anna" not in frame.to_csv()


def test_items_come_in_the_order_of_the_file_with_their_number_of_submissions() -> None:
    study = rated_study(ITEMS, {("second", "anna"): 4.0, ("second", "ben"): 5.0})

    items = study_data(study).items

    assert items[["item", "n"]].to_numpy().tolist() == [["first", 0], ["second", 2]]
    assert items["cells"][1]["resp_0"] == "One answer here."
    assert items["wanted"].tolist() == [20, 20]


def test_an_item_rated_part_by_part_counts_its_submissions_not_its_parts() -> None:
    study = rated_study(
        ITEMS, {("first", "anna"): {"0-1": 2.0, "0-2": 3.0}}, task_type="sim_hds", question="similarity"
    )

    assert study_data(study).items["n"].tolist() == [1, 0]


def test_an_excluded_submission_gives_no_rating_until_it_is_included_again(user: User) -> None:
    study = rated_study(ITEMS, {("first", "anna"): 1.0, ("first", "ben"): 5.0})
    submission = Submission.objects.get(ratings__value=5.0)

    review_submission(submission=submission, decision="exclude", note="clicked through", user=user)
    data = study_data(study)

    assert data.ratings["value"].tolist() == [1.0]
    assert (data.excluded, len(data.submissions), len(data.used)) == (1, 2, 1)
    assert data.items["n"].tolist() == [1, 0]
    assert data.all_ratings["value"].tolist() == [1.0, 5.0]

    review_submission(submission=submission, decision="include", note="", user=user)

    assert study_data(study).ratings["value"].tolist() == [1.0, 5.0]
    assert study_data(study).excluded == 0


def test_simulated_workers_are_marked() -> None:
    study = rated_study(ITEMS, {("first", "anna"): 1.0, ("first", "bot"): 5.0}, synthetic=["bot"])

    data = study_data(study)

    assert data.ratings["synthetic"].tolist() == [False, True]
    assert data.submissions["synthetic"].tolist() == [False, True]
    assert data.synthetic == 1


def test_flags_and_assignments_are_shown() -> None:
    study = rated_study(ITEMS, {("first", "anna"): 1.0})
    Flag.objects.create(submission=Submission.objects.get(), reason="copied", detail="from the context")

    data = study_data(study)

    assert data.flags[["reason", "detail"]].to_numpy().tolist() == [["copied", "from the context"]]
    assert data.description.assignments == {"submitted": 1}


def test_ratings_of_another_study_stay_out() -> None:
    rated_study([a_set("first")], {("first", "anna"): 1.0})
    study = rated_study([a_set("first")], {("first", "anna"): 5.0})

    assert study_data(study).ratings["value"].tolist() == [5.0]


def test_an_empty_study_has_frames_with_their_columns() -> None:
    data = study_data(make_study(items=0, live=False))

    assert set(RatingRow._fields) <= set(data.ratings.columns)
    assert list(data.items.columns) == [*ItemRow._fields, "n"]
    assert list(data.submissions.columns) == list(SubmissionRow._fields)
    assert list(data.flags.columns) == list(FlagRow._fields)
    assert (data.excluded, data.synthetic, data.description.assignments) == (0, 0, {})


def test_the_same_number_of_queries_whatever_the_size() -> None:
    study = make_study(items=4, ratings_per_item=3)
    counts = []
    for _ in range(2):
        for _ in range(3):
            make_submission(study=study, participant=make_participant(study=study))
        with CaptureQueriesContext(connection) as queries:
            study_data(study)
        counts.append(len(queries))

    assert counts == [22, 22]


def test_every_table_has_a_method_that_makes_its_rows() -> None:
    methods = {name for name, value in vars(StudyRows).items() if callable(value) and not name.startswith("_")}

    assert methods - {"tables"} == set(TABLES)


# --- arms, roles, questions about no item ---


def two_arms(**values: Any) -> Study:
    arms: list[dict[str, Any]] = [
        {"name": "low", "reward": "0.100", "wanted": 5},
        {"name": "high", "reward": "0.400", "config": {"write_first": False}, "texts": {"instructions": "Only rate."}},
    ]
    return make_study(items=2, ratings_per_item=3, hits_per_worker=None, arms=arms, reward="0.250", **values)


def test_each_submission_names_its_arm_and_what_it_paid() -> None:
    study = two_arms()
    made = [make_submission(study=study) for _ in range(4)]

    data = study_data(study)

    expected = {each.pk: each.participant.arm.name for each in made}
    assert dict(zip(data.submissions["submission"], data.submissions["arm"], strict=True)) == expected
    assert sorted(expected.values()) == ["high", "high", "low", "low"]
    paid = set(zip(data.submissions["arm"], data.submissions["reward"], strict=True))
    assert paid == {("low", "0.100"), ("high", "0.400")}
    assert set(data.ratings["arm"]) == {"low", "high"}
    assert data.items["wanted"].tolist() == [6, 6], "three in each arm"


def test_the_description_has_the_studys_own_settings_and_what_each_arm_changes() -> None:
    study = two_arms(texts={"instructions": "Write, then rate."})

    description = study_data(study).description

    assert description.config["write_first"] is True
    low, high = description.arms
    assert (low.name, str(low.reward), low.wanted, low.config, low.texts) == ("low", "0.100", 5, {}, {})
    assert (high.config, high.texts) == ({"write_first": False}, {"instructions": "Only rate."})
    assert dict(description.texts)["Instructions"] == "Write, then rate."
    assert [each.topic for each in description.questions] == ["own_response", "quality", "diversity"]
    assert [score.topic for score in description.scores] == ["diversity"]


def test_texts_of_a_live_study_are_those_fixed_when_it_went_live() -> None:
    study = rated_study(ITEMS, {})
    arm = Arm.objects.get(study=study)
    arm.shown_texts["instructions"] = "As it was."
    arm.save()

    assert dict(study_data(study).description.texts)["Instructions"] == "As it was."


def test_an_answer_about_no_item_has_an_empty_item() -> None:
    study = rated_study(ITEMS, {("first", "anna"): 1.0})
    own = Rating.objects.get()
    Rating.objects.bulk_create(
        [
            Rating(
                study=study, submission=own.submission, participant=own.participant, question="age", scale="years",
                value=31, created_at=own.created_at,
            )
        ]
    )  # fmt: skip

    data = study_data(study)

    assert data.all_ratings[["item", "question"]].to_numpy().tolist() == [["first", "diversity"], ["", "age"]]
    assert data.items["n"].tolist() == [1, 0]


def test_the_role_and_the_facts_of_an_item_come_along() -> None:
    gold = a_set("gold", label=0.7, responses=["A.", "B."])
    study = rated_study([*ITEMS, ItemData("gold", gold.payload, "gold")], {})

    row = study_data(study).items.set_index("item").loc["gold"]

    assert (row["role"], row["context"], row["parameter"], row["parameter_value"]) == (
        "gold", "Context of gold", "temp", 0.7,
    )  # fmt: skip
    assert (row["texts"], row["responses"]) == ([["A.", "B."]], ["A.", "B."])


def test_every_wording_that_workers_read_appears_once() -> None:
    study = make_study(items=1, consent="I agree.", texts={"heading": "Their words"})

    description = study_data(study).description

    names, texts = zip(*description.texts, strict=True)
    assert names[0] == "Consent"
    assert texts[0] == "I agree."
    assert "Their words" in texts
    labels = [question.label for question in description.questions]
    assert not set(labels) & set(texts)
    whole = live_instrument(study.arms.get().pk).texts.values()
    points = [point for question in description.questions for point in question.scale.points]
    asked = [*labels, *(each.help for each in description.questions)]
    asked += [text for point in points for text in (point.label, point.description)]
    assert set(whole) <= {*texts, *asked}


# --- the bundle ---


def test_a_bundle_has_the_report_of_the_database_number_for_number(tmp_path: Path, user: User) -> None:
    values = {(item, f"w{n}"): 1 + (n * 7 + len(item)) % 9 / 2 for n in range(6) for item in ("first", "second")}
    study = rated_study(
        [a_set("first", label=0.3), a_set("second", label=1.1)], values, synthetic=["w5"], consent="I agree."
    )
    review_submission(submission=Submission.objects.all()[0], decision="exclude", note="", user=user)
    live = study_data(study)
    path = tmp_path / "bundle.zip"
    with path.open("wb") as out:
        write_bundle(live, out)

    made_at = timezone.now()
    assert report_numbers(read_bundle(path), draws=20, made_at=made_at) == report_numbers(
        live, draws=20, made_at=made_at
    )


def test_the_same_data_give_the_same_bundle() -> None:
    study = two_arms()
    make_submission(study=study)
    first, second = io.BytesIO(), io.BytesIO()

    write_bundle(study_data(study), first)
    write_bundle(study_data(study), second)

    assert first.getvalue() == second.getvalue()
