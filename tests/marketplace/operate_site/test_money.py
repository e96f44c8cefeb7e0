"""Balances, ledger and payouts: every figure adds up, a payout happens once, files are safe to open."""

from __future__ import annotations

import csv
import io
import re
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from marketplace.models import AuditRow, LedgerAccount, LedgerEntry, Requester
from marketplace.services.money import ledger_check, payments
from marketplace.sites.operate import money_queries as queries
from marketplace.sites.operate.csv_file import cell, csv_lines
from tests.marketplace.support.operate_site import (
    make_hit,
    make_operator,
    make_paid,
    make_requester,
    read_csv,
    signed_in,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator() -> Client:
    return signed_in(make_operator("olga"))


def test_balances_of_all_kinds_sum_to_zero() -> None:
    lab = make_requester(balance="10.00")
    make_paid(requester=lab, reward="0.50")  # 0.10 fee; two more places are held at 0.60
    totals = {row.kind: row.total for row in queries.totals_by_kind()}
    assert totals == {
        "requester": Decimal("8.20"),
        "held": Decimal("1.20"),
        "worker": Decimal("0.50"),
        "fees": Decimal("0.10"),
        "outside": Decimal("-10.00"),
    }
    assert sum(totals.values()) == 0
    assert ledger_check.problems() == []


def test_the_balances_page_names_every_account(operator: Client) -> None:
    done = make_paid(requester=make_requester(name="Lab A"))
    page = operator.get(reverse("operate_balances")).content.decode()
    for account in ("Lab A", "Lab A (held)", "Lab A (fees)", done.worker.worker_id, "Outside"):
        assert f">{account}</a>" in page


def test_every_entry_says_what_its_account_then_held() -> None:
    lab = make_requester(balance="10.00")
    make_paid(requester=lab)  # 3 × 0.60 are held, one of them is paid
    payments.deposit(requester=lab, amount=Decimal("5.00"), actor="test")
    shown = queries.entries(account=lab.name, kind="deposit")
    own = [row for row in shown if row.account.kind == "requester"]
    assert [row.balance_after for row in own] == [Decimal("13.20"), Decimal("10.00")]
    latest: dict[int, Decimal] = {}
    for row in queries.entries():
        latest.setdefault(row.account_id, row.balance_after)
    assert sum(latest.values()) == 0
    assert latest == dict(LedgerAccount.objects.filter(pk__in=latest).values_list("pk", "balance"))


def test_the_page_of_the_ledger_shows_them(operator: Client) -> None:
    make_requester(name="Lab A", balance="10.00")
    page = operator.get(reverse("operate_ledger"), {"account": "Lab A"}).content.decode()
    assert 'data-label="Balance">$10.00<' in page


def test_the_ledger_is_filtered_by_account_kind_and_day(operator: Client) -> None:
    lab, other = make_requester(name="Lab A", balance="10.00"), make_requester(name="Lab B", balance="7.00")
    assert {row.account.requester for row in queries.entries(account="lab a")} == {lab}
    assert {row.account.kind for row in queries.entries(account="outside")} == {"outside"}
    assert {row.kind for row in queries.entries(kind="deposit")} == {"deposit"}
    assert not queries.entries(since=date(2999, 1, 1)).exists()
    assert not queries.entries(until=date(1999, 1, 1)).exists()
    page = operator.get(reverse("operate_ledger"), {"account": "Lab B", "kind": "deposit"}).content.decode()
    assert "1 entry, of <strong>$7.00" in page
    assert lab.name not in page
    assert other.name in page
    assert operator.get(reverse("operate_ledger"), {"since": "yesterday"}).status_code == 422
    assert operator.get(reverse("operate_ledger"), {"kind": "nonsense", "page": "x"}).status_code == 422


def test_the_ledger_file_sums_to_zero(operator: Client) -> None:
    make_paid()
    rows = read_csv(operator.get(reverse("operate_ledger_csv")))
    assert list(rows[0]) == [
        "entry", "transaction", "at", "account_kind", "account", "kind", "amount", "currency", "about", "balance_after",
    ]  # fmt: skip
    assert sum(Decimal(row["amount"]) for row in rows) == 0
    assert len(rows) == LedgerEntry.objects.count()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("=1+1", "'=1+1"),
        ("＝1", "'＝1"),
        ("-2", "-2"),
        ("Ann", "Ann"),
        (7, "7"),
        (datetime(2026, 3, 1, 13, tzinfo=timezone(timedelta(hours=2))), "2026-03-01T11:00:00Z"),
        (Decimal("-0.50"), "-0.50"),
        (None, ""),
    ],
)
def test_a_cell_is_never_a_formula(value: object, written: str) -> None:
    assert cell(value) == written


def test_a_file_keeps_commas_quotes_and_line_breaks() -> None:
    text = 'a "b", c\nd'
    lines = "".join(csv_lines(["name"], [[text]]))
    assert list(csv.reader(io.StringIO(lines.removeprefix("\ufeff")))) == [["name"], [text]]


# --- deposits and money paid back -------------------------------------------------------------------------------


def form(lab: Requester, name: str, operator: Client) -> str:
    """The ``once`` of the form that is on the requester's page for this action."""
    page = operator.get(reverse("operate_requester", args=[lab.pk])).content.decode()
    within = page.split(f'action="{reverse(f"operate_{name}", args=[lab.pk])}"')[1].split("</form>")[0]
    return str(re.findall(r'name="once" value="([^"]+)"', within)[0])


def test_a_deposit_that_is_sent_twice_is_booked_once(operator: Client) -> None:
    lab = make_requester(balance="5.00")
    sent = {"amount": "7.25", "note": "invoice 9", "once": form(lab, "deposit", operator)}
    address = reverse("operate_deposit", args=[lab.pk])
    assert operator.post(address, sent).status_code == 302
    again = operator.post(address, sent)
    assert again.status_code == 422
    assert "already sent this form" in again.content.decode()
    assert payments.available(lab) == Decimal("12.25")
    operator.post(address, sent | {"once": form(lab, "deposit", operator)})
    assert payments.available(lab) == Decimal("19.50")
    assert ledger_check.problems() == []


def test_money_is_paid_back_and_not_more_than_there_is(operator: Client) -> None:
    lab = make_requester(balance="500.00")
    address = reverse("operate_withdraw", args=[lab.pk])
    sent = {"amount": "450.00", "note": "typed 500 for 50", "once": form(lab, "withdraw", operator)}
    assert operator.post(address, sent).status_code == 302
    assert payments.available(lab) == Decimal("50.00")
    row = AuditRow.objects.get(action="paid back")
    assert (row.actor, row.kind, row.detail) == ("olga", "money", {"amount": "450.00", "note": "typed 500 for 50"})
    more = operator.post(address, sent | {"amount": "50.01", "once": "another"})
    assert more.status_code == 422
    assert "does not cover" in more.content.decode()
    assert operator.post(address, sent | {"note": "", "once": "a third"}).status_code == 422
    assert payments.available(lab) == Decimal("50.00")
    assert payments.imbalance() == 0
    assert ledger_check.problems() == []


def test_held_money_is_not_paid_back(operator: Client) -> None:
    lab = make_requester(balance="1.80")
    make_hit(requester=lab)  # 3 × 0.60
    with pytest.raises(payments.InsufficientFunds):
        payments.withdraw(requester=lab, amount=Decimal("0.01"), actor="test", about="x")
