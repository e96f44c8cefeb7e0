"""No page for workers makes more queries when there is more to show."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from marketplace.models import Worker
from marketplace.services.hits import assignments, offers
from marketplace.services.messages import worker_messages
from marketplace.services.money import payments
from marketplace.services.qualifications import grants, qualification_requests
from marketplace.services.qualifications.requirements import Standing
from tests.marketplace.support.work_site import (
    KEY,
    TEST,
    make_assignment,
    make_hit,
    make_requester,
    make_type,
    make_worker,
    signed_in,
)

pytestmark = pytest.mark.django_db
PAGES = ("home", "history", "earnings", "qualifications", "messages")


def one_more_of_everything(worker: Worker, number: int) -> None:
    """A new requester for everything, so that nothing is found because it was read before."""
    lab = make_requester(f"Lab {number}")
    lacking = make_type(lab, f"Sums {number}", test=TEST, answer_key=KEY, test_duration=300)
    had = make_type(lab, f"Words {number}")
    grants.associate(type=had, worker=worker)
    asked = make_type(lab, f"Music {number}")
    qualification_requests.request(type=asked, worker=worker)
    requirements = [
        {"QualificationTypeId": lacking.type_id, "Comparator": "EqualTo", "IntegerValues": [100]},
        {"QualificationTypeId": had.type_id, "Comparator": "Exists"},
        {"QualificationTypeId": asked.type_id, "Comparator": "DoesNotExist"},
        {"QualificationTypeId": "00000000000000000071", "Comparator": "In", "LocaleValues": [{"Country": "FR"}]},
    ]
    make_hit(lab, title=f"Guarded {number}", requirements=requirements)
    make_assignment(worker, make_hit(lab, title=f"Running {number}"))
    done = make_assignment(worker, make_hit(lab, title=f"Done {number}"))
    assignments.submit(assignment_id=done.assignment_id, worker=worker, answers={"tone": "sad"})
    done = assignments.approve(assignment=done, feedback="Thank you")
    payments.send_bonus(requester=lab, worker=worker, assignment=done, amount=Decimal("0.10"), reason="Fast")
    payments.pay_out(worker=worker, actor="test")
    worker_messages.send(worker=worker, requester=lab, subject="News", text="There is more.")


def asked_for(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as asked:
        assert client.get(address).status_code == 200
    return len(asked)


def test_queries_do_not_grow_with_rows() -> None:
    worker = make_worker()
    client = signed_in(worker)
    one_more_of_everything(worker, 0)
    before = {name: asked_for(client, reverse(f"market_{name}")) for name in PAGES}
    for number in range(1, 6):
        one_more_of_everything(worker, number)
    assert {name: asked_for(client, reverse(f"market_{name}")) for name in PAGES} == before
    assert max(before.values()) <= 13, before


def test_a_group_of_many_tasks_asks_as_much_as_a_small_one() -> None:
    worker, lab = make_worker(), make_requester()
    client = signed_in(worker)
    group = make_hit(lab, max_assignments=3).hit_type
    address = reverse("market_group", args=[group.type_id])
    before = asked_for(client, address)
    for _ in range(5):
        make_hit(lab, max_assignments=3)
    assert asked_for(client, address) == before
    assert "<dt>Available</dt><dd>18</dd>" in client.get(address).content.decode()


def test_the_requirements_of_many_groups_need_one_query() -> None:
    """Also where the list is read without the page: types are looked up at once for all groups."""
    worker = make_worker()
    for number in range(4):
        wanted = make_type(make_requester(), f"Sums {number}")
        rule = {"QualificationTypeId": wanted.type_id, "Comparator": "Exists", "ActionsGuarded": "Accept"}
        make_hit(title=f"Guarded {number}", requirements=[rule])
    with CaptureQueriesContext(connection) as asked:
        found = offers.groups_for(worker=worker, standing=Standing(worker))
    assert sorted(reason for group in found for reason in group.reasons) == [
        f"The qualification “Sums {number}” is required. You do not have it." for number in range(4)
    ]
    assert sum('FROM "marketplace_qualificationtype"' in each["sql"] for each in asked) == 1
