"""The life of a HIT: its states, counters and money, by what people do and by the clock."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from marketplace import clock
from marketplace.models import Assignment, Hit
from marketplace.services.accounts import worker_accounts
from marketplace.services.hits import assignments, offers, posting
from marketplace.services.hits.due_changes import bring_up_to_date
from marketplace.services.money import payments
from marketplace.services.qualifications import builtin_types
from marketplace.services.refusals import AlreadyExists, InvalidParameter, Refusal, WrongState
from tests.marketplace.semantics.conftest import Clock
from tests.marketplace.support import factories
from tests.marketplace.support.checks import check_all

pytestmark = pytest.mark.django_db


def state_of(hit: Hit) -> tuple[str, int, int, int]:
    """State, pending, available, completed."""
    bring_up_to_date(hit=hit)
    hit.refresh_from_db()
    return hit.state, hit.n_pending, hit.n_available, hit.n_completed


def submit(assignment: Assignment) -> Assignment:
    return assignments.submit(assignment_id=assignment.assignment_id, answers={"better": "A"})


def test_from_assignable_to_disposed() -> None:
    hit = factories.make_hit(max_assignments=2)
    assert state_of(hit) == ("Assignable", 0, 2, 0)
    first = factories.make_assignment(hit=hit)
    assert state_of(hit) == ("Assignable", 1, 1, 0)
    second = factories.make_assignment(hit=hit)
    assert state_of(hit) == ("Unassignable", 2, 0, 0)
    submit(first)
    assert state_of(hit) == ("Unassignable", 1, 0, 0)
    submit(second)
    assert state_of(hit) == ("Reviewable", 0, 0, 0)
    with pytest.raises(Refusal, match="submitted assignments"):
        posting.delete_hit(hit=hit)
    assignments.approve(assignment=first)
    assignments.reject(assignment=second, feedback="Empty.")
    assert state_of(hit) == ("Reviewable", 0, 0, 2)
    posting.set_review_status(hit=hit, revert=False)
    assert state_of(hit)[0] == "Reviewing"
    posting.set_review_status(hit=hit, revert=True)
    assert state_of(hit)[0] == "Reviewable"
    posting.delete_hit(hit=hit)
    assert state_of(hit)[0] == "Disposed"
    with pytest.raises(WrongState):
        posting.set_expiration(hit=hit, expires_at=clock.now())
    assert payments.held(hit.requester) == 0
    assert payments.owed(first.worker) == Decimal("0.50")
    assert payments.available(hit.requester) == Decimal("99.40")
    check_all()


def test_a_returned_place_is_free_again_also_for_the_same_worker() -> None:
    hit = factories.make_hit()
    worker = factories.make_worker()
    first = factories.make_assignment(hit=hit, worker=worker)
    assert assignments.accept(worker=worker, hit=hit) == first
    assignments.return_(assignment_id=first.assignment_id, worker=worker)
    assert state_of(hit) == ("Assignable", 0, 1, 0)
    second = assignments.accept(worker=worker, hit=hit)
    assert second.assignment_id != first.assignment_id
    with pytest.raises(WrongState):
        submit(first)
    submit(second)
    with pytest.raises(Refusal, match="already"):
        assignments.accept(worker=worker, hit=hit)
    check_all()


def test_submitting_twice_changes_nothing() -> None:
    assignment = submit(factories.make_assignment())
    again = assignments.submit(assignment_id=assignment.assignment_id, answers={"better": "B"})
    assert again.answer == assignment.answer


@pytest.mark.parametrize("by_task", [True, False])
def test_work_that_runs_out_of_time_is_abandoned_when_it_was_due(moving_clock: Clock, by_task: bool) -> None:
    hit = factories.make_hit(assignment_duration=60)
    assignment = factories.make_assignment(hit=hit)
    moving_clock.move(seconds=61)
    if by_task:
        assert bring_up_to_date() == 1
        assert bring_up_to_date() == 0
    with pytest.raises(Refusal, match="time for this task is up"):
        submit(assignment)
    assert state_of(hit) == ("Assignable", 0, 1, 0)
    assignment.refresh_from_db()
    assert (assignment.state, assignment.ended_at) == ("Abandoned", assignment.deadline)
    check_all()


def test_expiry_gives_the_money_of_open_places_back_and_lets_work_go_on(moving_clock: Clock) -> None:
    hit = factories.make_hit(max_assignments=3, lifetime=100, assignment_duration=600)
    assignment = factories.make_assignment(hit=hit)
    moving_clock.move(seconds=101)
    assert state_of(hit) == ("Unassignable", 1, 2, 0)
    assert payments.held(hit.requester) == Decimal("0.60")
    with pytest.raises(Refusal):
        factories.make_assignment(hit=hit)
    submit(assignment)
    assert state_of(hit) == ("Reviewable", 0, 2, 0)
    posting.set_expiration(hit=hit, expires_at=clock.now() + timedelta(hours=1))
    assert state_of(hit) == ("Assignable", 0, 2, 0)
    assert payments.held(hit.requester) == Decimal("1.80")
    posting.set_expiration(hit=hit, expires_at=clock.now() - timedelta(days=3))
    assert state_of(hit)[0] == "Reviewable"
    check_all()


def test_extending_an_expired_hit_needs_the_money() -> None:
    requester = factories.make_requester(balance="1.20")
    hit = factories.make_hit(requester=requester, max_assignments=2)
    posting.set_expiration(hit=hit, expires_at=clock.now())
    factories.make_hit(requester=requester)
    with pytest.raises(payments.InsufficientFunds):
        posting.set_expiration(hit=hit, expires_at=clock.now() + timedelta(hours=1))
    assert state_of(hit)[0] == "Reviewable"
    check_all()


@pytest.mark.parametrize("by_task", [True, False])
def test_auto_approval_pays_at_its_time(moving_clock: Clock, by_task: bool) -> None:
    hit = factories.make_hit(auto_approval_delay=3600)
    assignment = factories.make_assignment(hit=hit, submitted=True)
    moving_clock.move(hours=5)
    if by_task:
        bring_up_to_date()
    with pytest.raises(WrongState):
        assignments.reject(assignment=assignment, feedback="Too late.")
    assert state_of(hit) == ("Reviewable", 0, 0, 1)
    assignment.refresh_from_db()
    assert (assignment.state, assignment.approved_at) == ("Approved", assignment.auto_approve_at)
    assert payments.owed(assignment.worker) == Decimal("0.50")
    check_all()


def test_a_rejection_is_withdrawn_within_thirty_days_and_paid_from_the_balance(moving_clock: Clock) -> None:
    requester = factories.make_requester(balance="1.20")
    first = factories.make_assignment(hit=factories.make_hit(requester=requester), submitted=True)
    second = factories.make_assignment(hit=factories.make_hit(requester=requester), submitted=True)
    for assignment in (first, second):
        assignments.reject(assignment=assignment, feedback="Wrong.")
    assert payments.available(requester) == Decimal("1.20")
    moving_clock.move(days=29)
    with pytest.raises(WrongState):
        assignments.approve(assignment=first)
    assignments.approve(assignment=first, override=True)
    assert payments.available(requester) == Decimal("0.60")
    with pytest.raises(WrongState):
        assignments.approve(assignment=first, override=True)
    moving_clock.move(days=2)
    with pytest.raises(Refusal, match="30 days"):
        assignments.approve(assignment=second, override=True)
    check_all()


def test_old_hits_are_disposed_of(moving_clock: Clock) -> None:
    hit = factories.make_hit(lifetime=60)
    moving_clock.move(days=119)
    assert state_of(hit)[0] == "Reviewable"
    moving_clock.move(days=2)
    assert state_of(hit)[0] == "Disposed"


def test_a_token_makes_one_hit_for_24_hours(moving_clock: Clock) -> None:
    requester = factories.make_requester()
    hit = factories.make_hit(requester=requester, token="once")
    with pytest.raises(AlreadyExists) as refused:
        factories.make_hit(requester=requester, token="once")
    assert refused.value.identifier == hit.hit_id
    assert hit.hit_id in refused.value.message
    factories.make_hit(token="once")  # another requester's token is another one
    moving_clock.move(hours=24)
    factories.make_hit(requester=requester, token="once")
    assert requester.hits.count() == 2


def test_a_token_of_a_request_that_failed_is_free() -> None:
    requester = factories.make_requester(balance="0.10")
    with pytest.raises(payments.InsufficientFunds):
        factories.make_hit(requester=requester, token="once")
    payments.deposit(requester=requester, amount=Decimal(1), actor="test")
    factories.make_hit(requester=requester, token="once")


@pytest.mark.parametrize(
    ("made_with", "additional", "allowed"), [(1, 8, True), (9, 1, False), (1, 9, False), (10, 90, True)]
)
def test_a_hit_below_ten_assignments_stays_below(made_with: int, additional: int, allowed: bool) -> None:
    hit = factories.make_hit(max_assignments=made_with)
    if allowed:
        posting.extend_hit(hit=hit, additional=additional)
        assert state_of(hit) == ("Assignable", 0, made_with + additional, 0)
    else:
        with pytest.raises(Refusal) as refused:
            posting.extend_hit(hit=hit, additional=additional)
        assert refused.value.code == "InvalidMaximumAssignmentsIncrease"
    check_all()


def test_extending_a_finished_hit_offers_it_again() -> None:
    hit = factories.make_hit()
    factories.make_assignment(hit=hit, submitted=True)
    assert state_of(hit)[0] == "Reviewable"
    posting.set_review_status(hit=hit, revert=False)
    posting.extend_hit(hit=hit, additional=2)
    assert state_of(hit) == ("Assignable", 0, 2, 0)
    check_all()


def test_the_same_properties_are_one_type() -> None:
    requester = factories.make_requester()
    types = [
        posting.create_hit_type(requester=requester, properties=properties)
        for properties in (factories.properties(), factories.properties(), factories.properties(reward="0.51"))
    ]
    assert types[0] == types[1] != types[2]
    other = posting.create_hit_type(requester=factories.make_requester(), properties=factories.properties())
    assert other != types[0]


def test_another_type_changes_what_open_places_hold_and_not_what_was_promised() -> None:
    hit = factories.make_hit(max_assignments=2, reward="0.50")
    assignment = factories.make_assignment(hit=hit)
    dear = posting.create_hit_type(requester=hit.requester, properties=factories.properties(reward="1.00"))
    posting.change_type(hit=hit, hit_type=dear)
    assert payments.held(hit.requester) == Decimal("1.80")  # 0.60 accepted, 1.20 open
    check_all()
    assignments.return_(assignment_id=assignment.assignment_id, worker=assignment.worker)
    assert payments.held(hit.requester) == Decimal("2.40")
    check_all()


def test_a_place_that_can_no_longer_be_paid_is_not_offered_again() -> None:
    requester = factories.make_requester(balance="1.80")
    hit = factories.make_hit(requester=requester, max_assignments=2, reward="0.50")
    assignment = factories.make_assignment(hit=hit)
    dear = posting.create_hit_type(requester=requester, properties=factories.properties(reward="1.00"))
    posting.change_type(hit=hit, hit_type=dear)
    assert payments.available(requester) == 0
    assignments.return_(assignment_id=assignment.assignment_id, worker=assignment.worker)
    assert state_of(hit)[0] == "Reviewable"
    assert payments.available(requester) == Decimal("1.80")
    check_all()


def test_blocked_and_inactive_workers_cannot_accept_anything() -> None:
    hit = factories.make_hit()
    worker = factories.make_worker()
    worker_accounts.block(requester=hit.requester, worker=worker, reason="Spam.")
    with pytest.raises(Refusal) as refused:
        assignments.accept(worker=worker, hit=hit)
    assert refused.value.code == "WorkerBlocked"
    with pytest.raises(Refusal):
        assignments.accept(worker=worker, hit_type=hit.hit_type)
    assert offers.groups_for(worker=worker) == []
    worker_accounts.unblock(requester=hit.requester, worker=worker)
    assert [group.n_available for group in offers.groups_for(worker=worker)] == [1]
    worker.active = False
    with pytest.raises(Refusal):
        assignments.accept(worker=worker, hit=hit)


def test_a_group_gives_out_each_of_its_hits_once_to_a_worker() -> None:
    requester = factories.make_requester()
    made = [factories.make_hit(requester=requester) for _ in range(3)]
    worker = factories.make_worker()
    group = offers.groups_for(worker=worker, search="summaries compare", sort="reward")[0]
    assert (group.n_available, group.qualified) == (3, True)
    taken = {assignments.accept(worker=worker, hit_type=group.hit_type).hit_id for _ in made}
    assert taken == {hit.pk for hit in made}
    with pytest.raises(Refusal, match="no more"):
        assignments.accept(worker=worker, hit_type=group.hit_type)
    assert offers.groups_for(worker=worker) == []


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"question": "<a/>"}, "Question"),
        ({"question": factories.html_question("x" * 66_000)}, "Question"),
        ({"max_assignments": 0}, "MaxAssignments"),
        ({"lifetime": 29}, "LifetimeInSeconds"),
        ({"annotation": "x" * 256}, "RequesterAnnotation"),
        ({"title": ""}, "Title"),
        ({"assignment_duration": 31_536_001}, "AssignmentDurationInSeconds"),
    ],
)
def test_invalid_values_are_refused(change: dict[str, object], parameter: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        factories.make_hit(**change)  # type: ignore[arg-type]
    assert refused.value.parameter == parameter
    assert not Hit.objects.exists()


def test_a_hit_that_is_ended_by_a_past_time_expires_now(moving_clock: Clock) -> None:
    """Scripts send a time years ago. Events stay in order, and an old HIT is not disposed of at once."""
    hit = factories.make_hit(lifetime=200 * 86_400, max_assignments=2)
    moving_clock.move(days=150)
    submit(factories.make_assignment(hit=hit))
    before = clock.now()
    posting.set_expiration(hit=hit, expires_at=before - timedelta(days=4000))
    assert state_of(hit)[0] == "Reviewable"
    ended = hit.expires_at
    assert before <= ended <= clock.now()
    posting.set_expiration(hit=hit, expires_at=before - timedelta(days=5000))
    hit.refresh_from_db()
    assert hit.expires_at == ended
    check_all()


@pytest.mark.parametrize("decide", [assignments.approve, assignments.reject])
@pytest.mark.parametrize(("feedback", "fits"), [("é" * 1024, True), ("x" * 1025, False), ("a\x07b", False)])
def test_feedback_has_at_most_1024_characters(decide: Any, feedback: str, fits: bool) -> None:
    """The reference of Amazon's API of 2014-08-15 names both limits."""
    assignment = factories.make_assignment(submitted=True)
    if fits:
        assert decide(assignment=assignment, feedback=feedback).requester_feedback == feedback
        return
    with pytest.raises(InvalidParameter, match=r"1,024 characters|control characters"):
        decide(assignment=assignment, feedback=feedback)
    assignment.refresh_from_db()
    assert assignment.state == "Submitted"


def test_a_country_that_does_not_exist_is_refused() -> None:
    for code, known in (("CH", True), ("ch", False), ("XX", False), ("UK", False)):
        place = {
            "QualificationTypeId": builtin_types.LOCALE,
            "Comparator": "EqualTo",
            "LocaleValues": [{"Country": code}],
        }
        if known:
            assert factories.make_hit(requirements=[place])
        else:
            with pytest.raises(InvalidParameter, match="ISO 3166"):
                factories.make_hit(requirements=[place])
