"""Disputes: statements never change, decisions are final, and every rejection can be disputed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from threading import Barrier

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from marketplace.models import Assignment, AuditRow, DisputeStatement, Message
from marketplace.services import disputes
from marketplace.services.hits import assignments, posting
from marketplace.services.money import ledger_check, payments
from marketplace.services.refusals import Refusal, WrongState
from tests.marketplace.support.operate_site import (
    make_dispute,
    make_hit,
    make_operator,
    make_requester,
    make_submitted,
    make_user,
    make_worker,
    signed_in,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator() -> Client:
    return signed_in(make_operator("olga"))


def page_of(case: Assignment) -> str:
    return reverse("operate_dispute", args=[case.assignment_id])


def said(case: Assignment) -> list[tuple[str, str]]:
    return list(case.statements.order_by("pk").values_list("party", "text"))


def test_an_upheld_rejection_stays_and_the_worker_reads_why(operator: Client) -> None:
    case = make_dispute(comment="I did read them.")
    page = operator.get(page_of(case)).content.decode()
    assert "I did read them." in page
    assert "Too fast." in page
    form = {"decision": "upheld", "reason": "Four seconds for ten pages."}
    operator.post(page_of(case), form)
    case.refresh_from_db()
    assert case.state == "Rejected"
    assert payments.owed(case.worker) == 0
    assert "Four seconds" in Message.objects.get(worker=case.worker).text
    row = AuditRow.objects.get(action="rejection upheld")
    assert (row.actor, row.about, row.kind) == ("olga", case.assignment_id, "work")
    assert case.assignment_id not in operator.get(reverse("operate_disputes")).content.decode()
    decided = operator.get(reverse("operate_disputes"), {"show": "decided"}).content.decode()
    assert "Upheld" in decided
    assert "Four seconds" in decided
    assert "Record the decision" not in operator.get(page_of(case)).content.decode()


def test_an_overturned_rejection_is_paid_once(operator: Client) -> None:
    case = make_dispute()
    form = {"decision": "overturned", "reason": "The log shows an hour of work."}
    assert operator.post(page_of(case), form).status_code == 302
    again = operator.post(page_of(case), form)
    assert again.status_code == 422
    assert "has been decided" in again.content.decode()
    case.refresh_from_db()
    assert case.state == "Approved"
    assert case.requester_feedback == "Too fast."
    assert payments.owed(case.worker) == Decimal("0.50")
    decided = operator.get(reverse("operate_disputes"), {"show": "decided"}).content.decode()
    assert "Overturned" in decided
    assert "an hour of work" in decided
    assert ledger_check.problems() == []


def test_both_sides_can_write_until_the_decision_and_not_after_it() -> None:
    case = make_dispute(comment="One.")
    disputes.answer(assignment=case, text="Two.", actor="sue")
    disputes.object_to(assignment_id=case.assignment_id, worker=case.worker, text="Three.")
    disputes.decide(assignment=case, overturn=False, reason="Four.", actor="olga")
    expected = [("worker", "One."), ("requester", "Two."), ("worker", "Three."), ("operator", "Four.")]
    assert said(case) == expected
    with pytest.raises(Refusal, match="decided"):
        disputes.object_to(assignment_id=case.assignment_id, worker=case.worker, text="Five.")
    with pytest.raises(Refusal, match="decided"):
        disputes.answer(assignment=case, text="Five.", actor="sue")
    with pytest.raises(Refusal, match="decided"):
        disputes.decide(assignment=case, overturn=True, reason="Five.", actor="olga")
    assert said(case) == expected
    logged = AuditRow.objects.filter(about=case.assignment_id).order_by("pk").values_list("action", flat=True)
    assert list(logged) == ["rejection disputed", "dispute answered", "dispute answered", "rejection upheld"]


def test_replies_are_limited() -> None:
    case = make_dispute()
    for number in range(1, disputes.MOST_STATEMENTS):
        disputes.object_to(assignment_id=case.assignment_id, worker=case.worker, text=f"{number}.")
    with pytest.raises(Refusal, match="Wait for the decision"):
        disputes.object_to(assignment_id=case.assignment_id, worker=case.worker, text="And another thing.")
    disputes.answer(assignment=case, text="The other side still may.", actor="sue")
    for text in ("", "  \n", "x" * (disputes.MOST_TEXT + 1)):
        with pytest.raises(Refusal, match="characters"):
            disputes.answer(assignment=case, text=text, actor="sue")


def test_the_requester_answers_on_the_page_of_the_assignment() -> None:
    lab = make_requester(user=make_user("sue"))
    case = make_dispute(requester=lab, comment="I was careful.")
    client = signed_in(lab.user)
    page = reverse("operate_my_assignment", args=[case.assignment_id])
    assert "I was careful." in client.get(page).content.decode()
    answer = reverse("operate_my_answer", args=[case.assignment_id])
    assert client.post(answer, {"text": ""}).status_code == 422
    assert client.post(answer, {"text": "All answers were A."}).status_code == 302
    assert said(case)[1] == ("requester", "All answers were A.")
    disputes.decide(assignment=case, overturn=False, reason="Indeed.", actor="olga")
    shown = client.get(page).content.decode()
    assert "the rejection stands" in shown and "Send the answer" not in shown
    assert "olga" not in shown
    late = client.post(answer, {"text": "More."})
    assert late.status_code == 422
    assert "has been decided" in late.content.decode()


def test_only_the_worker_who_did_the_work_can_object() -> None:
    done = assignments.reject(assignment=make_submitted(), feedback="Empty.")
    with pytest.raises(Refusal, match="does not exist"):
        disputes.object_to(assignment_id=done.assignment_id, worker=make_worker(), text="Mine!")
    waiting = make_submitted()
    with pytest.raises(WrongState):
        disputes.object_to(assignment_id=waiting.assignment_id, worker=waiting.worker, text="Just in case.")
    assert not DisputeStatement.objects.exists()


def test_a_dispute_ends_when_the_requester_withdraws_the_rejection(operator: Client) -> None:
    case = make_dispute()
    assignments.approve(assignment=case, override=True)
    assert "no open disputes" in operator.get(reverse("operate_disputes")).content.decode()
    page = operator.get(page_of(case)).content.decode()
    assert "nothing left to decide" in page
    form = {"decision": "upheld", "reason": "x"}
    assert operator.post(page_of(case), form).status_code == 422
    with pytest.raises(WrongState):
        disputes.object_to(assignment_id=case.assignment_id, worker=case.worker, text="More.")


def test_a_rejection_that_the_balance_does_not_cover_cannot_be_overturned(operator: Client) -> None:
    lab = make_requester(balance="1.80")  # three places at 0.50 and a fee of 0.10 each
    case = make_dispute(requester=lab)
    make_hit(requester=lab, assignments=1)  # spends what the rejection gave back
    form = {"decision": "overturned", "reason": "It was fine."}
    answer = operator.post(page_of(case), form)
    assert answer.status_code == 422
    assert "does not cover" in answer.content.decode()
    case.refresh_from_db()
    assert case.state == "Rejected"
    assert len(said(case)) == 1


def test_a_rejection_can_be_overturned_after_the_hit_is_deleted() -> None:
    """A requester could otherwise reject, delete the HIT, and owe nothing whatever the operator says."""
    case = make_dispute(requester=make_requester())
    posting.set_expiration(hit=case.hit, expires_at=case.hit.created_at)
    posting.delete_hit(hit=case.hit)
    submitted = case.submitted_at
    assert submitted is not None
    Assignment.objects.filter(pk=case.pk).update(submitted_at=submitted - timedelta(days=31))
    with pytest.raises(Refusal):
        assignments.approve(assignment=case, override=True)
    disputes.decide(assignment=case, overturn=True, reason="It was good work.", actor="olga")
    assert payments.owed(case.worker) == Decimal("0.50")
    assert ledger_check.problems() == []


def test_a_decision_needs_a_reason(operator: Client) -> None:
    case = make_dispute()
    for form in ({"decision": "upheld"}, {"reason": "x"}, {"decision": "maybe", "reason": "x"}):
        assert operator.post(page_of(case), form).status_code == 422


def test_a_rejection_without_an_objection_is_not_a_dispute(operator: Client) -> None:
    done = assignments.reject(assignment=make_submitted(), feedback="Empty.")
    assert operator.get(page_of(done)).status_code == 404
    assert "no open disputes" in operator.get(reverse("operate_disputes")).content.decode()


@pytest.mark.django_db(transaction=True)
def test_two_operators_at_once_decide_once() -> None:
    case = make_dispute()
    barrier = Barrier(6)

    def decide(overturn: bool) -> str:
        try:
            barrier.wait(timeout=30)
            disputes.decide(assignment=case, overturn=overturn, reason="x", actor="olga")
        except Refusal as refused:
            return refused.message
        finally:
            connection.close()
        return "done"

    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(decide, [True, False] * 3))
    assert sorted(outcomes)[-1] == "done"
    assert outcomes.count("done") == 1
    assert DisputeStatement.objects.filter(party="operator").count() == 1
    assert ledger_check.problems() == []
