"""What the pages read about money: balances, the ledger, payrolls.

Sums are rounded to cents again, because SQLite adds decimals as binary fractions. Nothing here adds up the whole
ledger: balances are stored, and every entry has the balance of its account after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum

from marketplace.models import LedgerAccount, LedgerEntry, Payroll, PayrollRow, Requester, Worker
from marketplace.money import ZERO, cents
from marketplace.sites.operate.queries import midnight

Kind = LedgerAccount.Kind


# --- balances ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KindTotal:
    kind: str
    label: str
    total: Decimal
    n_accounts: int


_LABELS = {
    Kind.REQUESTER: "Requesters: free to spend",
    Kind.HELD: "Held for HITs on offer and in work",
    Kind.WORKER: "Owed to workers",
    Kind.FEES: "Fees",
    Kind.OUTSIDE: "Outside: paid in (−) and paid out (+)",
}


def totals_by_kind() -> list[KindTotal]:
    """The total balance of each kind of account. These totals add up to zero."""
    rows = LedgerAccount.objects.order_by().values_list("kind").annotate(total=Sum("balance"), n=Count("pk"))
    sums = {kind: (cents(total), n) for kind, total, n in rows}
    return [KindTotal(kind.value, label, *sums.get(kind.value, (ZERO, 0))) for kind, label in _LABELS.items()]


def sum_of(totals: list[KindTotal]) -> Decimal:
    return sum((row.total for row in totals), ZERO)


def balances() -> QuerySet[LedgerAccount, LedgerAccount]:
    """Every account that has entries, with the time of its ``last`` entry."""
    entries = LedgerEntry.objects.filter(account=OuterRef("pk")).order_by("-pk")
    return (
        LedgerAccount.objects.select_related("requester", "worker")
        .annotate(last=Subquery(entries.values("created_at")[:1]))
        .filter(last__isnull=False)
        .order_by("kind", "requester__name", "worker__worker_id", "pk")
    )


# --- the ledger -------------------------------------------------------------------------------------------------


def entries(
    *, account: str = "", kind: str = "", since: date | None = None, until: date | None = None
) -> QuerySet[LedgerEntry, LedgerEntry]:
    """Entries, newest first. ``account`` is part of a requester's name or a worker's ID, or a kind of account."""
    selected = LedgerEntry.objects.select_related("account__requester", "account__worker", "transaction")
    if account:
        # A separate query: accounts are few compared with entries, and the database can then find entries by account.
        owners = Q(requester__in=Requester.objects.filter(name__icontains=account).values("pk"))
        owners |= Q(worker__in=Worker.objects.filter(worker_id__icontains=account).values("pk"))
        chosen = LedgerAccount.objects.filter(owners | Q(kind=account.lower()))
        selected = selected.filter(account__in=list(chosen.values_list("pk", flat=True)))
    if kind:
        selected = selected.filter(kind=kind)
    if since:
        selected = selected.filter(created_at__gte=midnight(since))
    if until:
        selected = selected.filter(created_at__lt=midnight(until + timedelta(days=1)))
    return selected.order_by("-pk")


def entries_of(requester: Requester, kind: str = Kind.REQUESTER) -> QuerySet[LedgerEntry, LedgerEntry]:
    """The entries of one of a requester's accounts, newest first. For one account, the index has them in order."""
    account = LedgerAccount.objects.filter(requester=requester, kind=kind).values_list("pk", flat=True).first()
    entries = LedgerEntry.objects.filter(account=account)
    return entries.select_related("account__requester", "account__worker", "transaction").order_by("-pk")


def total_of(entries: QuerySet[LedgerEntry, LedgerEntry]) -> Decimal:
    return cents(entries.order_by().aggregate(total=Sum("amount"))["total"] or 0)


# --- payrolls ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Debt:
    """What workers are owed: ``unlisted`` is in no payroll, ``open`` is in a payroll and not marked as paid."""

    n_workers: int
    total: Decimal
    unlisted: Decimal
    n_open: int
    open: Decimal


def debt() -> Debt:
    owing = LedgerAccount.objects.filter(kind=Kind.WORKER, balance__gt=0)
    all_of_it = owing.aggregate(n=Count("pk"), total=Sum("balance"))
    waiting = PayrollRow.objects.filter(payout=None).aggregate(n=Count("pk"), total=Sum("amount"))
    total, in_payrolls = cents(all_of_it["total"] or 0), cents(waiting["total"] or 0)
    return Debt(all_of_it["n"], total, max(total - in_payrolls, ZERO), waiting["n"], in_payrolls)


def owed() -> QuerySet[LedgerAccount, LedgerAccount]:
    """The accounts of workers who are owed something, with the time of the ``last`` entry."""
    entries = LedgerEntry.objects.filter(account=OuterRef("pk")).order_by("-pk")
    return (
        LedgerAccount.objects.filter(kind=Kind.WORKER, balance__gt=0)
        .select_related("worker__user")
        .annotate(last=Subquery(entries.values("created_at")[:1]))
        .order_by("worker__worker_id")
    )


def payrolls() -> QuerySet[Payroll, Payroll]:
    """Payrolls, newest first, each with the number and sum of all rows and of paid rows, and how many came back."""
    is_paid = Q(rows__payout__isnull=False)
    return Payroll.objects.annotate(
        n=Count("rows"),
        total=Sum("rows__amount"),
        n_paid=Count("rows", filter=is_paid),
        paid=Sum("rows__amount", filter=is_paid),
        n_returned=Count("rows__payout__returned"),
    ).order_by("-number")


def rows_of(payroll: Payroll) -> QuerySet[PayrollRow, PayrollRow]:
    """The rows of a payroll in the order of its file, with what happened to each."""
    return (
        PayrollRow.objects.filter(payroll=payroll)
        .select_related("worker", "payout__returned", "payroll")
        .order_by("worker__worker_id")
    )


def payroll_rows_of(worker: Worker) -> QuerySet[PayrollRow, PayrollRow]:
    rows = PayrollRow.objects.filter(worker=worker).select_related("payroll", "payout__returned")
    return rows.order_by("-payroll__number")
