"""A study's progress and the list of its submissions: correct, in a fixed number of queries."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Arm, Assignment, Flag, Hit, Participant, Study, Submission
from annotation.review.completion import tell_of_complete_studies
from annotation.review.progress import progress
from annotation.review.submission_lists import Filter, submission_page, submission_rows, submissions
from annotation.work.excluding import review_submission
from tests.annotation.console_helpers import as_role
from tests.factories import make_assignment, make_participant, make_researcher, make_study, make_submission

pytestmark = pytest.mark.django_db


def received(study: Study, **values: Any) -> Submission:
    """A bare submission with the values that a test is about."""
    participant = make_participant(study=study)
    now = timezone.now()
    assignment = Assignment.objects.create(
        hit=study.hits.all()[0],
        participant=participant,
        state="submitted",
        slot=Assignment.objects.count(),
        ordinal=1,
        seed=1,
        order={},
        accepted_at=now,
        expires_at=now,
    )
    columns = {"answers": [], "seconds": 1.0, "received_at": now} | values
    return Submission.objects.create(assignment=assignment, study=study, participant=participant, **columns)


def test_a_study_without_anything_is_all_zero() -> None:
    found = progress(make_study(items=0, live=False))
    assert (found.items, found.hits, found.wanted, found.submitted, found.workers) == (0, 0, 0, 0, 0)
    assert (found.median_seconds, found.per_hour, found.share) == (None, [], 0.0)


def test_counts_of_a_study_under_way() -> None:
    study = make_study(items=3, items_per_hit=2, ratings_per_item=2, hits_per_worker=None)
    ann, bot = make_participant(study=study), make_participant(study=study, synthetic=True)
    make_submission(participant=ann)
    make_submission(participant=bot)
    make_submission(participant=bot)
    make_assignment(participant=ann)
    found = progress(study)
    assert (found.items, found.hits, found.wanted, found.is_complete) == (3, 2, 4, False)
    assert (found.submitted, found.submitted_synthetic, found.in_progress) == (3, 2, 1)
    assert (found.workers, found.workers_synthetic) == (2, 1)
    assert found.share == 0.75
    # Hits are given out fewest ratings first: one of the two has both its submissions, the other one.
    assert found.hits_done == 1
    done = study.hits.get(n_submitted=2)
    assert found.items_done == done.places.count()


def test_somebody_without_a_submission_is_not_listed_as_a_worker() -> None:
    study = make_study()
    make_assignment(study=study)
    assert (progress(study).workers, progress(study).in_progress) == (0, 1)


def test_an_item_in_two_hits_is_done_when_two_different_workers_have_rated_it() -> None:
    study = make_study(items=1, ratings_per_item=1)
    Arm.objects.filter(study=study).update(shares_items=True)
    second = study.hits.create(arm=study.arms.get(), position=1, wanted=1)
    second.places.create(item=study.items.get(), position=0)
    make_submission(study=study)
    assert (progress(study).items, progress(study).items_done) == (1, 0)
    make_submission(study=study)
    assert (progress(study).items, progress(study).items_done) == (1, 1)
    assert progress(study).is_complete


def test_an_item_that_one_worker_rated_twice_is_not_done() -> None:
    """The database refuses this now. Studies that began before it did may have such data."""
    study = make_study(items=1, ratings_per_item=1)
    Arm.objects.filter(study=study).update(shares_items=True)
    second = study.hits.create(arm=study.arms.get(), position=1, wanted=1)
    first = make_submission(study=study).assignment
    Hit.objects.filter(pk=second.pk).update(n_live=1, n_submitted=1)
    again = Assignment.objects.create(
        hit=second,
        participant=first.participant,
        state="submitted",
        slot=0,
        ordinal=2,
        seed=1,
        order={},
        accepted_at=first.accepted_at,
        expires_at=first.expires_at,
    )
    Submission.objects.create(
        assignment=again,
        study=study,
        participant=first.participant,
        answers=[],
        seconds=9,
        received_at=timezone.now(),
    )
    second.places.create(item=study.items.get(), position=0)  # after the assignment, so that no trigger sees it
    found = progress(study)
    assert (found.submitted, found.wanted, found.items_done, found.is_complete) == (2, 2, 0, False)
    assert found.missing == [
        "Somebody rated 1 item more than once, so it has too few different raters. The analysis counts one "
        "rating per worker.",
        "You can open the places of repeated work to other workers: study reopen-repeats.",
    ]
    assert tell_of_complete_studies() == 0


def test_a_study_that_nobody_can_finish_says_how_many_people_are_missing() -> None:
    study = make_study(items=3, ratings_per_item=3, hits_per_worker=None)
    one = make_participant(study=study)
    assert progress(study).missing == [], "nobody has started"
    make_submission(participant=one)
    assert progress(study).missing == [], "they can do the other hits"
    for _ in range(2):
        make_submission(participant=one)
    assert progress(study).missing == [
        "3 items still need a rater who has not rated them yet.",
        "Nobody who has taken part so far can rate them. Invite at least 2 new workers.",
    ]


def test_where_the_limit_of_hits_stops_people_the_message_names_it() -> None:
    study = make_study(items=2, ratings_per_item=2, hits_per_worker=1)
    make_submission(study=study)
    assert progress(study).missing == [
        "2 items still need a rater who has not rated them yet.",
        "Nobody who has taken part so far can rate them. Invite at least 3 new workers, or let each worker do more "
        "than 1 hit.",
    ]


def test_the_median_time_is_that_of_people_where_there_are_any() -> None:
    study = make_study(ratings_per_item=9)
    bot = received(study, seconds=0.2)
    Participant.objects.filter(pk=bot.participant_id).update(synthetic=True)
    assert (progress(study).median_seconds, progress(study).median_simulated) == (0.2, True)
    client, address = as_role("viewer", study), reverse("console_progress", args=[study.slug])
    # How fast a program is says nothing about people.
    assert "simulated workers only" in (page := client.get(address).content.decode()) and "0.2 s" not in page
    received(study, seconds=60)
    assert (progress(study).median_seconds, progress(study).median_simulated) == (60, False)
    assert "1 min 00 s" in client.get(address).content.decode()


@pytest.mark.parametrize(("seconds", "median"), [([5], 5), ([5, 1], 3), ([9, 1, 5], 5), ([1, 2, 3, 10], 2.5)])
def test_the_median_time(seconds: list[float], median: float) -> None:
    study = make_study()
    for value in seconds:
        received(study, seconds=value)
    assert progress(study).median_seconds == median


def test_flags_and_exclusions() -> None:
    study = make_study(ratings_per_item=5, config={"write_first": False})
    user = make_researcher("ann")
    first, second, third = (make_submission(study=study, seed=number) for number in range(3))
    for submission, reason in [(first, "copied"), (first, "copied"), (first, "too_short"), (second, "copied")]:
        Flag.objects.create(submission=submission, reason=reason)
    review_submission(submission=first, decision="exclude", note="", user=user)
    review_submission(submission=second, decision="exclude", note="", user=user)
    review_submission(submission=second, decision="include", note="", user=user)
    found = progress(study)
    assert (found.flagged, dict(found.flags), found.excluded) == (2, {"copied": 2, "too_short": 1}, 1)
    assert set(submissions(study, Filter(show="flagged"))) == {first, second}
    assert set(submissions(study, Filter(show="excluded"))) == {first}
    assert set(submissions(study, Filter(show="nonsense"))) == {first, second, third}


def test_submissions_per_hour_have_no_gaps_and_end_now() -> None:
    now = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
    study = make_study()
    for hours in (0, 0, 2, 47, 60):
        received(study, received_at=now - timedelta(hours=hours))
    counted = progress(study, now=now).per_hour
    assert len(counted) == 48
    assert counted[-1] == (datetime(2026, 5, 4, 12, tzinfo=UTC), 2)
    assert counted[-3] == (datetime(2026, 5, 4, 10, tzinfo=UTC), 1)
    assert counted[0] == (datetime(2026, 5, 2, 13, tzinfo=UTC), 1)
    assert sum(count for _, count in counted) == 4


def test_a_study_without_submissions_for_two_days_has_no_chart() -> None:
    now = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
    study = make_study()
    received(study, received_at=now - timedelta(hours=48))
    assert progress(study, now=now).per_hour == []


def test_figures_as_json_are_plain() -> None:
    found = progress(make_submission().study).as_json()
    assert found["submitted"] == 1
    assert isinstance(found["per_hour"][0][0], str)


def count_queries(act: Any) -> int:
    with CaptureQueriesContext(connection) as queries:
        act()
    return len(queries)


def test_the_number_of_queries_does_not_grow_with_the_study() -> None:
    small = make_study(items=1, ratings_per_item=1)
    make_submission(study=small)
    large = make_study(items=6, ratings_per_item=3, hits_per_worker=None)
    for _ in range(3):
        participant = make_participant(study=large)
        for _ in range(6):
            make_submission(participant=participant)
    user = make_researcher("ann")
    for submission in Submission.objects.all():
        Flag.objects.create(submission=submission, reason="copied")
        review_submission(submission=submission, decision="exclude", note="", user=user)
    assert count_queries(lambda: progress(small)) == count_queries(lambda: progress(large)) <= 26
    assert count_queries(lambda: submission_page(small)) == count_queries(lambda: submission_page(large)) <= 6


def test_a_page_of_submissions_newest_first_with_answers_in_short() -> None:
    study = make_study(ratings_per_item=3)
    bot = make_participant(study=study, synthetic=True)
    old, new = make_submission(study=study, seconds=30), make_submission(participant=bot)
    page, rows = submission_page(study, per_page=1)
    assert (page.paginator.count, page.paginator.num_pages) == (2, 2)
    row = rows[0]
    assert (row.pk, row.synthetic, row.pseudonym) == (new.pk, True, new.participant.pseudonym)
    assert row.pseudonym.startswith("w-")
    assert [answer.topic for answer in row.answers] == ["own_response", "quality", "diversity"]
    rating = new.ratings.get(question="diversity")
    assert row.answers[2].value == f"{rating.value:g}"
    assert row.answers[2].item == rating.item.external_id  # type: ignore[union-attr]
    assert not row.excluded
    assert submission_page(study, number=99, per_page=1)[1][0].pk == old.pk
    assert [found.pk for found in submissions(study, Filter(show="synthetic"))] == [new.pk]
    assert [found.pk for found in submissions(study, Filter(show="people"))] == [old.pk]
    assert [found.pk for found in submissions(study, Filter(pseudonym=old.participant.pseudonym))] == [old.pk]


def test_long_texts_are_cut_on_one_line() -> None:
    study = make_study()
    made = received(study)
    made.ratings.create(
        study=study, participant=made.participant, item=study.items.first(), question="own_response", scale="text",
        text="word\n" * 50, created_at=timezone.now(),
    )  # fmt: skip
    [answer] = submission_rows([made])[0].answers
    assert len(answer.value) == 80
    assert "\n" not in answer.value


def test_other_studies_do_not_count() -> None:
    study = make_study()
    make_submission()
    assert progress(study).submitted == 0
    assert not submissions(study)


def test_each_arm_has_its_own_figures() -> None:
    study = make_study(items=2, ratings_per_item=2, arms=[{"name": "low", "wanted": 7}, {"name": "high"}])
    for _ in range(3):
        make_submission(study=study)
    open_one = make_assignment(study=study)
    low, high = progress(study).arms
    assert (low.name, low.enrolled, low.participants_wanted, low.submitted, low.wanted) == ("low", 2, 7, 2, 4)
    assert (high.name, high.enrolled, high.participants_wanted, high.submitted, high.wanted) == ("high", 2, None, 1, 4)
    assert open_one.participant.arm.name == "high"
    assert (low.in_progress, high.in_progress) == (0, 1)
    assert progress(study).as_json()["arms"][0]["enrolled"] == 2


def test_a_study_without_arms_has_no_figures_by_arm() -> None:
    assert progress(make_study()).arms == []


def test_a_released_submission_makes_room_and_is_counted_apart() -> None:
    study = make_study(items=1, ratings_per_item=2)
    user = make_researcher("ann")
    first, _ = make_submission(study=study), make_submission(study=study)
    review_submission(submission=first, decision="exclude", note="", user=user, release=True)
    found = progress(study)
    assert (found.submitted, found.wanted, found.released, found.excluded) == (1, 2, 1, 1)
    make_submission(study=study)
    assert (progress(study).submitted, progress(study).share) == (2, 1.0)
    assert len(submissions(study)) == 3
    assert [row.released for row in submission_page(study)[1]] == [False, False, True]


def test_submissions_of_one_arm() -> None:
    study = make_study(items=1, ratings_per_item=2, arms=[{"name": "low"}, {"name": "high"}])
    made = {each.participant.arm.name: each for each in (make_submission(study=study) for _ in range(2))}
    assert list(submissions(study, Filter(arm="high"))) == [made["high"]]
    [row] = submission_page(study, Filter(arm="low"))[1]
    assert (row.pk, row.arm) == (made["low"].pk, "low")
