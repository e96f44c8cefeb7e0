"""Paying workers, as a payroll clerk would check it: every earning once, nothing twice, the same file again and again.

The expected amounts are added up by hand from the rewards, bonuses and payments that each test makes.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import F
from django.test import Client
from django.urls import reverse

from marketplace import clock
from marketplace.models import (
    Assignment,
    AuditRow,
    LedgerEntry,
    Payout,
    PayoutReturn,
    Payroll,
    PayrollEntry,
    PayrollRow,
    Worker,
)
from marketplace.money import ZERO
from marketplace.services.money import ledger_check, payments, payroll
from marketplace.services.refusals import Refusal
from marketplace.sites.operate.money_queries import debt
from tests.marketplace.support.operate_site import (
    make_operator,
    make_paid,
    make_requester,
    make_worker,
    read_csv,
    signed_in,
    sure,
)

pytestmark = pytest.mark.django_db

COLUMNS = [
    "payroll", "period_from", "period_until", "worker_id", "name", "email", "payment_address", "country",
    "rewards", "bonuses", "returned", "amount", "currency", "earned_since", "earned_until",
    "paid_before", "open_before",
]  # fmt: skip


@pytest.fixture
def operator() -> Client:
    return signed_in(make_operator("olga"))


def make_bonus(done: Assignment, amount: str) -> None:
    payments.send_bonus(
        requester=done.hit.requester, worker=done.worker, assignment=done, amount=Decimal(amount), reason="Thank you"
    )


def make_payroll() -> Payroll:
    return payroll.make_payroll(actor="olga")


def pay_all(made: Payroll, reference: str = "T-1") -> payroll.Paid:
    return payroll.mark_paid(payroll=made, rows=None, reference=reference, actor="olga")


def row_of(made: Payroll, worker: Worker) -> PayrollRow:
    return PayrollRow.objects.get(payroll=made, worker=worker)


def file_of(client: Client, number: int) -> bytes:
    answer = client.get(reverse("operate_payroll_csv", args=[number]))
    assert answer.status_code == 200
    return b"".join(answer.streaming_content)  # type: ignore[attr-defined]


# --- what a payroll lists ---------------------------------------------------------------------------------------


def test_the_file_has_everything_needed_to_pay(operator: Client) -> None:
    worker = make_worker(name="Ann Example", country="NL")
    Worker.objects.filter(pk=worker.pk).update(payment_address="NL00 TEST 0123 4567 89")
    assert worker.user
    worker.user.email = "ann@example.org"
    worker.user.save()
    done = make_paid(worker=worker, reward="0.50")
    make_paid(worker=worker, reward="0.25")
    make_bonus(done, "1.10")
    make_worker(name="Never earned")
    form = {"until": clock.now().date().isoformat()}
    assert operator.post(reverse("operate_make_payroll"), form)["Location"] == reverse("operate_payroll", args=[1])
    answer = operator.get(reverse("operate_payroll_csv", args=[1]))
    assert answer["Content-Disposition"] == 'attachment; filename="payroll-1.csv"'
    (row,) = read_csv(answer)
    assert list(row) == COLUMNS
    expected = {
        "payroll": "1", "worker_id": worker.worker_id, "name": "Ann Example", "email": "ann@example.org",
        "payment_address": "NL00 TEST 0123 4567 89", "country": "NL", "rewards": "0.75", "bonuses": "1.10",
        "returned": "0.00", "amount": "1.85", "currency": "USD", "paid_before": "0.00", "open_before": "0.00",
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    for moment in ("period_from", "period_until", "earned_since", "earned_until"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", row[moment])
    assert ledger_check.problems() == []


def test_an_earlier_payroll_is_the_same_bytes_whatever_has_happened_since(operator: Client) -> None:
    worker = make_worker(name="Ann Example")
    done = make_paid(worker=worker, reward="0.50")
    made = make_payroll()
    before = file_of(operator, made.number)
    Worker.objects.filter(pk=worker.pk).update(name="Ann Married", payment_address="elsewhere", country="BE")
    pay_all(made)
    payroll.mark_returned(payout=Payout.objects.get(), reason="Account closed", actor="olga")
    make_bonus(done, "3.00")
    make_paid(worker=worker)
    make_payroll()
    assert file_of(operator, made.number) == before
    assert b"Ann Example" in before


@pytest.mark.parametrize("typed", ['=HYPERLINK("http://x")', "+49 30", "-2+3", "@x", "\t=1", "＝1"])
def test_no_cell_that_a_worker_typed_is_a_formula(typed: str, operator: Client) -> None:
    worker = make_paid().worker
    Worker.objects.filter(pk=worker.pk).update(name=typed, payment_address=typed)
    (row,) = read_csv(operator.get(reverse("operate_payroll_csv", args=[make_payroll().number])))
    assert row["name"] == row["payment_address"] == f"'{typed}"


def test_each_earning_is_in_one_payroll() -> None:
    worker = make_worker()
    make_paid(worker=worker, reward="0.50")
    first = make_payroll()
    with pytest.raises(Refusal, match="already in a payroll"):
        make_payroll()
    make_paid(worker=worker, reward="0.70")
    second = make_payroll()
    assert (row_of(first, worker).amount, row_of(second, worker).amount) == (Decimal("0.50"), Decimal("0.70"))
    assert second.since == first.until
    assert row_of(second, worker).open_before == Decimal("0.50")
    entry = PayrollEntry.objects.filter(row__payroll=first).get().entry
    with pytest.raises(IntegrityError), transaction.atomic():
        PayrollEntry.objects.create(row=row_of(second, worker), entry=entry)


def test_work_that_was_due_before_the_period_ended_and_booked_after_it_is_in_the_next() -> None:
    """Automatic approvals carry the time at which they were due, which may be earlier than their entry."""
    worker = make_worker()
    make_paid(worker=worker, reward="0.50")
    first = make_payroll()
    late = payments.Leg(payments.account("worker", worker=worker), "reward", Decimal("0.30"))
    lab = make_requester()
    source = payments.Leg(payments.account("requester", requester=lab), "reward", Decimal("-0.30"))
    payments.post(kind="reward", legs=[source, late], now=first.until - timedelta(seconds=1), about="late")
    second = make_payroll()
    assert row_of(second, worker).amount == Decimal("0.30")


def test_a_payroll_ends_on_the_day_that_was_chosen(operator: Client) -> None:
    worker = make_paid(reward="0.50").worker
    account = payments.account("worker", worker=worker)
    old = clock.now() - timedelta(days=40)
    lab = make_requester()
    legs = [
        payments.Leg(payments.account("requester", requester=lab), "reward", Decimal("-0.20")),
        payments.Leg(account, "reward", Decimal("0.20")),
    ]
    payments.post(kind="reward", legs=legs, now=old, about="old")
    day = (clock.now() - timedelta(days=10)).date()
    operator.post(reverse("operate_make_payroll"), {"until": day.isoformat()})
    made = Payroll.objects.get()
    assert row_of(made, worker).amount == Decimal("0.20")
    assert (made.since, made.until.date()) == (old, day)
    assert f"{made.until:%H:%M:%S}" == "23:59:59"
    again = operator.post(reverse("operate_make_payroll"), {"until": (day - timedelta(days=1)).isoformat()})
    assert again.status_code == 422
    assert "Choose a later day" in again.content.decode()
    operator.post(reverse("operate_make_payroll"), {"until": clock.now().date().isoformat()})
    assert row_of(Payroll.objects.get(number=2), worker).amount == Decimal("0.50")


@pytest.mark.parametrize("until", ["", "yesterday", "2026-13-01", "0000-00-00"])
def test_an_invalid_day_makes_no_payroll(until: str, operator: Client) -> None:
    make_paid()
    assert operator.post(reverse("operate_make_payroll"), {"until": until}).status_code == 422
    assert not Payroll.objects.exists()


def test_a_future_day_counts_as_now(operator: Client) -> None:
    make_paid()
    operator.post(reverse("operate_make_payroll"), {"until": date(2999, 12, 31).isoformat()})
    assert Payroll.objects.get().until <= clock.now()


def test_the_debt_is_what_is_in_payrolls_and_what_is_in_none() -> None:
    one, two = make_worker(), make_worker()
    make_paid(worker=one, reward="0.50")
    make_paid(worker=two, reward="0.70")
    made = make_payroll()
    payroll.mark_paid(payroll=made, rows=[row_of(made, one).pk], reference="T-1", actor="olga")
    make_paid(worker=one, reward="0.30")
    now = debt()
    assert (now.total, now.unlisted, now.open) == (Decimal("1.00"), Decimal("0.30"), Decimal("0.70"))
    assert (now.n_workers, now.n_open) == (2, 1)


# --- marked as paid ---------------------------------------------------------------------------------------------


def test_the_ticked_are_marked_as_paid_with_a_reference_after_being_asked(operator: Client) -> None:
    one, two = make_paid(reward="0.50").worker, make_paid(reward="0.70").worker
    made = make_payroll()
    make_paid(worker=one, reward="0.30")  # earned meanwhile: it stays owed
    form = {"row": [str(row_of(made, one).pk)], "reference": "T-2026-05"}
    assert sure(operator, reverse("operate_pay", args=[made.number]), form).status_code == 302
    assert (payments.owed(one), payments.owed(two)) == (Decimal("0.30"), Decimal("0.70"))
    payout = Payout.objects.get()
    assert (payout.row, payout.reference, payout.paid_by) == (row_of(made, one), "T-2026-05", "olga")
    assert [entry.amount for entry in payout.transaction.entries.order_by("amount")] == [
        Decimal("-0.50"), Decimal("0.50"),
    ]  # fmt: skip
    row = AuditRow.objects.get(action="payout")
    assert (row.worker, row.kind, row.detail["reference"]) == (one, "money", "T-2026-05")
    page = operator.get(reverse("operate_payroll", args=[made.number])).content.decode()
    assert "T-2026-05" in page
    assert f'name="row" value="{row_of(made, one).pk}"' not in page
    assert f'name="row" value="{row_of(made, two).pk}"' in page
    assert ledger_check.problems() == []


def test_all_open_rows_are_marked_at_once(operator: Client) -> None:
    workers = [make_paid(reward="0.50").worker for _ in range(25)]
    made = make_payroll()
    payroll.mark_paid(payroll=made, rows=[row_of(made, workers[0]).pk], reference="T-1", actor="olga")
    asked = operator.post(reverse("operate_pay", args=[made.number]), {"all": "1", "reference": "T-2"}).content.decode()
    assert "Mark $12.00 as paid to 24 workers?" in asked
    assert "and 4 more" in asked
    sure(operator, reverse("operate_pay", args=[made.number]), {"all": "1", "reference": "T-2"})
    assert Payout.objects.filter(reference="T-2").count() == 24
    assert not any(payments.owed(worker) for worker in workers)
    assert ledger_check.problems() == []


def test_a_form_that_is_sent_twice_pays_once(operator: Client) -> None:
    worker = make_paid(reward="0.50").worker
    made = make_payroll()
    make_paid(worker=worker, reward="0.60")  # enough for a second payment of the same amount
    form = {"row": [str(row_of(made, worker).pk)], "reference": "T-1", "confirmed": "yes"}
    for _ in range(2):
        answer = operator.post(reverse("operate_pay", args=[made.number]), form, follow=True)
    assert "had already been marked as paid" in answer.content.decode()
    assert payments.owed(worker) == Decimal("0.60")
    assert LedgerEntry.objects.filter(kind="payout", account__kind="worker").count() == 1


@pytest.mark.parametrize(
    "form", [{"reference": "T"}, {"row": ["x"], "reference": "T"}, {"row": ["1"], "reference": ""}]
)
def test_nobody_ticked_or_no_reference_pays_nobody(form: dict[str, str | list[str]], operator: Client) -> None:
    make_paid()
    made = make_payroll()
    for confirmed in ({}, {"confirmed": "yes"}):
        assert operator.post(reverse("operate_pay", args=[made.number]), form | confirmed).status_code == 422
    assert not Payout.objects.exists()


def test_a_row_of_another_payroll_is_not_paid_with_this_one(operator: Client) -> None:
    worker = make_paid().worker
    first = make_payroll()
    make_paid()
    second = make_payroll()
    form = {"row": [str(row_of(first, worker).pk)], "reference": "T-1", "confirmed": "yes"}
    operator.post(reverse("operate_pay", args=[second.number]), form)
    assert not Payout.objects.exists()


def test_a_row_is_refused_when_less_is_owed_and_nothing_is_paid() -> None:
    one, two = make_paid(reward="0.50").worker, make_paid(reward="0.70").worker
    made = make_payroll()
    payments.pay_out(worker=two, amount=Decimal("0.10"), actor="test", about="in cash")
    with pytest.raises(Refusal, match=r"owed \$0\.60, less than the \$0\.70"):
        pay_all(made)
    assert (payments.owed(one), Payout.objects.count()) == (Decimal("0.50"), 0)


def test_a_payment_that_came_back_is_owed_again_and_in_the_next_payroll(operator: Client) -> None:
    worker = make_paid(reward="0.50").worker
    made = make_payroll()
    pay_all(made)
    payout = Payout.objects.get()
    address = reverse("operate_payment_returned", args=[made.number, payout.pk])
    asked = operator.post(address)
    assert "Record that the payment to" in asked.content.decode()
    assert operator.post(address, {"confirmed": "yes", "reason": ""}).status_code == 422
    assert payments.owed(worker) == 0
    answer = operator.post(address, {"confirmed": "yes", "reason": "Account closed"})
    assert answer.status_code == 302
    assert payments.owed(worker) == Decimal("0.50")
    again = operator.post(address, {"confirmed": "yes", "reason": "Account closed"}, follow=True)
    assert "already recorded as returned" in again.content.decode()
    assert payments.owed(worker) == Decimal("0.50")
    make_paid(worker=worker, reward="0.30")
    row = row_of(make_payroll(), worker)
    assert (row.rewards, row.returned, row.amount) == (Decimal("0.30"), Decimal("0.50"), Decimal("0.80"))
    assert (row.paid_before, row.open_before) == (ZERO, ZERO)
    earned = payments.earnings(worker)
    assert (earned.rewards, earned.paid_out, earned.owed) == (Decimal("0.80"), ZERO, Decimal("0.80"))
    assert ledger_check.problems() == []


def test_the_file_of_payments_has_the_state_of_each(operator: Client) -> None:
    workers = sorted((make_paid(reward="0.50").worker for _ in range(3)), key=lambda worker: worker.worker_id)
    made = make_payroll()
    for worker, reference in zip(workers[:2], ("T-1", "=T-2"), strict=True):
        payroll.mark_paid(payroll=made, rows=[row_of(made, worker).pk], reference=reference, actor="olga")
    payroll.mark_returned(payout=row_of(made, workers[1]).payout, reason="Closed", actor="olga")
    rows = read_csv(operator.get(reverse("operate_payments_csv", args=[made.number])))
    told = [(row["worker_id"], row["state"], row["reference"]) for row in rows]
    assert told == [
        (workers[0].worker_id, "paid", "T-1"), (workers[1].worker_id, "returned", "'=T-2"),
        (workers[2].worker_id, "open", ""),
    ]  # fmt: skip


def test_the_worker_sees_the_reference() -> None:
    worker = make_paid(reward="0.50").worker
    pay_all(make_payroll(), "Transfer 77")
    assert worker.user
    page = signed_in(worker.user).get(reverse("market_earnings")).content.decode()
    assert "Transfer 77" in page


# --- what no code can change ------------------------------------------------------------------------------------


def test_payrolls_and_payments_are_never_changed() -> None:
    make_paid()
    pay_all(make_payroll())
    payroll.mark_returned(payout=Payout.objects.get(), reason="Closed", actor="olga")
    for model in (Payroll, PayrollRow, PayrollEntry, Payout, PayoutReturn):
        assert model.objects.exists()
        with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
            model.objects.update(id=F("id"))
        with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
            model.objects.all()._raw_delete("default")
