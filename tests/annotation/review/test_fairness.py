"""Time and pay of people while a study runs. The figures are worked out by hand beside the tests."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analysis.report import report_numbers
from annotation.models import Assignment, Flag, OutsideAssignment, Posting, Study, Submission
from annotation.people.redacting import _gate
from annotation.recruiting.matching import match_assignments
from annotation.results.frames import study_data
from annotation.review.fairness import comments_of, fairness_of
from annotation.work.ending import return_assignment
from annotation.work.excluding import review_submission
from annotation.work.hourly_pay import pay_of
from annotation.work.left_out import left_out_submissions
from tests.factories import make_assignment, make_participant, make_researcher, make_study, make_submission

pytestmark = pytest.mark.django_db


def took(study: Study, seconds: float, *, arm: str = "", participant: Any = None, feedback: str = "") -> Submission:
    """A submission that took this long."""
    made = make_submission(study=study, participant=participant, feedback=feedback)
    with _gate():
        Submission.objects.filter(pk=made.pk).update(seconds=seconds)
    return made


def test_median_time_pay_and_workers_below_the_minimum(settings: Any) -> None:
    """$1 for 300, 400 and 600 s is $12, $9 and $6 an hour: the median is 400 s and $9, and one of three is below $8."""
    settings.MINIMUM_HOURLY_PAY = Decimal("8.00")
    study = make_study(items=1, ratings_per_item=3, reward=Decimal("1.00"))
    for seconds in (600, 300, 400):
        took(study, seconds)
    (row,) = fairness_of(study)
    assert (row.submissions, row.workers, row.seconds, row.per_hour, row.below) == (3, 3, 400, Decimal("9.00"), 1)
    assert row.share_below == pytest.approx(1 / 3)
    assert not row.low


def test_a_worker_counts_once_with_all_their_time(settings: Any) -> None:
    """$2 for 300 + 700 s is $7.20 an hour, although the first hit alone paid $12."""
    settings.MINIMUM_HOURLY_PAY = Decimal("8.00")
    study = make_study(items=2, ratings_per_item=2, reward=Decimal("1.00"), hits_per_worker=None)
    person = make_participant(study=study)
    took(study, 300, participant=person)
    took(study, 700, participant=person)
    (row,) = fairness_of(study)
    # The median of two is their mean, 500 s: $7.20 an hour.
    assert (row.workers, row.below, row.seconds, row.per_hour) == (1, 1, 500, Decimal("7.20"))


def test_each_arm_has_its_row_and_an_unpaid_one_only_a_time() -> None:
    arms = [{"name": "paid", "reward": Decimal("0.50")}, {"name": "free", "reward": Decimal(0)}]
    study = make_study(items=1, ratings_per_item=2, arms=arms)
    for _ in range(2):
        took(study, 100)
    rows = {row.arm: row for row in fairness_of(study)}
    assert (rows["paid"].per_hour, rows["free"].per_hour, rows["free"].below) == (Decimal("18.00"), None, 0)


def test_excluded_and_simulated_submissions_do_not_count() -> None:
    study = make_study(items=1, ratings_per_item=3, reward=Decimal("1.00"))
    took(study, 100)
    left_out = took(study, 900)
    review_submission(submission=left_out, decision="exclude", note="", user=make_researcher("rev"))
    took(study, 5, participant=make_participant(study=study, synthetic=True))
    (row,) = fairness_of(study)
    assert (row.submissions, row.seconds) == (1, 100)


def test_the_overview_shows_them_with_the_newest_comments() -> None:
    study = make_study(items=1, ratings_per_item=3, reward=Decimal("1.00"), owner=make_researcher("ann"))
    first = took(study, 600, feedback="The second page <b>was</b> hard.")
    took(study, 300)
    client = Client()
    client.force_login(make_researcher("bob", is_superuser=True))
    page = client.get(reverse("console_study", args=[study.slug])).content.decode()
    assert "The second page &lt;b&gt;was&lt;/b&gt; hard." in page
    assert reverse("console_submission", args=[study.slug, first.pk]) in page
    assert "1 submission with a comment" in page
    assert "Median pay per hour" in page
    listed = client.get(reverse("console_submissions", args=[study.slug]) + "?show=comments").content.decode()
    assert first.participant.pseudonym in listed
    assert comments_of(study).count == 1


def test_work_that_a_rule_excludes_is_paid_so_it_counts(settings: Any) -> None:
    """$1 for 100, 200 and 900 s. The rule excludes the 100 s. Without it, the median would be 550 s: $6.55 an hour."""
    settings.MINIMUM_HOURLY_PAY = Decimal("8.00")
    study = make_study(items=1, ratings_per_item=3, reward=Decimal("1.00"), exclusion={"flags": ["too_fast"]})
    fast = took(study, 100)
    Flag.objects.create(submission=fast, reason="too_fast")
    took(study, 200)
    took(study, 900)
    assert set(left_out_submissions(study)) == {fast.pk}
    (row,) = fairness_of(study)
    # $36, $18 and $4 an hour: one of three is below $8.
    assert (row.submissions, row.workers, row.seconds, row.per_hour) == (3, 3, 200, Decimal("18.00"))
    assert row.below == 1
    (pay,) = pay_of(study)
    assert (pay.n, pay.seconds, pay.per_hour) == (3, 200, Decimal("18.00"))
    section = report_numbers(study_data(study), draws=20)["sections"]["time"]
    assert section["usd_per_hour_at_median"] == pytest.approx(18.0)


def test_work_that_the_platform_has_not_confirmed_or_that_was_given_back_does_not_count() -> None:
    """$1 for 400 s, confirmed: $9 an hour. Nobody knows yet whether the 40 s are by this worker."""
    study = make_study(items=3, ratings_per_item=3, reward=Decimal("1.00"))
    posting = Posting.objects.create(study=study, platform="mturk", external_id="3HIT", hit=study.hits.first())
    for name, seconds, state in (("A1", 400, "approved"), ("A2", 40, "returned"), ("A3", 50, "")):
        made = took(study, seconds, participant=make_participant(study=study, name=name))
        Assignment.objects.filter(pk=made.assignment_id).update(posting=posting, platform_assignment_id=f"3{name}")
        worker = made.participant.worker.platform_id
        if state:
            OutsideAssignment.objects.create(
                posting=posting, external_id=f"3{name}", worker_id=worker, state=state, seen_at=timezone.now()
            )
    match_assignments(posting)
    given_back = make_assignment(study=study)
    return_assignment(assignment_id=given_back.pk, participant_id=given_back.participant_id)
    (row,) = fairness_of(study)
    assert (row.submissions, row.workers, row.seconds, row.per_hour) == (1, 1, 400, Decimal("9.00"))
    assert [(pay.n, pay.seconds) for pay in pay_of(study)] == [(1, 400)]
