"""Who works now, how many ratings there are, and what they earn per hour: the same on every page."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from analysis.report import report_numbers
from annotation.management.study_output import status_lines
from annotation.models import Assignment, Rating, Submission
from annotation.results.description import describe_study
from annotation.results.frames import study_data
from annotation.review.progress import progress
from annotation.review.rating_counts import RatingCounts, rating_counts
from annotation.studies.storing import close_study
from annotation.work.excluding import review_submission
from annotation.work.hourly_pay import TimePerHit, exact_sum, hourly, pay_of, time_per_hit
from hitserver.retention import unprotected
from tests.factories import make_assignment, make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db


def take(submission: Submission, seconds: float) -> None:
    """Submissions refuse every update, unless their triggers are away for a moment."""
    with transaction.atomic(), unprotected(Submission):
        Submission.objects.filter(pk=submission.pk).update(seconds=seconds)


# --- working now ---


def test_a_hit_past_its_deadline_is_not_worked_on() -> None:
    study = make_study(items=2, arms=[{"name": "low"}, {"name": "high"}])
    make_assignment(study=study)
    late = make_assignment(study=study)
    Assignment.objects.filter(pk=late.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    found = progress(study)
    assert (found.in_progress, found.abandoned) == (1, 1)
    assert [(arm.name, arm.in_progress) for arm in found.arms] == [("low", 1), ("high", 0)]
    assert dict(describe_study(study).assignments) == {"accepted": 1, "abandoned": 1}


def test_a_closed_study_still_counts_who_may_finish() -> None:
    study = make_study(items=2)
    make_assignment(study=study)
    close_study(study=study, actor="test")
    assert progress(study).in_progress == 1
    assert progress(study, now=timezone.now() + timedelta(hours=1)).in_progress == 0


def test_a_study_is_complete_when_every_place_is_filled() -> None:
    study = make_study(items=1, ratings_per_item=2)
    make_submission(study=study)
    assert not progress(study).is_complete
    make_submission(study=study)
    assert progress(study).is_complete
    assert not progress(make_study(items=0)).is_complete


# --- ratings ---


def test_ratings_are_counted_alike_everywhere() -> None:
    """absHDS with its warm-up stores a text and two numbers: three submissions are six ratings."""
    study = make_study(items=1, ratings_per_item=3)
    kept, left_out = make_submission(study=study), make_submission(study=study)
    make_submission(participant=make_participant(study=study, synthetic=True))
    review_submission(submission=left_out, decision="exclude", note="", user=User.objects.create_user("ann"))
    assert Rating.objects.filter(submission=kept, value__isnull=False).count() == 2
    assert rating_counts(study) == RatingCounts(all=6, included=4, by_people=2)

    told = "6 in all, 4 included, 2 of these by people"
    assert f"  ratings       {told}" in list(status_lines(study, "absHDS", progress(study)))
    data = study_data(study)
    counts = report_numbers(data, draws=20)["sections"]["data"]
    assert (counts["ratings_all"], counts["ratings"], counts["ratings_by_people"]) == (6, 4, 2)


def test_without_reviews_every_rating_is_included() -> None:
    study = make_study(items=1)
    assert rating_counts(study) == RatingCounts(0, 0, 0)
    make_submission(study=study)
    assert rating_counts(study) == RatingCounts(2, 2, 2)


# --- pay ---


@pytest.mark.parametrize(
    ("reward", "seconds", "per_hour"), [("0.18", 40, "16.20"), ("1", 3600, "1.00"), ("0.1", 7, "51.43")]
)
def test_pay_per_hour(reward: str, seconds: float, per_hour: str) -> None:
    assert hourly(Decimal(reward), seconds) == Decimal(per_hour)


@pytest.mark.parametrize(("times", "median"), [([40], 40), ([40, 80], 60), ([90, 10, 40], 40), ([1, 2, 4, 9], 3)])
def test_pay_is_that_of_the_median_time(times: list[float], median: float) -> None:
    study = make_study(items=1, ratings_per_item=9, reward=Decimal("0.18"))
    for seconds in times:
        take(make_submission(study=study), seconds)
    take(make_submission(participant=make_participant(study=study, synthetic=True)), 5000)
    left_out = make_submission(study=study)
    review_submission(submission=left_out, decision="exclude", note="", user=User.objects.create_user("ann"))
    [pay] = pay_of(study)
    assert (pay.n, pay.seconds, pay.per_hour) == (len(times), median, hourly(Decimal("0.18"), median))
    section = report_numbers(study_data(study), draws=20)["sections"]["time"]
    assert section["usd_per_hour_at_median"] == pytest.approx(0.18 * 3600 / median)


def test_each_arm_pays_its_own_reward(settings: LazySettings) -> None:
    settings.MINIMUM_HOURLY_PAY = Decimal("10")
    study = make_study(
        items=2, reward=Decimal("0.10"), arms=[{"name": "low"}, {"name": "high", "reward": Decimal("0.20")}]
    )
    for _ in range(2):
        take(make_submission(study=study), 60)
    assert [(pay.arm, pay.per_hour, pay.low) for pay in pay_of(study)] == [
        ("low", Decimal("6.00"), True),
        ("high", Decimal("12.00"), False),
    ]


def test_no_pay_without_people_or_reward() -> None:
    assert pay_of(make_study(reward=Decimal(1))) == []
    assert pay_of(make_submission(study=make_study(reward=Decimal(0))).study) == []


# --- before the launch ---


def test_the_time_of_a_hit_is_estimated_or_known_from_the_pilot() -> None:
    pilot = make_study(items=1, ratings_per_item=5)
    study = make_study(live=False)
    assert time_per_hit(study) is None
    study.duplicated_from = pilot
    assert time_per_hit(study) is None
    make_submission(participant=make_participant(study=pilot, synthetic=True), seconds=20)
    # Two timed numbers and a text, each 20 seconds.
    assert time_per_hit(study) == TimePerHit(60.0, "simulated", pilot.slug, 1)
    take(make_submission(study=pilot), 240)
    assert time_per_hit(study) == TimePerHit(240.0, "people", pilot.slug, 1)
    study.estimated_minutes = Decimal("2.5")
    assert time_per_hit(study) == TimePerHit(150.0, "estimate")


def test_a_pilot_with_other_hits_says_nothing_about_their_time() -> None:
    pilot = make_study(items=2)
    make_submission(study=pilot)
    study = make_study(live=False, items_per_hit=2)
    study.duplicated_from = pilot
    assert time_per_hit(study) is None


def test_sums_are_exact_although_sqlite_adds_binary_fractions() -> None:
    # What SQLite makes of 2,000 payments of $0.18.
    assert exact_sum(Decimal("360.000000000011")) == Decimal("360.00")
    assert exact_sum(None) == 0
