"""Many at once, on the database as it is deployed: nothing is given out, made or paid twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from marketplace.models import Assignment, Hit
from marketplace.services import page_actions
from marketplace.services.hits import assignments
from marketplace.services.hits.due_changes import bring_up_to_date
from marketplace.services.money import payments
from marketplace.services.refusals import Refusal
from tests.marketplace.support import factories
from tests.marketplace.support.checks import check_all

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(calls: Sequence[Callable[[], Any]]) -> Counter[str]:
    """Runs all in threads that begin together. Returns how often each outcome occurred."""
    barrier = Barrier(len(calls))

    def run(call: Callable[[], Any]) -> str:
        try:
            barrier.wait(timeout=30)
            call()
        except Refusal as refusal:
            return refusal.code
        finally:
            connection.close()
        return "done"

    with ThreadPoolExecutor(len(calls)) as pool:
        return Counter(pool.map(run, calls))


def test_fifty_workers_accept_a_hit_with_nine_assignments() -> None:
    hit = factories.make_hit(max_assignments=9)
    workers = [factories.make_worker() for _ in range(50)]
    outcomes = at_once([partial(assignments.accept, worker=worker, hit=hit) for worker in workers])
    assert outcomes == {"done": 9, "HITNotAvailable": 41}
    hit.refresh_from_db()
    assert (hit.state, hit.n_pending, hit.n_available) == ("Unassignable", 9, 0)
    check_all()


def test_thirty_workers_accept_tasks_from_a_group_of_three_hits() -> None:
    requester = factories.make_requester()
    made = [factories.make_hit(requester=requester, max_assignments=3) for _ in range(3)]
    workers = [factories.make_worker() for _ in range(30)]
    group = made[0].hit_type
    outcomes = at_once([partial(assignments.accept, worker=worker, hit_type=group) for worker in workers])
    assert outcomes == {"done": 9, "HITNotAvailable": 21}
    check_all()


def test_one_worker_in_ten_tabs_gets_one_assignment() -> None:
    hit, worker = factories.make_hit(max_assignments=5), factories.make_worker()
    assert at_once([lambda: assignments.accept(worker=worker, hit=hit)] * 10) == {"done": 10}
    assert Assignment.objects.count() == 1
    check_all()


def test_twenty_requests_with_one_token_make_one_hit() -> None:
    requester = factories.make_requester()
    outcomes = at_once([lambda: factories.make_hit(requester=requester, token="once")] * 20)
    assert outcomes == {"done": 1, "HitAlreadyExists": 19}
    assert Hit.objects.count() == 1
    assert payments.available(requester) == Decimal("99.40")
    check_all()


def test_twenty_approvals_pay_once() -> None:
    assignment = factories.make_assignment(submitted=True)
    outcomes = at_once([lambda: assignments.approve(assignment=assignment)] * 20)
    assert outcomes == {"done": 1, "InvalidAssignmentState": 19}
    assert payments.owed(assignment.worker) == Decimal("0.50")
    check_all()


def test_approval_and_rejection_at_once_leave_one_of_them() -> None:
    assignment = factories.make_assignment(submitted=True)
    outcomes = at_once(
        [lambda: assignments.approve(assignment=assignment)] * 5
        + [lambda: assignments.reject(assignment=assignment, feedback="No.")] * 5
    )
    assert outcomes == {"done": 1, "InvalidAssignmentState": 9}
    check_all()


def test_a_balance_is_not_spent_twice() -> None:
    requester = factories.make_requester(balance="3.00")
    outcomes = at_once([lambda: factories.make_hit(requester=requester)] * 12)  # 0.60 each
    assert outcomes == {"done": 5, "InsufficientFunds": 7}
    assert payments.available(requester) == 0
    check_all()


def test_ten_payouts_pay_what_is_owed_once() -> None:
    assignment = factories.make_assignment(submitted=True)
    assignments.approve(assignment=assignment)
    outcomes = at_once([lambda: payments.pay_out(worker=assignment.worker, actor="test")] * 10)
    assert outcomes == {"done": 1, "NotAllowed": 9}
    assert payments.owed(assignment.worker) == 0
    check_all()


def test_bonuses_with_one_token_are_paid_once() -> None:
    assignment = factories.make_assignment(submitted=True)

    def bonus() -> None:
        payments.send_bonus(
            requester=assignment.hit.requester,
            worker=assignment.worker,
            assignment=assignment,
            amount=Decimal(1),
            reason="Thank you",
            token="once",
        )

    assert at_once([bonus] * 10) == {"done": 1, "BonusAlreadyGranted": 9}
    check_all()


def test_the_upkeep_task_pays_once_while_others_read() -> None:
    hit = factories.make_hit(max_assignments=5, auto_approval_delay=0)
    for _ in range(5):
        factories.make_assignment(hit=hit, submitted=True)
    at_once([bring_up_to_date] * 5 + [lambda: bring_up_to_date(hit=hit)] * 5)
    hit.refresh_from_db()
    assert hit.n_completed == 5
    check_all()


def test_work_approved_by_the_page_and_the_api_at_once_is_paid_once() -> None:
    """Two HITs in both orders, so that a transaction that locked both would stop the other."""
    requester = factories.make_requester()
    made = [factories.make_hit(requester=requester, max_assignments=3) for _ in range(2)]
    workers = [factories.make_worker() for _ in range(3)]
    work = [assignments.accept(worker=worker, hit=hit) for hit in made for worker in workers]
    for each in work:
        assignments.submit(assignment_id=each.assignment_id, answers={"better": "A"})
    ids = [each.assignment_id for each in work]
    totals: list[int] = []

    def page(order: Sequence[str]) -> None:
        done = page_actions.approve_all(requester=requester, assignment_ids=order, feedback="", actor="sue")
        totals.append(done.n)

    calls: list[Callable[[], Any]] = [partial(page, ids), partial(page, ids[::-1])]
    calls += [partial(assignments.approve, assignment=each) for each in work]
    outcomes = at_once(calls)
    assert outcomes["done"] + outcomes["InvalidAssignmentState"] == 8
    assert sum(totals) + (outcomes["done"] - 2) == 6
    assert {payments.owed(worker) for worker in workers} == {Decimal("1.00")}
    check_all()
