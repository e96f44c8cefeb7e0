"""The frames hold what was rated, under pseudonyms, without what a person left out, in a fixed number of queries."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analysis.frames import FLAG_COLUMNS, ITEM_COLUMNS, RATING_COLUMNS, SUBMISSION_COLUMNS, study_frames
from annotation.models import Flag, Submission
from annotation.services.reviews import review_submission
from tests.factories import make_participant, make_study, make_submission
from tests.report_data import a_set, rated_study

pytestmark = pytest.mark.django_db

ITEMS = [a_set("first"), a_set("second")]


@pytest.fixture
def user() -> User:
    return User.objects.create_user("reviewer")


def test_a_rating_stands_beside_its_item_worker_and_time() -> None:
    study = rated_study(ITEMS, {("second", "anna"): 4.5})

    (row,) = study_frames(study).ratings.to_dict("records")

    assert (row["item"], row["question"], row["target"], row["value"]) == ("second", "diversity", "", 4.5)
    assert (row["seconds"], row["text"], row["synthetic"]) == (8.0, "", False)
    assert row["worker"] == study.participants.get().pseudonym


def test_nobody_is_known_by_their_name_on_the_platform() -> None:
    study = rated_study(ITEMS, {("first", "anna.adams"): 1.0, ("second", "anna.adams"): 2.0})

    frames = study_frames(study)

    for frame in (frames.ratings, frames.items, frames.submissions, frames.flags):
        assert "anna" not in frame.to_csv()


def test_items_come_in_the_order_of_the_file_with_their_number_of_submissions() -> None:
    study = rated_study(ITEMS, {("second", "anna"): 4.0, ("second", "ben"): 5.0})

    items = study_frames(study).items

    assert items[["item", "n"]].to_numpy().tolist() == [["first", 0], ["second", 2]]
    assert items["payload"][1] == ITEMS[1].payload


def test_an_item_rated_part_by_part_counts_its_submissions_not_its_parts() -> None:
    study = rated_study(
        ITEMS, {("first", "anna"): {"0-1": 2.0, "0-2": 3.0}}, task_type="sim_hds", question="similarity"
    )

    assert study_frames(study).items["n"].tolist() == [1, 0]


def test_an_excluded_submission_gives_no_rating_until_it_is_included_again(user: User) -> None:
    study = rated_study(ITEMS, {("first", "anna"): 1.0, ("first", "ben"): 5.0})
    submission = Submission.objects.get(ratings__value=5.0)

    review_submission(submission=submission, decision="exclude", note="clicked through", user=user)
    frames = study_frames(study)

    assert frames.ratings["value"].tolist() == [1.0]
    assert (frames.excluded, len(frames.submissions), len(frames.used)) == (1, 2, 1)
    assert frames.items["n"].tolist() == [1, 0]
    assert study_frames(study, include_excluded=True).ratings["value"].tolist() == [1.0, 5.0]

    review_submission(submission=submission, decision="include", note="", user=user)

    assert study_frames(study).ratings["value"].tolist() == [1.0, 5.0]
    assert study_frames(study).excluded == 0


def test_simulated_workers_are_marked() -> None:
    study = rated_study(ITEMS, {("first", "anna"): 1.0, ("first", "bot"): 5.0}, synthetic=["bot"])

    frames = study_frames(study)

    assert frames.ratings["synthetic"].tolist() == [False, True]
    assert frames.submissions["synthetic"].tolist() == [False, True]
    assert frames.synthetic == 1


def test_flags_and_assignments_are_told() -> None:
    study = rated_study(ITEMS, {("first", "anna"): 1.0})
    Flag.objects.create(submission=Submission.objects.get(), reason="copied", detail="from the context")

    frames = study_frames(study)

    assert frames.flags[["reason", "detail"]].to_numpy().tolist() == [["copied", "from the context"]]
    assert frames.assignments == {"submitted": 1}


def test_ratings_of_another_study_stay_out() -> None:
    rated_study([a_set("first")], {("first", "anna"): 1.0})
    study = rated_study([a_set("first")], {("first", "anna"): 5.0})

    assert study_frames(study).ratings["value"].tolist() == [5.0]


def test_an_empty_study_has_frames_with_their_columns() -> None:
    frames = study_frames(make_study(items=0, live=False))

    assert set(RATING_COLUMNS) <= set(frames.ratings.columns)
    assert list(frames.items.columns) == [*ITEM_COLUMNS, "n"]
    assert list(frames.submissions.columns) == list(SUBMISSION_COLUMNS)
    assert list(frames.flags.columns) == list(FLAG_COLUMNS)
    assert (frames.excluded, frames.synthetic, frames.assignments) == (0, 0, {})


def test_five_queries_whatever_the_size() -> None:
    study = make_study(items=4, ratings_per_item=3)
    counts = []
    for _ in range(2):
        for _ in range(3):
            make_submission(study=study, participant=make_participant(study=study))
        with CaptureQueriesContext(
            connection,
        ) as queries:
            study_frames(study)
        counts.append(len(queries))

    assert counts == [5, 5]
