"""Which assignment here is which on the platform: same posting, same id, same worker."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from importlib import import_module
from typing import Any, cast

import pytest
from django.db import connection
from django.utils import timezone

from annotation.models import Assignment, OutsideAssignment, Posting
from annotation.platforms.base import Claim, Platform, Reported
from annotation.recruiting.arrivals import accept_hit, note_returned
from annotation.recruiting.deciding_on_platform import to_approve
from annotation.recruiting.matching import match_assignments, reported_of, submission_of
from annotation.recruiting.syncing import sync_posting
from annotation.work.confirmation import unconfirmed_submissions
from tests.annotation.recruiting.helpers import send_claim
from tests.annotation.recruiting.separate_hits import arrive, offered

pytestmark = pytest.mark.django_db


class Reports:
    """A platform that reports these assignments (id there, worker), all submitted."""

    def __init__(self, *assignments: tuple[str, str]) -> None:
        self.rows = [Reported(name, worker, "submitted") for name, worker in assignments]

    def sync(self, posting: Posting) -> Sequence[Reported]:
        return self.rows

    def has_paused(self, posting: Posting) -> None:
        return None


def report(posting: Posting, *assignments: tuple[str, str]) -> None:
    sync_posting(posting=posting, platform=cast("Platform", Reports(*assignments)))


def matches() -> list[tuple[str, str | None]]:
    """The id of each assignment here, with the id of its match on the platform."""
    return list(Assignment.objects.order_by("pk").values_list("platform_assignment_id", "outside__external_id"))


def test_a_poll_matches_what_arrived_before() -> None:
    posting, *_ = offered()
    arrive(posting, "A1", worker="W1"), arrive(posting, "A2", worker="W2")
    report(posting, ("A1", "W1"))
    assert matches() == [("A1", "A1"), ("A2", None)]


def test_another_worker_or_posting_is_no_match() -> None:
    posting, other, _ = offered(hits_per_worker=None)
    arrive(posting, "A1", worker="W-FORGED"), arrive(other, "A2", worker="W2")
    report(posting, ("A1", "W1"), ("A2", "W2"))
    assert matches() == [("A1", None), ("A2", None)]


def test_an_arrival_is_matched_with_what_was_reported_before() -> None:
    posting, *_ = offered()
    report(posting, ("A1", "W1"), ("A2", "W2"))
    arrive(posting, "A1", worker="W1"), arrive(posting, "A2", worker="W-FORGED")
    assert matches() == [("A1", "A1"), ("A2", None)]


def test_every_attempt_of_a_claim_is_matched() -> None:
    posting, other, _ = offered(hits_per_worker=None)
    first = arrive(posting, "A1")
    claim = Claim("mturk", first.participant.worker.platform_id, "A9")
    note_returned(posting=other, claim=claim, assignment_id=first.pk)
    again = arrive(posting, "A1")
    report(posting, ("A1", claim.worker_id))
    assert again.attempt == 2
    assert matches() == [("A1", "A1"), ("A1", "A1")]


def test_two_submissions_of_one_claim_are_both_confirmed() -> None:
    """Their worker came back with the same assignment when the first had ended here, then sent both."""
    posting = offered(items=2, hits_per_worker=None)[0]
    Posting.objects.filter(pk=posting.pk).update(hit=None, reward=posting.pays, wanted=4)
    posting.refresh_from_db()
    one = send_claim(posting, "W1", "A1")
    Assignment.objects.filter(pk=one.pk).update(state="abandoned")
    two = send_claim(posting, "W1", "A1")
    Assignment.objects.filter(pk=one.pk).update(state="released")
    assert unconfirmed_submissions(posting.study).count() == 2
    report(posting, ("A1", "W1"))
    outside = OutsideAssignment.objects.get()
    assert not unconfirmed_submissions(posting.study).exists()
    assert submission_of(outside) == one.submission
    assert reported_of(posting.study, [one.submission.pk, two.submission.pk]) == {
        one.submission.pk: outside.pk,
        two.submission.pk: outside.pk,
    }
    assert list(to_approve(posting.study)) == [outside]


def test_the_next_poll_matches_what_both_sides_missed() -> None:
    """An arrival and a poll at the same moment do not see each other's rows."""
    posting, *_ = offered()
    arrive(posting, "A1", worker="W1")
    report(posting, ("A1", "W1"))
    Assignment.objects.update(outside=None)
    report(posting, ("A1", "W1"))
    assert matches() == [("A1", "A1")]


def test_the_migration_matches_rows_of_earlier_versions() -> None:
    posting, other, _ = offered(hits_per_worker=None)
    arrive(posting, "A1", worker="W1"), arrive(posting, "A2", worker="W-FORGED"), arrive(other, "A3", worker="W1")
    report(posting, ("A1", "W1"), ("A2", "W2"), ("A3", "W1"))
    report(other, ("A3", "W1"))
    expected = [("A1", "A1"), ("A2", None), ("A3", "A3")]
    assert matches() == expected
    Assignment.objects.update(outside=None)
    with connection.cursor() as cursor:
        cursor.execute(import_module("annotation.migrations.0012_assignment_outside").FILL)
    assert matches() == expected
    assert match_assignments(posting) == match_assignments(other) == 0


def test_an_arrival_asks_once_what_was_reported(django_assert_max_num_queries: Any) -> None:
    posting, *_ = offered()
    arrive(posting, "A1", worker="W1")
    soon = timezone.now() + timedelta(hours=1)
    with django_assert_max_num_queries(40) as queries:
        accept_hit(posting=posting, claim=Claim("mturk", "W2", "A2"), expires_at=soon, consented=False)
    assert sum("annotation_outsideassignment" in query["sql"] for query in queries) == 1
