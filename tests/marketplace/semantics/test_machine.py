"""Whatever requesters, workers and the clock do, in whatever order: counters, books and states stay right.

The transitions are those of MTurk's diagrams of a HIT's and an assignment's life, written here a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marketplace import clock
from marketplace.models import Assignment, Hit
from marketplace.services import assignments, hits, payments
from marketplace.services.refusals import Refused
from marketplace.services.upkeep import bring_up_to_date
from tests.marketplace import factories
from tests.marketplace.semantics.checks import check_all

pytestmark = pytest.mark.django_db

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

number = st.integers(0, 3)
STEPS = st.one_of(
    st.tuples(st.just("create"), number, st.sampled_from([1, 2, 9, 10])),
    st.tuples(st.just("accept"), number, number),
    st.tuples(st.sampled_from(["submit", "return", "approve", "reject", "override", "bonus"]), number, number),
    st.tuples(st.sampled_from(["extend", "expire", "prolong", "review", "revert", "delete", "retype"]), number, number),
    st.tuples(st.just("deposit"), number, number),
    st.tuples(st.just("pay out"), number, number),
    st.tuples(st.just("wait"), st.sampled_from([1, 30, 400, 4000, 90_000, 2_600_000, 11_000_000]), number),
    st.tuples(st.just("upkeep"), number, number),
)


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
        self.now = clock.now()
        self.hit_states: dict[int, str] = {}
        self.assignment_states: dict[int, str] = {}

    def hit(self, number: int) -> Hit:
        found = list(Hit.objects.order_by("pk"))
        if not found:
            raise Refused("There is no HIT yet.")
        return found[number % len(found)]

    def assignment(self, number: int, *, state: str) -> Assignment:
        """One in this state if there is any, so that steps often do something; else any."""
        found = list(Assignment.objects.filter(state=state).order_by("pk"))
        found = found or list(Assignment.objects.order_by("pk"))
        if not found:
            raise Refused("There is no assignment yet.")
        return found[number % len(found)]

    def take(self, name: str, first: int, second: int) -> None:
        actions: dict[str, Callable[[], Any]] = {
            "create": lambda: self.create(second, token=str(first)),
            "accept": lambda: assignments.accept(worker=self.workers[second], hit=self.hit(first), now=self.now),
            "submit": lambda: self.work(first, "submit"),
            "return": lambda: self.work(first, "return"),
            "approve": lambda: assignments.approve(assignment=self.assignment(first, state="Submitted"), now=self.now),
            "reject": lambda: assignments.reject(
                assignment=self.assignment(first, state="Submitted"), feedback="No.", now=self.now
            ),
            "override": lambda: assignments.approve(
                assignment=self.assignment(first, state="Rejected"), override=True, now=self.now
            ),
            "bonus": lambda: self.bonus(first, token=str(second)),
            "extend": lambda: hits.extend_hit(hit=self.hit(first), additional=second + 1, now=self.now),
            "expire": lambda: hits.set_expiration(hit=self.hit(first), expires_at=self.now, now=self.now),
            "prolong": lambda: hits.set_expiration(
                hit=self.hit(first), expires_at=self.now + timedelta(hours=2), now=self.now
            ),
            "review": lambda: hits.set_review_status(hit=self.hit(first), revert=False, now=self.now),
            "revert": lambda: hits.set_review_status(hit=self.hit(first), revert=True, now=self.now),
            "delete": lambda: hits.delete_hit(hit=self.hit(first), now=self.now),
            "retype": lambda: self.retype(first, second),
            "deposit": lambda: payments.deposit(requester=self.requester, amount=Decimal(first + 1), actor="test"),
            "pay out": lambda: payments.pay_out(worker=self.workers[first], actor="test"),
            "wait": lambda: self.wait(first),
            "upkeep": lambda: bring_up_to_date(now=self.now),
        }
        try:
            with transaction.atomic():
                actions[name]()
        except Refused:
            pass

    def create(self, max_assignments: int, *, token: str) -> None:
        work = hits.Work(question=factories.external_question(), lifetime=3600, max_assignments=max_assignments)
        hits.create_hit(
            requester=self.requester, hit_type=factories.properties(reward="0.13"), work=work, token=token, now=self.now
        )

    def retype(self, number: int, dimes: int) -> None:
        properties = factories.properties(reward=f"0.{dimes}5")
        hit_type = hits.create_hit_type(requester=self.requester, properties=properties, now=self.now)
        hits.change_type(hit=self.hit(number), hit_type=hit_type, now=self.now)

    def work(self, number: int, action: str) -> None:
        found = self.assignment(number, state="Accepted")
        if action == "submit":
            assignments.submit(assignment_id=found.assignment_id, answers={"a": "b"}, now=self.now)
        else:
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
        """All is right, and every state is at most so many arrows from where it was."""
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


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    derandomize=True,
)
@given(steps=st.lists(STEPS, min_size=5, max_size=30))
def test_invariants_hold_after_every_step(steps: list[tuple[str, int, int]]) -> None:
    with rolled_back():
        world = World()
        for step in steps:
            bring_up_to_date(now=world.now)
            world.check(arrows=3)  # much may have been due
            world.take(*step)
            world.check(arrows=1)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(STEPS, min_size=5, max_size=25))
def test_it_makes_no_difference_when_the_periodic_task_comes_by(steps: list[tuple[str, int, int]]) -> None:
    """The same history with the task after every step and without it ends the same."""
    ends = []
    for with_task in (True, False):
        with rolled_back():
            world = World()
            start = world.now
            for step in steps:
                world.take(*step)
                if with_task:
                    bring_up_to_date(now=world.now)
            bring_up_to_date(now=world.now)
            ends.append(what_is(start))
    assert ends[0] == ends[1]


def what_is(start: Any) -> list[Any]:
    """Everything that people see, times counted from the start of the history."""
    rows: list[Any] = [
        (hit.state, hit.n_pending, hit.n_available, hit.n_completed, hit.expires_at - start, hit.held_open)
        for hit in Hit.objects.order_by("pk")
    ]
    for each in Assignment.objects.order_by("pk"):
        moments = (each.approved_at, each.ended_at, each.submitted_at)
        rows.append((each.state, [moment and moment - start for moment in moments], each.reward))
    return rows
