"""The check of the ledger finds what is wrong, and the database lets nobody change its entries."""

from __future__ import annotations

import io
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import F, Model
from django.urls import reverse

from marketplace import clock
from marketplace.models import (
    Assignment,
    AuditRow,
    DisputeStatement,
    Hit,
    LedgerAccount,
    LedgerEntry,
    LedgerTransaction,
)
from marketplace.services.accounts import worker_accounts
from marketplace.services.money import ledger_check, payments, payroll
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


def entry(account: LedgerAccount, amount: str, after: str, **given: Any) -> None:
    """An entry that no service would write."""
    written = LedgerTransaction.objects.create(kind="test", created_at=clock.now())
    LedgerEntry.objects.create(
        transaction=written, account=account, kind="reward", amount=Decimal(amount), balance_after=Decimal(after),
        created_at=clock.now(), **given,
    )  # fmt: skip


def account_of(done: Assignment, kind: str = "worker") -> LedgerAccount:
    if kind == "worker":
        return LedgerAccount.objects.get(worker=done.worker)
    return LedgerAccount.objects.get(requester=done.hit.requester, kind=kind)


def spoil_a_balance(done: Assignment) -> None:
    LedgerAccount.objects.filter(worker=done.worker).update(balance=F("balance") + 1)


def write_half_a_transaction(done: Assignment) -> None:
    entry(account_of(done), "1.00", "1.50")


def write_a_wrong_running_balance(done: Assignment) -> None:
    entry(account_of(done), "1.00", "9.00")


def write_an_empty_transaction(done: Assignment) -> None:
    LedgerTransaction.objects.create(kind="test", created_at=clock.now())


def hold_too_much(done: Assignment) -> None:
    Hit.objects.filter(pk=done.hit_id).update(held_open=F("held_open") + 1)


def pay_twice(done: Assignment) -> None:
    entry(account_of(done), "0.50", "1.00", about=done.assignment_id)


def approve_without_paying(done: Assignment) -> None:
    make_submitted()
    Assignment.objects.filter(state="Submitted").update(state="Approved")


def pay_without_approving(done: Assignment) -> None:
    Assignment.objects.filter(pk=done.pk).update(state="Rejected")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (spoil_a_balance, "has 1.50; its entries make 0.50"),
        (write_half_a_transaction, "add up to 1.00, not to zero"),
        (write_a_wrong_running_balance, "It was 1.50."),
        (write_an_empty_transaction, "has no entries"),
        (hold_too_much, "is held for the HITs of"),
        (pay_twice, "was paid more than once"),
        (approve_without_paying, "is approved and was not paid"),
        (pay_without_approving, "was paid and is not approved"),
    ],
)
def test_errors_in_the_books_are_found(spoil: Callable[[Assignment], None], said: str) -> None:
    done = make_paid(reward="0.50")
    payroll.make_payroll(actor="olga")
    assert ledger_check.problems() == []
    spoil(done)
    assert said in "\n".join(ledger_check.problems())


@pytest.mark.django_db(transaction=True)
def test_the_command_reports_it_and_fails() -> None:
    done = make_paid()
    out = io.StringIO()
    call_command("marketplace", "check-ledger", stdout=out)
    assert "The books are right" in out.getvalue()
    spoil_a_balance(done)
    with pytest.raises(CommandError, match="The books have 1 error"):
        call_command("marketplace", "check-ledger", stdout=out)
    assert "its entries make 0.50" in out.getvalue()


def test_the_overview_warns_when_balances_do_not_add_up() -> None:
    done = make_paid()
    client = signed_in(make_operator())
    assert "does not add up" not in client.get(reverse("operate_home")).content.decode()
    spoil_a_balance(done)
    assert "does not add up" in client.get(reverse("operate_home")).content.decode()


# --- what the database refuses ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [LedgerTransaction, LedgerEntry, AuditRow, DisputeStatement])
def test_rows_are_neither_changed_nor_deleted(model: type[Model]) -> None:
    make_dispute()
    rows = model._default_manager.all()
    assert rows.exists()
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        rows.update(id=F("id"))
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        rows._raw_delete("default")


def test_deleting_parent_rows_does_not_delete_them() -> None:
    dispute = make_dispute()
    for model in (AuditRow, DisputeStatement, LedgerEntry, LedgerTransaction):
        with pytest.raises(DatabaseError), transaction.atomic():
            model.objects.all().delete()
    with pytest.raises(DatabaseError), transaction.atomic():
        dispute.hit.requester.delete()
    with pytest.raises(DatabaseError), transaction.atomic():
        dispute.worker.delete()


@pytest.mark.parametrize("kind", ["requester", "held", "fees", "worker"])
def test_no_account_but_outside_is_ever_below_zero(kind: str) -> None:
    account = account_of(make_paid(), kind)
    with pytest.raises(IntegrityError), transaction.atomic():
        LedgerAccount.objects.filter(pk=account.pk).update(balance=Decimal("-0.01"))


def test_a_payout_of_more_than_is_owed_is_refused_by_the_ledger_itself() -> None:
    worker = make_paid(reward="0.50").worker
    with pytest.raises(payments.InsufficientFunds):
        payments.post_payout(worker=worker, amount=Decimal("0.51"), about="x")
    assert payments.owed(worker) == Decimal("0.50")


def test_every_account_is_open_before_it_is_needed() -> None:
    """Two transactions that open the same account would wait for each other, and for what the other holds."""
    lab, worker = make_requester(balance="0"), make_worker()
    assert set(LedgerAccount.objects.filter(requester=lab).values_list("kind", flat=True)) == {
        "requester", "held", "fees",
    }  # fmt: skip
    assert LedgerAccount.objects.filter(worker=worker).count() == 1
    make_hit(requester=make_requester())
    assert worker_accounts.create_worker(actor="test").ledger_accounts.count() == 1
