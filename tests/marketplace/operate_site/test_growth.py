"""No list page makes more queries when there is more to show, and long lists come in pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

import marketplace
from marketplace import clock
from marketplace.models import AuditRow, NotificationDelivery, Requester, Worker, WorkerBlock
from marketplace.services import disputes
from marketplace.services.accounts import requester_accounts, worker_accounts
from marketplace.services.hits import layouts
from marketplace.services.messages import worker_messages
from marketplace.services.money import payroll
from tests.marketplace.support.operate_site import (
    make_dispute,
    make_hit,
    make_operator,
    make_paid,
    make_requester,
    make_submitted,
    make_worker,
    signed_in,
)

pytestmark = pytest.mark.django_db

FEW, MANY = 3, 30
TEMPLATES = Path(marketplace.__file__).parent / "templates" / "marketplace" / "operate"
#: Every other page shows one thing, whose size does not grow.
LISTS = {f"marketplace/operate/{path.name}" for path in TEMPLATES.glob("*.html") if "_pages.html" in path.read_text()}


def add(lab: Requester, worker: Worker, number: int) -> None:
    """One more row on every list of the operator, of the requester, and on those of one payroll and one HIT."""
    done = make_paid(requester=lab)
    make_paid(requester=lab, worker=worker)
    make_submitted(hit=make_hit(requester=lab))
    make_dispute(requester=lab)
    disputes.decide(assignment=make_dispute(requester=lab), overturn=False, reason="Empty.", actor="olga")
    make_requester()
    requester_accounts.create_access_key(requester=lab, actor="test")
    layouts.create_layout(requester=lab, name=f"Layout {number}", html="<p>${text}</p>", frame_height=0)
    invited = worker_accounts.invite(actor="test")
    name = f"joined-{invited.invitation.pk}"
    worker_accounts.redeem_invitation(token=invited.token, username=name, password="correct horse battery", email="")
    for sender in (lab, None):
        sent = worker_messages.send(worker=worker, requester=sender, subject="Hello", text="Thank you.")
        worker_messages.reply(message=sent, text="With pleasure.")
    NotificationDelivery.objects.create(
        requester=lab, transport="SQS", destination="queue", event={"EventType": "HITExpired"}, created_at=clock.now()
    )
    WorkerBlock.objects.create(requester=lab, worker=done.worker, reason="x", created_at=clock.now())
    made = payroll.make_payroll(actor="olga")
    if number % 2:
        paid = payroll.mark_paid(payroll=made, rows=None, reference=f"T{number}", actor="olga")
        assert paid.n >= 2
    if number % 4 == 1:
        payout = made.rows.get(worker=worker).payout
        payroll.mark_returned(payout=payout, reason="Account closed.", actor="olga")


def pages(lab: Requester, worker: Worker, hit_id: str, payroll_number: int) -> dict[str, tuple[bool, str]]:
    """By name: whether the operator sees it (or else the requester), and its address."""
    plain = (
        *("home", "requesters", "workers", "invitations", "balances", "ledger", "payrolls", "owed", "disputes", "log"),
        "replies",
    )
    found = {name: (True, reverse(f"operate_{name}")) for name in plain}
    found["decided"] = (True, reverse("operate_disputes") + "?show=decided")
    found["ledger, filtered"] = (True, reverse("operate_ledger") + f"?account={lab.name}&kind=reward&since=2000-01-01")
    found["log, filtered"] = (True, reverse("operate_log") + f"?requester={lab.name}&kind=work&q=re&since=2000-01-01")
    found["payroll"] = (True, reverse("operate_payroll", args=[payroll_number]))
    found["worker"] = (True, reverse("operate_worker", args=[worker.worker_id]))
    found["requester"] = (True, reverse("operate_requester", args=[lab.pk]))
    own = ("my_hits", "my_assignments", "my_balance", "my_keys", "my_blocks", "my_log", "my_layouts")
    own_mail = ("my_replies", "my_notifications")
    found |= {name: (False, reverse(f"operate_{name}")) for name in (*own, *own_mail)}
    found["my_hit"] = (False, reverse("operate_my_hit", args=[hit_id]))
    return found


@pytest.mark.slow(on_every_database=True)
def test_queries_do_not_grow_with_rows() -> None:
    lab, worker = make_requester(name="Lab A", balance="10000.00"), make_worker()
    hit = make_hit(requester=lab, assignments=2 * MANY)
    operator, requester = signed_in(make_operator()), signed_in(lab.user)
    seen: set[str] = set()

    def counts(number: int) -> dict[str, int]:
        found = {}
        for name, (by_operator, address) in pages(lab, worker, hit.hit_id, number).items():
            with CaptureQueriesContext(connection) as asked:
                answer = (operator if by_operator else requester).get(address)
            assert answer.status_code == 200, address
            seen.update(str(template.name) for template in answer.templates)
            found[name] = len(asked)
        return found

    for number in range(1, FEW + 1):
        add(lab, worker, number)
        make_submitted(hit=hit)
    few = counts(FEW)
    for number in range(FEW + 1, MANY):
        add(lab, worker, number)
        make_submitted(hit=hit)
    for _ in range(MANY):
        make_paid(requester=lab)  # for the last payroll, which add makes
    add(lab, worker, MANY)
    assert counts(MANY) == few
    assert max(few.values()) <= 18, few
    assert seen >= LISTS


def test_long_lists_come_in_pages() -> None:
    client = signed_in(make_operator())
    now = clock.now()
    AuditRow.objects.bulk_create(
        AuditRow(at=now, actor="test", action="tested", about=f"row-{number:03}") for number in range(120)
    )
    first = client.get(reverse("operate_log"), {"q": "row-"}).content.decode()
    assert "Page 1 of 3" in first
    assert 'href="?q=row-&amp;page=2"' in first
    assert first.count("<tr>") == 51
    last = client.get(reverse("operate_log"), {"q": "row-", "page": "99"}).content.decode()
    assert "Page 3 of 3" in last
    assert "row-000" in last


def test_a_nonsense_page_number_gets_an_answer() -> None:
    client: Client = signed_in(make_operator())
    for page in ("0", "-1", "x", "9" * 40, "\x00"):
        assert client.get(reverse("operate_log"), {"page": page}).status_code == 200
        assert client.get(reverse("operate_workers"), {"q": page}).status_code == 200
