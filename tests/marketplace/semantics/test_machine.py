"""Whatever requesters, workers and the clock do, in whatever order: counters, books and states stay right.

The transitions are those of MTurk's diagrams of a HIT's and an assignment's life, written here a second time.

HITSERVER_TEST_EXAMPLES=300 tries more: that many histories of 50 steps each, new ones every time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marketplace.models import Assignment, Hit, HITType, LedgerEntry, NotificationDelivery
from marketplace.services.hits import assignments, posting
from marketplace.services.hits.due_changes import bring_up_to_date
from marketplace.services.messages import notifications
from marketplace.services.money import payments
from marketplace.services.refusals import Refusal
from tests.marketplace.support import factories
from tests.marketplace.support.checks import check_all

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

HIT_PATHS = {
    "Assignable": {"Unassignable", "Reviewable"},
    "Unassignable": {"Assignable", "Reviewable"},
    "Reviewable": {"Reviewing", "Assignable", "Disposed"},
    "Reviewing": {"Reviewable", "Assignable", "Disposed"},
    "Disposed": set(),
}
ASSIGNMENT_PATHS = {
    "Accepted": {"Submitted", "Returned", "Abandoned"},
    "Submitted": {"Approved", "Rejected"},
    "Rejected": {"Approved"},
    "Approved": set(),
    "Returned": set(),
    "Abandoned": set(),
}

START = datetime(2030, 1, 1, tzinfo=UTC)
EVENTS = (
    *("AssignmentAccepted", "AssignmentAbandoned", "AssignmentReturned", "AssignmentSubmitted", "AssignmentRejected"),
    *("AssignmentApproved", "HITCreated", "HITExtended", "HITDisposed", "HITReviewable", "HITExpired"),
)
LONG = int(os.environ.get("HITSERVER_TEST_EXAMPLES", "0"))
QUIET = settings(
    deadline=None,
    derandomize=not LONG,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
#: What may happen, and how often beside the others: most histories get as far as work that is decided on.
CHANCES = {
    "work": 8,
    "accept": 3,
    "submit": 2,
    "create": 2,
    "approve": 4,
    "reject": 2,
    "wait": 4,
    **dict.fromkeys(("return", "override", "extend", "expire", "prolong", "review", "retype", "upkeep"), 1),
    **dict.fromkeys(("revert", "delete", "bonus", "deposit", "pay out"), 1),
}
WAITS = (1, 30, 400, 700, 4000, 90_000, 2_600_000, 11_000_000)
number = st.integers(0, 3)
STEPS = st.tuples(st.sampled_from([name for name, chance in CHANCES.items() for _ in range(chance)]), number, number)
HISTORIES = st.lists(STEPS, min_size=50, max_size=50) if LONG else st.lists(STEPS, min_size=25, max_size=25)


@contextmanager
def rolled_back() -> Iterator[None]:
    """Every example starts with an empty database."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


class World:
    """One requester with little money, four workers, and what was seen of every HIT and assignment."""

    def __init__(self) -> None:
        self.requester = factories.make_requester(balance="6.00")
        self.workers = [factories.make_worker() for _ in range(4)]
        self.now = START
        self.create(2, token="first")
        self.hit_states: dict[int, str] = {}
        self.assignment_states: dict[int, str] = {}

    def hit(self, number: int) -> Hit:
        found = list(Hit.objects.order_by("pk"))
        if not found:
            raise Refusal("There is no HIT yet.")
        return found[number % len(found)]

    def assignment(self, number: int, *, state: str) -> Assignment:
        """One in this state if there is any, so that steps often do something; else any."""
        found = list(Assignment.objects.filter(state=state).order_by("pk"))
        found = found or list(Assignment.objects.order_by("pk"))
        if not found:
            raise Refusal("There is no assignment yet.")
        return found[number % len(found)]

    def take(self, name: str, first: int, second: int) -> None:
        actions: dict[str, Callable[[], Any]] = {
            "create": lambda: self.create((1, 2, 9, 10)[second], token=str(first)),
            "accept": lambda: assignments.accept(worker=self.workers[second], hit=self.hit(first), now=self.now),
            "submit": lambda: self.submit(self.assignment(first, state="Accepted")),
            "work": lambda: self.submit(
                assignments.accept(worker=self.workers[second], hit=self.hit(first), now=self.now)
            ),
            "return": lambda: self.give_back(first),
            "approve": lambda: assignments.approve(assignment=self.assignment(first, state="Submitted"), now=self.now),
            "reject": lambda: assignments.reject(
                assignment=self.assignment(first, state="Submitted"), feedback="No.", now=self.now
            ),
            "override": lambda: assignments.approve(
                assignment=self.assignment(first, state="Rejected"), override=True, now=self.now
            ),
            "bonus": lambda: self.bonus(first, token=str(second)),
            "extend": lambda: posting.extend_hit(hit=self.hit(first), additional=second + 1, now=self.now),
            "expire": lambda: posting.set_expiration(hit=self.hit(first), expires_at=self.now, now=self.now),
            "prolong": lambda: posting.set_expiration(
                hit=self.hit(first), expires_at=self.now + timedelta(hours=2), now=self.now
            ),
            "review": lambda: posting.set_review_status(hit=self.hit(first), revert=False, now=self.now),
            "revert": lambda: posting.set_review_status(hit=self.hit(first), revert=True, now=self.now),
            "delete": lambda: posting.delete_hit(hit=self.hit(first), now=self.now),
            "retype": lambda: self.retype(first, second),
            "deposit": lambda: payments.deposit(requester=self.requester, amount=Decimal(first + 1), actor="test"),
            "pay out": lambda: payments.pay_out(worker=self.workers[first], actor="test"),
            "wait": lambda: self.wait(WAITS[2 * first + second // 2]),
            "upkeep": lambda: bring_up_to_date(now=self.now),
        }
        try:
            with transaction.atomic():
                actions[name]()
        except Refusal:
            pass

    def create(self, max_assignments: int, *, token: str) -> None:
        work = posting.Work(question=factories.external_question(), lifetime=3600, max_assignments=max_assignments)
        hit_type = self.type("0.13")
        posting.create_hit(requester=self.requester, hit_type=hit_type, work=work, token=token, now=self.now)

    def retype(self, number: int, dimes: int) -> None:
        posting.change_type(hit=self.hit(number), hit_type=self.type(f"0.{dimes}5"), now=self.now)

    def type(self, reward: str) -> HITType:
        """A type whose requester wants to hear of everything."""
        properties = factories.properties(reward=reward)
        hit_type = posting.create_hit_type(requester=self.requester, properties=properties, now=self.now)
        told = notifications.Specification("https://queue.example/1", "SQS", "2014-08-15", EVENTS)
        notifications.set_notification(hit_type=hit_type, specification=told, active=True, now=self.now)
        return hit_type

    def submit(self, found: Assignment) -> None:
        assignments.submit(assignment_id=found.assignment_id, answers={"a": "b"}, now=self.now)

    def give_back(self, number: int) -> None:
        found = self.assignment(number, state="Accepted")
        assignments.return_(assignment_id=found.assignment_id, worker=found.worker, now=self.now)

    def bonus(self, number: int, *, token: str) -> None:
        found = self.assignment(number, state="Approved")
        payments.send_bonus(
            requester=self.requester,
            worker=found.worker,
            assignment=found,
            amount=Decimal("0.07"),
            reason="Thank you",
            token=token,
            now=self.now,
        )

    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    def check(self, *, arrows: int) -> None:
        """All is right, and every state is at most this many arrows from where it was."""
        check_all()
        self.hit_states = self._follow(self.hit_states, Hit, HIT_PATHS, arrows)
        self.assignment_states = self._follow(self.assignment_states, Assignment, ASSIGNMENT_PATHS, arrows)

    @staticmethod
    def _follow(before: dict[int, str], model: Any, paths: dict[str, set[str]], arrows: int) -> dict[int, str]:
        now = dict(model.objects.values_list("pk", "state"))
        for pk, state in now.items():
            if pk in before and before[pk] != state:
                assert state in reachable(before[pk], paths, arrows), f"{before[pk]} became {state}"
        assert before.keys() <= now.keys(), "a row is gone"
        return now


def reachable(start: str, paths: dict[str, set[str]], arrows: int) -> set[str]:
    found = {start}
    for _ in range(arrows):
        found |= {state for each in found for state in paths[each]}
    return found


@settings(QUIET, max_examples=LONG or 30)
@given(steps=HISTORIES)
def test_invariants_hold_after_every_step(steps: list[tuple[str, int, int]]) -> None:
    with rolled_back():
        world = World()
        for step in steps:
            bring_up_to_date(now=world.now)
            world.check(arrows=3)  # much may have been due
            world.take(*step)
            world.check(arrows=1)


@settings(QUIET, max_examples=LONG or 15)
@given(steps=HISTORIES)
def test_the_result_does_not_depend_on_when_the_periodic_task_runs(steps: list[tuple[str, int, int]]) -> None:
    """The same history with the task after every step and without it ends the same."""
    ends = []
    for with_task in (True, False):
        with rolled_back():
            world = World()
            for step in steps:
                world.take(*step)
                if with_task:
                    bring_up_to_date(now=world.now)
            bring_up_to_date(now=world.now)
            ends.append(what_is())
    assert ends[0] == ends[1]


def what_is() -> list[Any]:
    """All that people see, with its times, and every event and every movement of money that a HIT brought about."""
    numbers = {hit.hit_id: f"HIT {n}" for n, hit in enumerate(Hit.objects.order_by("pk"))}
    numbers |= {each.assignment_id: f"assignment {n}" for n, each in enumerate(Assignment.objects.order_by("pk"))}
    rows: list[Any] = [
        (hit.state, hit.n_pending, hit.n_available, hit.n_completed, hit.expires_at, hit.held_open, hit.due_at)
        for hit in Hit.objects.order_by("pk")
    ]
    for each in Assignment.objects.order_by("pk"):
        rows.append((each.state, each.approved_at, each.ended_at, each.submitted_at, each.reward))
    events = NotificationDelivery.objects.values_list("event", flat=True)
    rows += sorted(
        (event["EventTimestamp"], event["EventType"], numbers[event["HITId"]], numbers.get(event.get("AssignmentId")))
        for event in events
    )
    entries = LedgerEntry.objects.filter(kind__in=["reward", "fee", "hold", "refund"])
    moved = entries.values_list("created_at", "kind", "account__kind", "amount", "about")
    rows += sorted((*entry, numbers.get(about, "")) for *entry, about in moved)
    return rows
