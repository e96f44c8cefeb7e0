"""Balances, ledger and payouts: every figure adds up, a payout happens once, files are safe to open."""

from __future__ import annotations

import csv
import io
import re
from datetime import date
from decimal import Decimal

import pytest
from django.http import StreamingHttpResponse
from django.test import Client
from django.urls import reverse

from marketplace.models import LedgerAccount, LedgerEntry
from marketplace.services import payments
from marketplace.sites.operate import queries
from marketplace.sites.operate.cells import cell, csv_lines
from tests.marketplace.operate_site.helpers import make_operator, make_paid, make_requester, make_worker, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator() -> Client:
    return signed_in(make_operator("olga"))


def read_csv(answer: object) -> list[dict[str, str]]:
    assert isinstance(answer, StreamingHttpResponse)
    text = b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[arg-type]
    return list(csv.DictReader(io.StringIO(text)))


def ticks(client: Client) -> list[str]:
    return re.findall(r'name="pay" value="([^"]+)"', client.get(reverse("operate_owed")).content.decode())


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
    assert not queries.unbalanced_transactions().exists()


def test_the_balances_page_names_every_account(operator: Client) -> None:
    done = make_paid(requester=make_requester(name="Lab A"))
    page = operator.get(reverse("operate_balances")).content.decode()
    for account in ("Lab A", "Lab A (held)", done.worker.worker_id, "Fees", "Outside"):
        assert f">{account}</a>" in page


def test_running_totals_end_at_the_balance_whatever_is_filtered_out() -> None:
    lab = make_requester(balance="10.00")
    make_paid(requester=lab)
    payments.deposit(requester=lab, amount=Decimal("5.00"), actor="test")
    shown = queries.with_running_totals(queries.entries(account=lab.name, kind="deposit"))
    own = [row for row in shown if row.account.kind == "requester"]
    assert [row.running for row in own] == [Decimal("13.20"), Decimal("10.00")]  # type: ignore[attr-defined]
    latest: dict[int, Decimal] = {}
    for row in queries.with_running_totals(queries.entries()):
        latest.setdefault(row.account_id, row.running)  # type: ignore[attr-defined]
    assert sum(latest.values()) == 0
    assert latest[payments.account("requester", requester=lab).pk] == payments.available(lab)


def test_the_ledger_is_filtered_by_account_kind_and_day(operator: Client) -> None:
    lab, other = make_requester(name="Lab A", balance="10.00"), make_requester(name="Lab B", balance="7.00")
    assert {row.account.requester for row in queries.entries(account="lab a")} == {lab}
    assert {row.account.kind for row in queries.entries(account="outside")} == {"outside"}
    assert {row.kind for row in queries.entries(kind="deposit")} == {"deposit"}
    assert not queries.entries(since=date(2999, 1, 1)).exists()
    assert not queries.entries(until=date(1999, 1, 1)).exists()
    page = operator.get(reverse("operate_ledger"), {"account": "Lab B", "kind": "deposit"}).content.decode()
    assert "together <strong>7.00 USD" in page
    assert lab.name not in page
    assert other.name in page
    assert operator.get(reverse("operate_ledger"), {"since": "yesterday"}).status_code == 422
    assert operator.get(reverse("operate_ledger"), {"kind": "nonsense", "page": "x"}).status_code == 422


def test_the_ledger_file_sums_to_zero(operator: Client) -> None:
    make_paid()
    rows = read_csv(operator.get(reverse("operate_ledger_csv")))
    assert list(rows[0]) == [
        "entry", "transaction", "at", "account_kind", "account", "kind", "amount", "currency", "about",
    ]  # fmt: skip
    assert sum(Decimal(row["amount"]) for row in rows) == 0
    assert len(rows) == LedgerEntry.objects.count()


def test_the_payroll_file_has_its_columns_and_one_row_for_everybody_who_is_owed(operator: Client) -> None:
    worker = make_worker(name='=HYPERLINK("http://x")', country="NL")
    make_paid(worker=worker, reward="0.50")
    make_paid(worker=worker, reward="0.25")
    make_worker()
    (row,) = read_csv(operator.get(reverse("operate_owed_csv")))
    assert list(row) == [
        "worker_id", "name", "email", "country", "amount", "currency", "earned_since", "earned_until",
    ]  # fmt: skip
    assert row["worker_id"] == worker.worker_id
    assert row["amount"] == "0.75"
    assert row["name"] == '\'=HYPERLINK("http://x")'
    assert row["country"] == "NL"


def test_only_those_who_are_ticked_are_paid_what_they_were_shown(operator: Client) -> None:
    one, two = make_paid(reward="0.50").worker, make_paid(reward="0.70").worker
    tick = next(value for value in ticks(operator) if ":0.50:" in value)
    make_paid(worker=one, reward="0.30")
    operator.post(reverse("operate_pay_out"), {"pay": [tick], "note": "May"})
    assert payments.owed(one) == Decimal("0.30")
    assert payments.owed(two) == Decimal("0.70")
    assert payments.imbalance() == 0
    assert LedgerEntry.objects.filter(kind="payout", transaction__about="May").count() == 2


def test_a_form_sent_twice_pays_once(operator: Client) -> None:
    worker = make_paid(reward="0.50").worker
    (tick,) = ticks(operator)
    make_paid(worker=worker, reward="0.60")  # enough for a second payout of the same amount
    for _ in range(2):
        answer = operator.post(reverse("operate_pay_out"), {"pay": [tick]}, follow=True)
    assert "has been paid out meanwhile" in answer.content.decode()
    assert payments.owed(worker) == Decimal("0.60")


@pytest.mark.parametrize(
    "tick", ["", "x", "1", "1:2", "1:-0.50:0", "1:0.5:0", "99999:0.50:0", "1:0.50:0:1", "١:0.50:0"]
)
def test_a_tick_that_means_nothing_pays_nothing(tick: str, operator: Client) -> None:
    make_paid()
    answer = operator.post(reverse("operate_pay_out"), {"pay": [tick]}, follow=True)
    assert "Nobody was ticked" in answer.content.decode()
    assert not LedgerEntry.objects.filter(kind="payout").exists()


def test_no_account_but_a_workers_is_paid_out(operator: Client) -> None:
    make_paid()
    fees = LedgerAccount.objects.get(kind="fees")
    operator.post(reverse("operate_pay_out"), {"pay": [f"{fees.pk}:0.10:0"]})
    assert not LedgerEntry.objects.filter(kind="payout").exists()


def test_more_than_is_owed_is_refused(operator: Client) -> None:
    worker = make_paid(reward="0.50").worker
    account = payments.account("worker", worker=worker)
    answer = operator.post(reverse("operate_pay_out"), {"pay": [f"{account.pk}:0.51:0"]}, follow=True)
    assert "less than the payout" in answer.content.decode()
    assert payments.owed(worker) == Decimal("0.50")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+49 30", "'+49 30"),
        ("-2", "'-2"),
        ("@x", "'@x"),
        ("  =1", "'  =1"),
        ("\t=1", "'\t=1"),
        ("'quoted", "''quoted"),
        ("＝1", "'＝1"),
        ("Ann", "Ann"),
        ("3 - 2", "3 - 2"),
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
