"""A requester's own pages: counters as the API gives them, decisions on work, keys, balance, blocks."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from marketplace import clock
from marketplace.models import AccessKey, Assignment, AuditRow, Hit, Requester, WorkerBlock
from marketplace.services.hits import assignments
from marketplace.services.money import payments
from marketplace.services.secrets import unseal
from tests.marketplace.support.operate_site import (
    make_dispute,
    make_hit,
    make_paid,
    make_requester,
    make_submitted,
    make_worker,
    signed_in,
    sure,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def lab() -> Requester:
    return make_requester(name="Speech lab", balance="50.00")


@pytest.fixture
def client(lab: Requester) -> Client:
    return signed_in(lab.user)


def body(client: Client, name: str, *args: object, **query: str) -> str:
    answer = client.get(reverse(f"operate_{name}", args=args), query)
    assert answer.status_code == 200
    return answer.content.decode()


def page_of(case: Assignment) -> str:
    return reverse("operate_my_assignment", args=[case.assignment_id])


def test_hits_show_their_counters(lab: Requester, client: Client) -> None:
    hit = make_hit(requester=lab, assignments=5)
    assignments.accept(worker=make_worker(), hit=hit)
    make_submitted(hit=hit)
    assignments.approve(assignment=make_submitted(hit=hit))
    tiles = dict(re.findall(r"<dt>([^<]+)</dt><dd>(\d+)</dd>", body(client, "my_hit", hit.hit_id)))
    assert tiles == {"Wanted": "5", "Available": "2", "In progress": "1", "Submitted": "1", "Completed": "1"}


def test_hits_are_found_by_state_and_words(lab: Requester, client: Client) -> None:
    open_hit, full = make_hit(requester=lab, title="Open one"), make_hit(requester=lab, assignments=1, title="Full one")
    make_submitted(hit=full)
    assert Hit.objects.get(pk=full.pk).state == "Reviewable"
    only = body(client, "my_hits", state="Reviewable")
    assert full.hit_id in only
    assert open_hit.hit_id not in only
    assert open_hit.hit_id not in body(client, "my_hits", q="full")
    assert open_hit.hit_id in body(client, "my_hits", state="nonsense")


def test_everything_due_has_happened_when_the_page_is_read(lab: Requester, client: Client) -> None:
    hit = make_hit(requester=lab)
    Hit.objects.filter(pk=hit.pk).update(
        expires_at=clock.now() - timedelta(minutes=1), due_at=clock.now() - timedelta(minutes=1)
    )
    assert ">Reviewable</span>" in body(client, "my_hit", hit.hit_id)
    assert payments.held(lab) == 0


def test_an_answer_is_shown_as_it_was_typed(lab: Requester, client: Client) -> None:
    done = make_submitted(hit=make_hit(requester=lab), answer="<script>alert(1)</script>")
    page = body(client, "my_assignment", done.assignment_id)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page


def test_work_is_approved_and_paid_once(lab: Requester, client: Client) -> None:
    done = make_submitted(hit=make_hit(requester=lab))
    assert client.post(page_of(done), {"do": "approve", "feedback": "Thanks."}).status_code == 302
    assert client.post(page_of(done), {"do": "approve"}).status_code == 422
    done.refresh_from_db()
    assert (done.state, done.requester_feedback) == ("Approved", "Thanks.")
    assert payments.owed(done.worker) == Decimal("0.50")
    row = AuditRow.objects.get(action="work approved")
    assert (row.about, row.detail) == (done.assignment_id, {"feedback": "Thanks."})


def test_a_rejection_needs_a_reason_and_can_be_withdrawn(lab: Requester, client: Client) -> None:
    done = make_submitted(hit=make_hit(requester=lab))
    silent = client.post(page_of(done), {"do": "reject", "feedback": "  "})
    assert silent.status_code == 422
    assert "Tell the worker why" in silent.content.decode()
    client.post(page_of(done), {"do": "reject", "feedback": "All the same answer."})
    done.refresh_from_db()
    assert (done.state, done.requester_feedback) == ("Rejected", "All the same answer.")
    client.post(page_of(done), {"do": "override"})
    done.refresh_from_db()
    assert done.state == "Approved"
    assert payments.owed(done.worker) == Decimal("0.50")


@pytest.mark.parametrize("do", ["", "delete", "override"])
def test_anything_else_decides_nothing(do: str, lab: Requester, client: Client) -> None:
    done = make_submitted(hit=make_hit(requester=lab))
    if do != "override":
        assert client.post(page_of(done), {"do": do}).status_code == 422
    done.refresh_from_db()
    assert done.state == "Submitted"


def test_an_objection_is_shown_to_the_requester(lab: Requester, client: Client) -> None:
    case = make_dispute(requester=lab, comment="I was careful.")
    assert "I was careful." in body(client, "my_assignment", case.assignment_id)
    assert "Objection" in body(client, "my_assignments", state="Rejected")


def test_the_balance_page_has_both_accounts(lab: Requester, client: Client) -> None:
    make_paid(requester=lab, reward="0.50")
    page = body(client, "my_balance")
    assert re.findall(r"<dd>\$([\d.]+)</dd>", page) == ["48.20", "1.20"]
    assert re.findall(r'"Balance">\$([\d.]+)<', page) == ["48.20", "50.00"]
    held = body(client, "my_balance", of="held")
    assert re.findall(r'"Balance">\$([\d.]+)<', held) == ["1.20", "1.30", "1.80"]  # reward 0.50, fee 0.10
    assert "Speech lab (held)" in held
    assert "Speech lab (held)" not in page


def test_a_requesters_key_is_theirs_shown_once_and_revoked(lab: Requester, client: Client) -> None:
    answer = client.post(reverse("operate_my_new_key")).content.decode()
    key = AccessKey.objects.get(requester=lab)
    assert unseal(key.secret_sealed) in answer
    assert unseal(key.secret_sealed) not in body(client, "my_keys")
    sure(client, reverse("operate_my_revoke_key", args=[key.access_key_id]))
    key.refresh_from_db()
    assert key.revoked_at is not None
    assert lab.user
    assert AuditRow.objects.get(action="key revoked").actor == lab.user.username


def test_blocked_workers_are_listed_with_the_reason(lab: Requester, client: Client) -> None:
    mine, theirs = make_worker(), make_worker()
    WorkerBlock.objects.create(requester=lab, worker=mine, reason="Copies answers.", created_at=clock.now())
    WorkerBlock.objects.create(requester=make_requester(), worker=theirs, reason="Other.", created_at=clock.now())
    page = body(client, "my_blocks")
    assert mine.worker_id in page
    assert "Copies answers." in page
    assert theirs.worker_id not in page


@pytest.mark.parametrize("name", ["my_hits", "my_assignments", "my_balance", "my_keys", "my_blocks"])
def test_an_empty_page_is_a_page(name: str) -> None:
    assert body(signed_in(make_requester(balance="0").user), name)


def test_nothing_is_changed_by_reading(lab: Requester, client: Client) -> None:
    answer: Any = client.get(reverse("operate_my_new_key"))
    assert answer.status_code == 405
    assert not AccessKey.objects.exists()
