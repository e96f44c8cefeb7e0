"""Payrolls: how much to pay each worker for a period, and who was paid. The money itself moves outside.

A payroll lists every earning that is in no earlier one, so each is paid once. A payroll never changes. A row can be
marked as paid once, with a reference and a transaction in the ledger. A payment that came back is owed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Q, QuerySet, Sum

from marketplace import clock
from marketplace.models import (
    LedgerAccount,
    LedgerEntry,
    Payout,
    PayoutReturn,
    Payroll,
    PayrollEntry,
    PayrollRow,
    Worker,
)
from marketplace.money import ZERO, cents, usd
from marketplace.services.audit_log import record
from marketplace.services.money import payments
from marketplace.services.refusals import Refusal

Kind = LedgerEntry.Kind
EARNED = (Kind.REWARD, Kind.BONUS, Kind.PAYOUT)
BATCH = 2000


@dataclass(slots=True)
class _Line:
    """What one worker earned in the period."""

    entries: list[int] = field(default_factory=list)
    moments: list[datetime] = field(default_factory=list)
    sums: dict[str, Decimal] = field(default_factory=lambda: dict.fromkeys(EARNED, ZERO))

    @property
    def amount(self) -> Decimal:
        return sum(self.sums.values(), ZERO)


def unlisted(until: datetime | None = None) -> QuerySet[LedgerEntry]:
    """Earnings that are in no payroll: rewards, bonuses, and payments that came back."""
    earned = Q(kind__in=[Kind.REWARD, Kind.BONUS]) | Q(kind=Kind.PAYOUT, amount__gt=0)
    entries = LedgerEntry.objects.filter(earned, account__kind=LedgerAccount.Kind.WORKER, payroll_entry=None)
    return entries.filter(created_at__lte=until) if until else entries


@transaction.atomic
def make_payroll(*, until: datetime | None = None, actor: str) -> Payroll:
    """List everything earned up to ``until`` (default: now) that is not listed yet. Raises Refusal."""
    now = clock.now()
    until = min(until or now, now)
    payments.locked([payments.account(LedgerAccount.Kind.OUTSIDE)])  # one payroll, or payment, at a time
    last = Payroll.objects.order_by("-number").first()
    if last is not None and until <= last.until:
        raise Refusal(f"Payroll {last.number} goes up to {clock.in_words(last.until)}. Choose a later day.")
    lines: dict[int, _Line] = {}
    columns = ("pk", "account__worker", "kind", "amount", "created_at")
    for pk, worker, kind, amount, earned_at in unlisted(until).order_by("created_at", "pk").values_list(*columns):
        line = lines.setdefault(worker, _Line())
        line.entries.append(pk)
        line.moments.append(earned_at)
        line.sums[kind] += amount
    if not lines:
        raise Refusal("Everything earned in that time is already in a payroll.")
    since = last.until if last else min(line.moments[0] for line in lines.values())
    payroll = Payroll.objects.create(
        number=last.number + 1 if last else 1, since=since, until=until, created_at=now, created_by=actor
    )
    _write_rows(payroll, lines)
    total = sum((line.amount for line in lines.values()), ZERO)
    record(actor=actor, action="payroll made", about=f"payroll {payroll.number}", workers=len(lines), amount=total)
    return payroll


def _write_rows(payroll: Payroll, lines: dict[int, _Line]) -> None:
    workers = Worker.objects.select_related("user").in_bulk(list(lines))
    payouts = LedgerEntry.objects.filter(account__worker__in=list(workers), kind=Kind.PAYOUT).order_by()
    paid = {pk: -cents(total) for pk, total in payouts.values_list("account__worker").annotate(total=Sum("amount"))}
    open_rows = PayrollRow.objects.filter(worker__in=list(workers), payout=None).order_by()
    still_open = {pk: cents(total) for pk, total in open_rows.values_list("worker").annotate(t=Sum("amount"))}
    rows = [
        PayrollRow(
            payroll=payroll,
            worker=workers[pk],
            name=workers[pk].name,
            email=user.email if (user := workers[pk].user) else "",
            payment_address=workers[pk].payment_address,
            country=workers[pk].country,
            earned_since=line.moments[0],
            earned_until=line.moments[-1],
            rewards=line.sums[Kind.REWARD],
            bonuses=line.sums[Kind.BONUS],
            returned=line.sums[Kind.PAYOUT],
            amount=line.amount,
            paid_before=paid.get(pk, ZERO),
            open_before=still_open.get(pk, ZERO),
        )
        for pk, line in sorted(lines.items(), key=lambda item: workers[item[0]].worker_id)
    ]
    for row in PayrollRow.objects.bulk_create(rows):
        entries = lines[row.worker_id].entries
        PayrollEntry.objects.bulk_create((PayrollEntry(row=row, entry_id=pk) for pk in entries), batch_size=BATCH)


# --- Paid ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Paid:
    """What was marked as paid. ``n_before`` rows were already marked and did not change."""

    n: int
    n_before: int
    total: Decimal


@transaction.atomic
def mark_paid(*, payroll: Payroll, rows: Sequence[int] | None, reference: str, actor: str) -> Paid:
    """Mark these rows of the payroll (None: all open rows) as paid. Raises Refusal, and then marks none of them."""
    reference = reference.strip()
    if not 1 <= len(reference) <= 100:
        raise Refusal("Enter a reference of at most 100 characters, for example the number of the transfer.")
    chosen = PayrollRow.objects.filter(payroll=payroll)
    if rows is not None:
        chosen = chosen.filter(pk__in=rows)
    owners = chosen.filter(payout=None).values("worker")
    of_workers = LedgerAccount.objects.filter(worker__in=owners)
    payments.locked([*of_workers, payments.account(LedgerAccount.Kind.OUTSIDE)])
    # Read again under the lock: somebody may have just marked some of them.
    unpaid = list(chosen.filter(payout=None).select_related("worker").order_by("worker__worker_id"))
    for row in unpaid:
        _pay(row, reference, actor)
    total = sum((row.amount for row in unpaid), ZERO)
    n_before = chosen.count() - len(unpaid) if rows is not None else 0
    if unpaid:
        payroll_name = f"payroll {payroll.number}"
        record(
            actor=actor,
            action="payroll paid",
            about=payroll_name,
            reference=reference,
            workers=len(unpaid),
            amount=total,
        )
    return Paid(len(unpaid), n_before, total)


def _pay(row: PayrollRow, reference: str, actor: str) -> None:
    owed = payments.owed(row.worker)
    if owed < row.amount:
        raise Refusal(
            f"{row.worker.worker_id} is owed {usd(owed)}, less than the {usd(row.amount)} of this row. "
            "Something was paid outside the payroll: see the ledger."
        )
    written = payments.post_payout(worker=row.worker, amount=row.amount, about=reference, key=f"payout {row.pk}")
    Payout.objects.create(
        row=row, transaction=written, reference=reference, paid_by=actor[:150], created_at=written.created_at
    )
    record(
        actor=actor,
        action="payout",
        about=row.worker.worker_id,
        worker=row.worker,
        amount=row.amount,
        reference=reference,
        payroll=row.payroll_id and row.payroll.number,
    )


@transaction.atomic
def mark_returned(*, payout: Payout, reason: str, actor: str) -> PayoutReturn:
    """Record that a payment came back: it is owed again, and the next payroll lists it. Raises Refusal."""
    reason = reason.strip()
    if not 1 <= len(reason) <= 100:
        raise Refusal("Say why it came back, in at most 100 characters, for example “account closed”.")
    worker = payout.row.worker
    payments.locked([payments.account(LedgerAccount.Kind.WORKER, worker=worker)])
    if PayoutReturn.objects.filter(payout=payout).exists():
        raise Refusal(f"This payment to {worker.worker_id} is already recorded as returned.")
    amount = payout.row.amount
    written = payments.post_payout(worker=worker, amount=-amount, about=reason, key=f"payout returned {payout.pk}")
    record(actor=actor, action="payout returned", about=worker.worker_id, worker=worker, amount=amount, reason=reason)
    return PayoutReturn.objects.create(
        payout=payout, transaction=written, reason=reason, noted_by=actor[:150], created_at=written.created_at
    )
