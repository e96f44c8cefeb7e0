"""What pages of large studies read: the work of the workers on the page, sums made by the database, and fewer polls."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.db.models import Count
from django.db.models.functions import TruncHour
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.console.pages.studies import poll_seconds
from annotation.models import Participant, Submission
from annotation.review.paying import mark_paid
from annotation.review.payments_due import due, owed_by_state, payable, payment_rows, rows_of
from annotation.review.progress import progress
from annotation.work.excluding import review_submission
from tests.annotation.console_helpers import as_role, make_user
from tests.annotation.review.test_payments import paid_study, worker_with
from tests.annotation.review.test_progress import received
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def workers() -> list[Participant]:
    """Three people and a simulated worker. The first did 2 hits at $0.18, of which one is excluded, the second 1 at
    $0.25, which is paid, and the third 1 at $0.18. So 2 hits of 2 workers are to be paid, $0.36."""
    study = paid_study()
    first, second, third = worker_with(study, 2), worker_with(study, 1), worker_with(study, 1)
    bad = first.submissions.order_by("pk")[0]
    review_submission(submission=bad, decision="exclude", note="", user=make_user("rev"))
    mark_paid(study=study, actor="ada", pseudonym=second.pseudonym)
    return [first, second, third, worker_with(study, 1, synthetic=True)]


def test_what_the_page_sums_up_is_what_would_be_marked_as_paid(workers: list[Participant]) -> None:
    study = workers[0].study
    owed, hits = owed_by_state(study)["to_pay"], due(study)
    assert (owed.hits, owed.workers, owed.total) == (2, 2, Decimal("0.36"))
    assert (hits.hits, hits.workers, hits.total) == (2, 2, Decimal("0.36"))
    nothing = owed_by_state(study)["to_approve"]
    assert (nothing.hits, nothing.workers, nothing.total) == (0, 0, Decimal(0))


def test_rows_of_some_workers_are_the_same_as_in_the_whole_list(workers: list[Participant]) -> None:
    study = workers[0].study
    rows = payment_rows(study, list(payable(study)))
    counts = {row.pseudonym: (row.hits_done, row.hits_due, row.hits_paid, row.hits_excluded) for row in rows}
    wanted = [(2, 1, 0, 1), (1, 0, 1, 0), (1, 1, 0, 0)]
    assert counts == dict(zip([worker.pseudonym for worker in workers[:3]], wanted, strict=True))
    assert [rows_of(study, [participant]) for participant in payable(study)] == [[row] for row in rows]
    assert rows_of(study, workers) == rows, "without the simulated worker"
    assert rows_of(study, []) == []


def test_the_work_of_workers_on_other_pages_is_not_looked_at(workers: list[Participant]) -> None:
    with CaptureQueriesContext(connection) as seen:
        rows_of(workers[0].study, [workers[2]])
    (sql,) = [query["sql"] for query in seen.captured_queries if "annotation_paydecision" in query["sql"]]
    # What is excluded, what is paid, and the submissions.
    assert sql.count(f"IN ({workers[2].pk})") == 3


def test_times_at_the_edge_of_an_hour_count_in_their_own_hour() -> None:
    """SQLite stores whole seconds and microseconds differently."""
    study = make_study()
    full = datetime(2026, 5, 4, 11, tzinfo=UTC)
    moments = [full - timedelta(microseconds=1), full, full + timedelta(microseconds=1), full + timedelta(minutes=60)]
    for moment in moments:
        received(study, received_at=moment)
    per_hour = progress(study, now=full + timedelta(minutes=61)).per_hour
    assert per_hour == [(full - timedelta(hours=1), 1), (full, 2), (full + timedelta(hours=1), 1)]
    truncated = Submission.objects.annotate(hour=TruncHour("received_at")).values_list("hour").annotate(n=Count("pk"))
    assert per_hour == list(truncated.order_by("hour"))


@pytest.mark.parametrize(
    ("submissions", "seconds"), [(0, 4), (100_000, 4), (125_000, 5), (500_000, 20), (5_000_000, 20)]
)
def test_an_open_page_asks_less_often_where_much_must_be_counted(submissions: int, seconds: int) -> None:
    assert poll_seconds(submissions) == seconds


def test_an_open_page_of_a_small_study_asks_every_four_seconds() -> None:
    study = make_study()
    page = as_role("owner", study).get(reverse("console_study", args=[study.slug])).content.decode()
    assert 'hx-trigger="every 4s"' in page
