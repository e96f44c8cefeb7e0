"""What happened to the work: feedback, objections, money, messages."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from marketplace.models import Assignment, Hit, Worker
from marketplace.services import disputes
from marketplace.services.hits import assignments
from marketplace.services.messages import worker_messages
from marketplace.services.money import payments
from tests.marketplace.support.work_site import make_assignment, make_hit, make_requester, make_worker, signed_in

pytestmark = pytest.mark.django_db


def submitted(worker: Worker, **given: Any) -> Assignment:
    assignment = make_assignment(worker, **given)
    return assignments.submit(assignment_id=assignment.assignment_id, worker=worker, answers={"tone": "sad"})


def page(worker: Worker, name: str, *arguments: object, **query: str) -> str:
    response = signed_in(worker).get(reverse(name, args=arguments), query)
    assert response.status_code == 200
    return response.content.decode()


def test_the_history_shows_the_workers_own_tasks_and_can_be_filtered() -> None:
    worker = make_worker()
    approved, waiting = submitted(worker, title="First task"), submitted(worker, title="Second task")
    submitted(make_worker(), title="Somebody else's")
    assignments.approve(assignment=approved, feedback="Well done")
    everything = page(worker, "market_history")
    assert "First task" in everything and "Second task" in everything and "Somebody" not in everything
    assert "Second task" not in page(worker, "market_history", state="Approved")
    assert "2 tasks, newest first" in page(worker, "market_history", state="nonsense")
    assert "Well done" in page(worker, "market_assignment", approved.assignment_id)
    assert "Approved automatically" in page(worker, "market_assignment", waiting.assignment_id)


def said_about(assignment: Assignment) -> list[str]:
    return list(assignment.statements.order_by("pk").values_list("text", flat=True))


def test_a_rejection_can_be_disputed_until_it_is_decided() -> None:
    worker = make_worker()
    rejected = submitted(worker)
    assignments.reject(assignment=rejected, feedback="Too <short>")
    url = reverse("market_assignment", args=[rejected.assignment_id])
    client = signed_in(worker)
    shown = client.get(url).content.decode()
    assert "Too &lt;short&gt;" in shown and "Object to the rejection" in shown
    assert client.post(url, {"comment": " "}).status_code == 422
    assert client.post(url, {"comment": "\u200b" * 200}).status_code == 422
    assert client.post(url, {"comment": "It was complete."}).status_code == 302
    after = client.get(url).content.decode()
    assert "Object to the rejection" not in after and "It was complete." in after and ">Reply<" in after
    client.post(url, {"comment": "The third page, too."})
    assert said_about(rejected) == ["It was complete.", "The third page, too."]
    disputes.decide(assignment=rejected, overturn=False, reason="Half of it was empty.", actor="olga")
    assert "Say more" not in client.get(url).content.decode()
    client.post(url, {"comment": "Changed my mind."})
    assert said_about(rejected) == ["It was complete.", "The third page, too.", "Half of it was empty."]


def test_work_that_was_not_rejected_cannot_be_disputed() -> None:
    worker = make_worker()
    waiting = submitted(worker)
    url = reverse("market_assignment", args=[waiting.assignment_id])
    signed_in(worker).post(url, {"comment": "Just in case."})
    assert not said_about(waiting)


def test_earnings_add_up() -> None:
    requester, worker = make_requester(), make_worker()
    done = submitted(worker, hit=make_hit(requester, reward=Decimal("1.10")))
    submitted(worker, reward=Decimal("0.30"))
    assignments.approve(assignment=done)
    payments.send_bonus(
        requester=requester, worker=worker, assignment=done, amount=Decimal("0.25"), reason="Careful work"
    )
    payments.pay_out(worker=worker, amount=Decimal("1.00"), actor="test", about="bank transfer 7")
    shown = page(worker, "market_earnings")
    for label, amount in (
        ("To be paid", "$0.35"),
        ("Approved rewards", "$1.10"),
        ("Bonuses", "$0.25"),
        ("Waiting for approval", "$0.30"),
        ("Paid so far", "$1.00"),
    ):
        assert f"<dt>{label}</dt><dd>{amount}</dd>" in shown
    assert "Careful work" in shown and "bank transfer 7" in shown
    assert "Careful work" in page(worker, "market_assignment", done.assignment_id)
    assert "$1.10" not in page(make_worker(), "market_earnings")


def test_workers_see_only_their_own_messages_and_reading_marks_them() -> None:
    worker = make_worker()
    letter = worker_messages.send(worker=worker, subject="Hello <there>", text="Line one\nhttps://lab.example/x")
    assert '1<span class="spoken"> new</span>' in page(worker, "market_home")
    assert "Hello &lt;there&gt;" in page(worker, "market_messages")
    shown = page(worker, "market_message", letter.message_id)
    assert "The marketplace" in shown and 'href="https://lab.example/x"' in shown
    letter.refresh_from_db()
    assert letter.read_at is not None
    assert " new</span>" not in page(worker, "market_home")
    stranger = signed_in(make_worker())
    assert stranger.get(reverse("market_message", args=[letter.message_id])).status_code == 404


def test_work_that_counts_as_approved_by_now_is_shown_so() -> None:
    worker = make_worker()
    waiting = submitted(worker)
    past = timezone.now() - timedelta(minutes=1)
    Assignment.objects.update(auto_approve_at=past)
    Hit.objects.update(due_at=past)
    assert "<dt>Approved rewards</dt><dd>$0.50</dd>" in page(worker, "market_earnings")
    assert "Approved" in page(worker, "market_assignment", waiting.assignment_id)
