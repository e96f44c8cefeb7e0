"""Qualifications: built-in ones, comparators, what they guard; requests, tests, grants."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from marketplace.models import Assignment, Qualification, QualificationRequest, Worker
from marketplace.services.hits import assignments, offers
from marketplace.services.qualifications import builtin_types, grants, qualification_requests, qualification_types
from marketplace.services.qualifications.requirements import Standing
from marketplace.services.refusals import AlreadyExists, InvalidParameter, NotFound, Refusal, WrongState
from tests.marketplace.semantics.conftest import Clock
from tests.marketplace.support import factories

pytestmark = pytest.mark.django_db


def asks(type_id: str, comparator: str, *values: int, guarded: str = "Accept") -> dict[str, Any]:
    requirement: dict[str, Any] = {
        "QualificationTypeId": type_id,
        "Comparator": comparator,
        "ActionsGuarded": guarded,
    }
    return requirement | ({"IntegerValues": list(values)} if values else {})


def asks_place(comparator: str, *places: str) -> dict[str, Any]:
    split = [place.partition("-") for place in places]
    locales = [{"Country": country} | ({"Subdivision": part} if part else {}) for country, _, part in split]
    return {"QualificationTypeId": builtin_types.LOCALE, "Comparator": comparator, "LocaleValues": locales}


COMPARED = [
    # comparator, values, met with a value of 80
    ("LessThan", [80], False),
    ("LessThan", [81], True),
    ("LessThanOrEqualTo", [80], True),
    ("GreaterThan", [80], False),
    ("GreaterThanOrEqualTo", [80], True),
    ("EqualTo", [80], True),
    ("NotEqualTo", [80], False),
    ("NotEqualTo", [79], True),
    ("In", [1, 80], True),
    ("In", [1, 2], False),
    ("NotIn", [1, 80], False),
    ("NotIn", [1, 2], True),
    ("Exists", [], True),
    ("DoesNotExist", [], False),
]


@pytest.mark.parametrize(("comparator", "values", "met"), COMPARED)
def test_comparators(comparator: str, values: list[int], met: bool) -> None:
    worker, stranger = factories.make_worker(), factories.make_worker()
    type_ = factories.make_qualification_type()
    grants.associate(type=type_, worker=worker, value=80)
    requirement = asks(type_.type_id, comparator, *values)
    assert Standing(worker).meets(requirement) is met
    assert Standing(stranger).meets(requirement) is (comparator == "DoesNotExist")
    grants.disassociate(type=type_, worker=worker)
    assert Standing(worker).meets(requirement) is (comparator == "DoesNotExist")


PLACES = [
    (asks_place("EqualTo", "US"), True),
    (asks_place("EqualTo", "US-WA"), True),
    (asks_place("EqualTo", "US-CA"), False),
    (asks_place("NotEqualTo", "US-CA"), True),
    (asks_place("NotEqualTo", "US"), False),
    (asks_place("In", "DE", "US"), True),
    (asks_place("NotIn", "DE", "FR"), True),
    (asks_place("NotIn", "DE", "US"), False),
]


@pytest.mark.parametrize(("requirement", "met"), PLACES)
def test_locale(requirement: dict[str, Any], met: bool) -> None:
    assert Standing(factories.make_worker(country="US", subdivision="WA")).meets(requirement) is met
    assert not Standing(factories.make_worker(country="")).meets(requirement)


def record_of(worker: Worker, approved: int, rejected: int) -> None:
    hit = factories.make_hit()
    for state, count in (("Approved", approved), ("Rejected", rejected)):
        for _ in range(count):
            Assignment.objects.create(
                assignment_id=f"R{Assignment.objects.count()}",
                hit=hit_like(hit),
                worker=worker,
                state=state,
                reward=Decimal("0.01"),
                fee=Decimal("0.01"),
                accepted_at=hit.created_at,
                deadline=hit.created_at,
            )


def hit_like(hit: Any) -> Any:
    """Another HIT with the same properties: a worker has one assignment of each."""
    hit.pk, hit.hit_id = None, f"{hit.hit_id[:20]}{Assignment.objects.count():010d}"
    hit.save(force_insert=True)
    return hit


def test_number_and_percent_approved() -> None:
    worker = factories.make_worker()
    record_of(worker, approved=3, rejected=2)
    assert Standing(worker).value(builtin_types.NUMBER_APPROVED) == 3
    assert Standing(worker).value(builtin_types.PERCENT_APPROVED) == 100  # too few to tell
    record_of(worker, approved=92, rejected=3)
    assert Standing(worker).value(builtin_types.PERCENT_APPROVED) == 95


def test_guards_hide_hits_and_close_previews() -> None:
    requester, worker = factories.make_requester(), factories.make_worker()
    needed = factories.make_qualification_type(requester=requester, name="Needed")
    by_guard = {
        guard: factories.make_hit(
            requester=requester, title=guard, requirements=[asks(needed.type_id, "Exists", guarded=guard)]
        )
        for guard in ("Accept", "PreviewAndAccept", "DiscoverPreviewAndAccept")
    }
    shown = {group.hit_type.title: group for group in offers.groups_for(worker=worker)}
    assert set(shown) == {"Accept", "PreviewAndAccept"}
    assert shown["Accept"].can_preview
    assert not shown["PreviewAndAccept"].can_preview
    assert "Needed" in shown["Accept"].reasons[0]
    offers.preview_hit(hit_type=by_guard["Accept"].hit_type, worker=worker)
    with pytest.raises(Refusal):
        offers.preview_hit(hit_type=by_guard["PreviewAndAccept"].hit_type, worker=worker)
    for hit in by_guard.values():
        with pytest.raises(Refusal) as refused:
            assignments.accept(worker=worker, hit=hit)
        assert refused.value.code == "QualificationNotMet"
    grants.associate(type=needed, worker=worker)
    for hit in by_guard.values():
        assignments.accept(worker=worker, hit=hit)


def test_masters_cost_more_and_are_granted_by_the_operator() -> None:
    worker = factories.make_worker()
    hit = factories.make_hit(reward="1.00", requirements=[asks(builtin_types.MASTERS, "Exists")])
    assert hit.held_open == Decimal("1.25")
    with pytest.raises(Refusal):
        assignments.accept(worker=worker, hit=hit)
    masters = qualification_types.find_type(builtin_types.MASTERS)
    with pytest.raises(Refusal):
        qualification_requests.request(type=masters, worker=worker)
    grants.grant(type=masters, worker=worker, actor="operator")
    assignments.accept(worker=worker, hit=hit)


WRONG = [
    [asks(builtin_types.NUMBER_APPROVED, "Exists", 1)],
    [asks(builtin_types.NUMBER_APPROVED, "LessThan")],
    [asks(builtin_types.NUMBER_APPROVED, "LessThan", 1, 2)],
    [asks(builtin_types.NUMBER_APPROVED, "In", *range(16))],
    [asks(builtin_types.LOCALE, "EqualTo", 1)],
    [asks_place("GreaterThan", "US")],
    [asks_place("EqualTo", "US", "DE")],
    [asks_place("EqualTo", "US")] * 11,
    [{**asks_place("EqualTo", "US"), "QualificationTypeId": builtin_types.NUMBER_APPROVED}],
]


@pytest.mark.parametrize("requirements", WRONG)
def test_invalid_requirements_are_refused(requirements: list[dict[str, Any]]) -> None:
    with pytest.raises(InvalidParameter):
        factories.make_hit(requirements=requirements)


def test_a_type_that_does_not_exist_cannot_be_asked_for() -> None:
    with pytest.raises(NotFound):
        factories.make_hit(requirements=[asks("3NOSUCHTYPE", "Exists")])


def test_a_test_with_a_key_is_scored_and_granted(moving_clock: Clock) -> None:
    worker = factories.make_worker()
    type_ = factories.make_qualification_type(test=True, retry_delay=3600)
    first = qualification_requests.request(type=type_, worker=worker)
    assert first.state == "Started"
    assert qualification_requests.request(type=type_, worker=worker) == first
    with pytest.raises(Refusal, match="capital"):
        qualification_requests.take_test(request=first, answers={"why": "no choice"})
    assert qualification_requests.take_test(request=first, answers={"capital": "rome"}).state == "Granted"
    assert Qualification.objects.get(worker=worker).value == 0
    with pytest.raises(Refusal, match="again from"):
        qualification_requests.request(type=type_, worker=worker)
    moving_clock.move(seconds=3601)
    second = qualification_requests.request(type=type_, worker=worker)
    qualification_requests.take_test(request=second, answers={"capital": "paris"})
    assert Qualification.objects.get(worker=worker).value == 100


def test_a_test_that_ran_out_of_time(moving_clock: Clock) -> None:
    type_, worker = factories.make_qualification_type(test=True), factories.make_worker()
    asked = qualification_requests.request(type=type_, worker=worker)
    moving_clock.move(seconds=601)
    with pytest.raises(Refusal, match="time"):
        qualification_requests.take_test(request=asked, answers={"capital": "paris"})
    with pytest.raises(Refusal, match="once"):
        qualification_requests.request(type=type_, worker=worker)


def test_a_test_without_a_key_is_decided_by_hand() -> None:
    type_, worker = factories.make_qualification_type(test=True, key=False), factories.make_worker()
    asked = qualification_requests.request(type=type_, worker=worker)
    with pytest.raises(WrongState):
        qualification_requests.accept_request(request=asked, value=1)
    asked = qualification_requests.take_test(request=asked, answers={"capital": "paris", "why": "I know."})
    assert asked.state == "Pending"
    assert "<SelectionIdentifier>paris</SelectionIdentifier>" in asked.answer
    qualification_requests.accept_request(request=asked, value=7)
    assert Qualification.objects.get(worker=worker).value == 7
    with pytest.raises(WrongState):
        qualification_requests.reject_request(request=asked)


def test_granted_at_once_or_rejected_with_a_reason() -> None:
    worker = factories.make_worker()
    at_once = factories.make_qualification_type(auto_granted=True, auto_value=3)
    assert qualification_requests.request(type=at_once, worker=worker).state == "Granted"
    assert Qualification.objects.get(worker=worker).value == 3
    by_hand = factories.make_qualification_type()
    asked = qualification_requests.request(type=by_hand, worker=worker)
    with pytest.raises(Refusal, match="not decided"):
        qualification_requests.request(type=by_hand, worker=worker)
    qualification_requests.reject_request(request=asked, reason="Not this time.")
    assert worker.messages.get().text == "Not this time."
    with pytest.raises(Refusal, match="once"):
        qualification_requests.request(type=by_hand, worker=worker)


def test_deleting_a_type_rejects_requests_and_frees_its_name() -> None:
    requester, worker = factories.make_requester(), factories.make_worker()
    type_ = factories.make_qualification_type(requester=requester, name="One")
    with pytest.raises(AlreadyExists):
        factories.make_qualification_type(requester=requester, name="One")
    qualification_requests.request(type=type_, worker=worker)
    qualification_types.delete_type(type=type_)
    assert QualificationRequest.objects.get().state == "Rejected"
    with pytest.raises(NotFound):
        qualification_types.find_type(type_.type_id)
    factories.make_qualification_type(requester=requester, name="One")


def test_terms_that_contradict_each_other() -> None:
    for terms in (
        {"test": True, "auto_granted": True},
        {"answer_key": factories.answer_key()},
        {"auto_value": 1},
        {"description": ""},
    ):
        with pytest.raises(InvalidParameter):
            factories.make_qualification_type(**terms)
