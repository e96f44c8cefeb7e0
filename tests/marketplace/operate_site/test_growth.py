"""No page asks the database more when there is more to show, and long lists come in pages."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from marketplace import clock
from marketplace.models import AuditRow, Requester, WorkerBlock
from marketplace.services import accounts
from tests.marketplace.operate_site.helpers import (
    make_dispute,
    make_hit,
    make_operator,
    make_paid,
    make_requester,
    make_submitted,
    signed_in,
)

pytestmark = pytest.mark.django_db

OPERATORS = (
    "home", "requesters", "workers", "invitations", "balances", "ledger", "owed", "disputes", "log",
)  # fmt: skip
REQUESTERS = ("my_hits", "my_assignments", "my_balance", "my_keys", "my_blocks")


def one_more_of_everything(lab: Requester) -> None:
    done = make_paid(requester=lab)
    make_submitted(hit=make_hit(requester=lab))
    make_dispute(requester=lab)
    make_paid()
    accounts.create_access_key(requester=lab, actor="test")
    invited = accounts.invite(actor="test")
    name = f"joined-{invited.invitation.pk}"
    accounts.redeem_invitation(token=invited.token, username=name, password="correct horse battery", email="")
    WorkerBlock.objects.create(requester=lab, worker=done.worker, reason="x", created_at=clock.now())


def count(client: Client, name: str, *args: object) -> int:
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert client.get(reverse(f"operate_{name}", args=args)).status_code == 200
    return len(asked)


def test_queries_do_not_grow_with_rows() -> None:
    lab = make_requester(balance="1000.00")
    operator, requester = signed_in(make_operator()), signed_in(lab.user)
    one_more_of_everything(lab)
    hit = make_submitted(hit=make_hit(requester=lab, assignments=9)).hit

    def counts() -> dict[str, int]:
        found = {name: count(operator, name) for name in OPERATORS}
        found["requester"] = count(operator, "requester", lab.pk)
        found |= {name: count(requester, name) for name in REQUESTERS}
        return found | {"my_hit": count(requester, "my_hit", hit.hit_id)}

    before = counts()
    for _ in range(4):
        one_more_of_everything(lab)
        make_submitted(hit=hit)
    assert counts() == before
    assert max(before.values()) <= 15


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
