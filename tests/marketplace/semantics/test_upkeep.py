"""What is due by time alone counts even before anything has run, and is recorded with the time when it was due."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from marketplace import tasks
from marketplace.models import Assignment, Hit, LedgerEntry, NotificationDelivery, Requester, Worker
from marketplace.services.hits import assignments, due_changes, offers, posting, state_changes
from marketplace.services.messages import notifications
from marketplace.services.money import payments
from marketplace.services.qualifications import builtin_types
from marketplace.services.qualifications.requirements import Standing
from marketplace.services.refusals import Refusal
from tests.marketplace.semantics.conftest import Clock
from tests.marketplace.support import factories
from tests.marketplace.support.checks import check_all

pytestmark = pytest.mark.django_db
#: A HIT for 0.50 costs 0.60 with its fee.
T0 = datetime(2030, 1, 1, 12, tzinfo=UTC)
EVENTS = ("AssignmentAbandoned", "AssignmentApproved", "HITExpired", "HITReviewable", "HITDisposed")


def at(seconds: int) -> datetime:
    return T0 + timedelta(seconds=seconds)


def post(requester: Requester, *, now: datetime = T0, lifetime: int = 3600, places: int = 1, **of_type: Any) -> Hit:
    work = posting.Work(question=factories.external_question(), lifetime=lifetime, max_assignments=places)
    properties = factories.properties(**of_type)
    return posting.create_hit(requester=requester, hit_type=properties, work=work, now=now)


def hand_in(hit: Hit, worker: Worker, now: datetime) -> Assignment:
    accepted = assignments.accept(worker=worker, hit=hit, now=now)
    return assignments.submit(assignment_id=accepted.assignment_id, answers={"better": "A"}, now=now)


def rejected(requester: Requester) -> Assignment:
    done = hand_in(post(requester), factories.make_worker(), T0)
    return assignments.reject(assignment=done, feedback="Empty.", now=T0)


def ended(requester: Requester) -> Hit:
    return posting.set_expiration(hit=post(requester), expires_at=T0, now=T0)


NEEDS_MONEY: dict[str, Callable[[Requester, Any], Any]] = {
    "create": lambda requester, _: post(requester, now=at(90)),
    "extend": lambda _, hit: posting.extend_hit(hit=hit, additional=1, now=at(90)),
    "prolong": lambda _, hit: posting.set_expiration(hit=hit, expires_at=at(4000), now=at(90)),
    "retype": lambda requester, hit: posting.change_type(
        hit=hit,
        hit_type=posting.create_hit_type(requester=requester, properties=factories.properties(reward="1.00"), now=T0),
        now=at(90),
    ),
    "override": lambda _, done: assignments.approve(assignment=done, override=True, now=at(90)),
}
BEFORE: dict[str, Callable[[Requester], Any]] = {
    "extend": post,
    "prolong": ended,
    "retype": post,
    "override": rejected,
}


@pytest.mark.parametrize("name", NEEDS_MONEY)
def test_what_an_expired_hit_held_can_be_spent_at_once(name: str) -> None:
    requester = factories.make_requester(balance="1.20")
    thing = BEFORE[name](requester) if name in BEFORE else None
    available = payments.available(requester)
    filler = post(requester, lifetime=60, reward=str(available / Decimal("1.2")))
    assert payments.available(requester) == 0
    with pytest.raises(Refusal, match="does not cover"):
        post(requester, now=at(30))
    NEEDS_MONEY[name](requester, thing)
    filler.refresh_from_db()
    assert filler.expired
    check_all()


def history() -> list[tuple[str, str]]:
    told = [(event["EventTimestamp"][11:], event["EventType"]) for event in _events()]
    moved = LedgerEntry.objects.filter(kind__in=["reward", "refund"], account__kind__in=["worker", "requester"])
    return sorted(told + [(f"{entry.created_at:%H:%M:%SZ}", f"{entry.kind} {entry.amount}") for entry in moved])


def _events() -> list[dict[str, str]]:
    return list(NotificationDelivery.objects.order_by("pk").values_list("event", flat=True))


@pytest.mark.parametrize("moments", [range(0, 4000, 10), [4000]], ids=["in time", "late"])
def test_everything_has_the_time_at_which_it_was_due(moments: list[int]) -> None:
    """Three places: one is abandoned, one approved by itself, one never taken."""
    requester = factories.make_requester(balance="10.00")
    hit = post(requester, places=3, lifetime=1800, assignment_duration=600, auto_approval_delay=900)
    told = notifications.Specification("https://queue.example/1", "SQS", "2014-08-15", EVENTS)
    notifications.set_notification(hit_type=hit.hit_type, specification=told, active=True, now=T0)
    hand_in(hit, factories.make_worker(), at(60))
    assignments.accept(worker=factories.make_worker(), hit=hit, now=at(1230))
    for moment in moments:
        due_changes.bring_up_to_date(now=at(moment))
    assert history() == [
        ("12:16:00Z", "AssignmentApproved"),  # 60 + 900 seconds
        ("12:16:00Z", "reward 0.50"),
        ("12:30:00Z", "HITExpired"),
        ("12:30:00Z", "refund 0.60"),  # for the place that nobody took
        ("12:30:30Z", "AssignmentAbandoned"),  # 1230 + 600 seconds: it may be finished after the expiry
        ("12:30:30Z", "HITReviewable"),
        ("12:30:30Z", "refund 0.60"),
    ]
    check_all()


def test_work_that_counts_as_approved_counts_for_its_worker(moving_clock: Clock) -> None:
    worker, hit = factories.make_worker(), factories.make_hit(auto_approval_delay=60)
    factories.make_assignment(hit=hit, worker=worker, submitted=True)
    rule = {"QualificationTypeId": builtin_types.NUMBER_APPROVED, "Comparator": "GreaterThan", "IntegerValues": [0]}
    for_proven = factories.make_hit(requirements=[rule])
    with pytest.raises(Refusal, match="yours is 0"):
        assignments.accept(worker=worker, hit=for_proven)
    moving_clock.move(seconds=61)
    assert Standing(worker).value(builtin_types.NUMBER_APPROVED) == 1
    assignments.accept(worker=worker, hit=for_proven)
    assert Assignment.objects.get(hit=hit).state == "Submitted"  # nothing has run yet


def test_looking_for_work_gives_places_back_and_leaves_the_rest_to_the_task(moving_clock: Clock) -> None:
    left = factories.make_assignment(hit=factories.make_hit(title="Left", lifetime=90_000, assignment_duration=60))
    over = factories.make_hit(title="Over", lifetime=60)
    moving_clock.move(seconds=61)
    groups = offers.groups_for(worker=factories.make_worker())
    assert [(group.hit_type.title, group.n_available) for group in groups] == [("Left", 1)]
    left.refresh_from_db()
    over.refresh_from_db()
    assert (left.state, over.expired) == ("Abandoned", False)
    assert assignments.accept(worker=factories.make_worker(), hit_type=left.hit.hit_type).hit_id == left.hit_id
    assert tasks.upkeep() == 1
    over.refresh_from_db()
    assert over.expired


def test_one_broken_hit_does_not_hold_up_the_others(
    moving_clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken, sound = factories.make_hit(lifetime=60), factories.make_hit(lifetime=70)
    update_hit = state_changes.update_hit

    def fails_for_one(hit: Hit, **options: Any) -> None:
        if hit.pk == broken.pk:
            raise RuntimeError("This one is broken.")
        update_hit(hit, **options)

    monkeypatch.setattr(due_changes, "update_hit", fails_for_one)
    moving_clock.move(seconds=100)
    with caplog.at_level(logging.ERROR, logger="marketplace.services.hits.due_changes"):
        tasks.upkeep()
    sound.refresh_from_db()
    assert sound.state == "Reviewable"
    assert "This one is broken." in caplog.text
    with pytest.raises(RuntimeError):  # a request for this HIT alone fails
        due_changes.bring_up_to_date(hit=broken)
