"""Work that is handed in at once is reviewed once."""

from __future__ import annotations

from functools import partial

import pytest

from marketplace.models import Assignment, ReviewEntry
from marketplace.services.hits import assignments
from marketplace.services.hits.due_changes import bring_up_to_date
from tests.marketplace.semantics.test_races import at_once
from tests.marketplace.support import factories
from tests.marketplace.support.checks import check_all
from tests.marketplace.support.policies import known, make_hit, now_of, plurality

pytestmark = pytest.mark.django_db(transaction=True)


def test_eight_submissions_at_once_and_somebody_who_looks() -> None:
    hit = make_hit(
        max_assignments=8,
        assignment_review_policy=known(),
        hit_review_policy=plurality(ApproveIfWorkerAgreementScoreIsAtLeast=100),
    )
    work = [factories.make_assignment(hit=hit) for _ in range(8)]
    calls = [
        lambda each=each: assignments.submit(assignment_id=each.assignment_id, answers={"q1": "2", "q2": "4"})
        for each in work
    ]
    looks = [lambda: bring_up_to_date(hit=hit)] * 4
    assert at_once([*calls, *looks]) == {"done": 12}
    assert set(Assignment.objects.values_list("state", flat=True)) == {"Approved"}
    entries = ReviewEntry.objects.filter(hit=hit)
    assert entries.filter(level="Assignment", key="KnownAnswerScore").count() == 8
    assert entries.filter(level="HIT", key="review").count() == 1
    assert entries.filter(level="HIT", key="approve", value="Approved").count() == 8
    assert now_of(hit).state == "Reviewable"
    check_all()


def test_two_hits_that_pay_the_same_workers_do_not_wait_for_each_other() -> None:
    """Reviews pay several workers in one transaction: in whatever order their work was handed in."""
    terms = plurality(ApproveIfWorkerAgreementScoreIsAtLeast=100)
    made = [make_hit(max_assignments=4, hit_review_policy=terms) for _ in range(2)]
    workers = [factories.make_worker() for _ in range(4)]
    last = []
    for hit, order in zip(made, (workers, workers[::-1]), strict=True):
        taken = [factories.make_assignment(hit=hit, worker=worker) for worker in order]
        for each in taken[:-1]:
            assignments.submit(assignment_id=each.assignment_id, answers={"q1": "a"})
        last.append(taken[-1])
    calls = [partial(assignments.submit, assignment_id=each.assignment_id, answers={"q1": "a"}) for each in last]
    assert at_once(calls) == {"done": 2}
    assert set(Assignment.objects.values_list("state", flat=True)) == {"Approved"}
    check_all()
