"""Whether the books are correct: checks every rule of the ledger, entry by entry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

from django.db import connection, transaction
from django.db.models import Count

from marketplace.models import (
    Assignment,
    LedgerAccount,
    LedgerEntry,
    LedgerTransaction,
    Payout,
    PayrollRow,
    Requester,
)
from marketplace.money import ZERO, usd
from marketplace.services.money import payments

CHUNK = 5000


def problems() -> list[str]:
    """What is wrong, one sentence each; empty if nothing is. Reads every entry, all as of one moment."""
    with _snapshot():
        return [*_entries_and_balances(), *_running_balances(), *_holdings(), *_rewards(), *_payrolls()]


@contextmanager
def _snapshot() -> Iterator[None]:
    """Reads inside it do not see later writes, and nobody has to wait for them."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield
    else:
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")  # not Django's transaction, which would block writers
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")


def _entries_and_balances() -> Iterator[str]:
    """Checks all sums of entries. They are computed here, because SQLite would use floating point."""
    sums: dict[int, Decimal] = defaultdict(lambda: ZERO)
    transaction_id, off = 0, ZERO
    rows = LedgerEntry.objects.order_by("transaction_id", "pk")
    for of, account, amount in rows.values_list("transaction_id", "account_id", "amount").iterator(chunk_size=CHUNK):
        if of != transaction_id:
            if off:
                yield f"The entries of transaction {transaction_id} add up to {off}, not to zero."
            transaction_id, off = of, ZERO
        off += amount
        sums[account] += amount
    if off:
        yield f"The entries of transaction {transaction_id} add up to {off}, not to zero."
    for stored in LedgerAccount.objects.order_by("pk"):
        if stored.balance != sums[stored.pk]:
            yield f"Account {stored.pk} ({stored.kind}) has {stored.balance}; its entries make {sums[stored.pk]}."
    for empty in LedgerTransaction.objects.filter(entries=None).order_by("pk").values_list("pk", flat=True)[:20]:
        yield f"Transaction {empty} has no entries."


def _running_balances() -> Iterator[str]:
    account, held = 0, ZERO
    rows = LedgerEntry.objects.order_by("account_id", "pk").values_list("pk", "account_id", "amount", "balance_after")
    for pk, of, amount, after in rows.iterator(chunk_size=CHUNK):
        if of != account:
            account, held = of, ZERO
        held += amount
        if after != held:
            yield f"Entry {pk} has {after} as the balance of account {account}. It was {held}."
            held = after


def _holdings() -> Iterator[str]:
    for requester in Requester.objects.order_by("pk"):
        held, rightly = payments.held(requester), payments.held_by_rights(requester)
        if held != rightly:
            yield f"{usd(held)} is held for the HITs of {requester.name}. It should be {usd(rightly)}."


def _rewards() -> Iterator[str]:
    """Checks that every approved assignment was paid exactly once, and no other was paid."""
    paid = LedgerEntry.objects.filter(kind=LedgerEntry.Kind.REWARD, account__kind=LedgerAccount.Kind.WORKER)
    approved = Assignment.objects.filter(state=Assignment.State.APPROVED)
    twice = paid.order_by().values("about").annotate(n=Count("pk")).filter(n__gt=1)
    for assignment_id in twice.values_list("about", flat=True)[:20]:
        yield f"Assignment {assignment_id} was paid more than once."
    unpaid = approved.filter(reward__gt=0).exclude(assignment_id__in=paid.values("about"))
    for assignment_id in unpaid.values_list("assignment_id", flat=True)[:20]:
        yield f"Assignment {assignment_id} is approved and was not paid."
    wrongly = paid.exclude(about__in=approved.values("assignment_id"))
    for assignment_id in wrongly.values_list("about", flat=True)[:20]:
        yield f"Assignment {assignment_id} was paid and is not approved."


def _payrolls() -> Iterator[str]:
    sums: dict[int, Decimal] = defaultdict(lambda: ZERO)
    entries = PayrollRow.objects.values_list("pk", "entries__entry__amount").order_by()
    for pk, amount in entries.iterator(chunk_size=CHUNK):
        sums[pk] += amount or ZERO
    for row in PayrollRow.objects.select_related("payroll").iterator(chunk_size=CHUNK):
        parts = row.rewards + row.bonuses + row.returned
        if not sums[row.pk] == parts == row.amount:
            yield f"Row {row.pk} of payroll {row.payroll.number} lists {row.amount}; its entries make {sums[row.pk]}."
    paid = Payout.objects.filter(transaction__entries__account__kind=LedgerAccount.Kind.WORKER)
    columns = ("row", "row__amount", "transaction__entries__amount")
    for pk, listed, moved in paid.values_list(*columns).iterator(chunk_size=CHUNK):
        if listed != -moved:
            yield f"Payroll row {pk} lists {listed}. In the ledger, {-moved} was paid."
