"""What the pages read: balances, the ledger, what is owed, how workers and HITs are doing.

Sums are rounded to cents once more, as SQLite adds decimals up as binary fractions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.db import connection
from django.db.models import Count, DecimalField, Exists, F, Max, Min, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from marketplace.answers import read_answers
from marketplace.models import (
    AccessKey,
    Assignment,
    AuditRow,
    Hit,
    Invitation,
    LedgerAccount,
    LedgerEntry,
    LedgerTransaction,
    Requester,
    Worker,
)
from marketplace.services.operating import OVERTURNED, UPHELD

CENT = Decimal("0.01")
NOTHING = Decimal("0.00")
_MONEY: DecimalField[Any, Any] = DecimalField(max_digits=14, decimal_places=2)
Kind = LedgerAccount.Kind
State = Assignment.State


def cents(amount: Decimal | float | None) -> Decimal:
    return Decimal(str(amount or 0)).quantize(CENT)


def _sum(field: str = "amount", **options: Any) -> Coalesce:
    return Coalesce(Sum(field, **options), Value(NOTHING), output_field=_MONEY)


def _balance_of(**owner: Any) -> Coalesce:
    """The sum of one account of the outer row's owner, as a column."""
    entries = LedgerEntry.objects.filter(**{f"account__{name}": value for name, value in owner.items()})
    total = entries.order_by().values("account").annotate(total=Sum("amount")).values("total")
    return Coalesce(Subquery(total, output_field=_MONEY), Value(NOTHING), output_field=_MONEY)


def _count_of(rows: QuerySet[Any, Any], owner: str) -> Coalesce:
    """How many of ``rows`` belong to the outer row, as a column of its own: joins would multiply each other."""
    counted = rows.filter(**{owner: OuterRef("pk")}).order_by().values(owner).annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted), Value(0))


# --- accounts ---------------------------------------------------------------------------------------------------


def requesters() -> QuerySet[Requester, Requester]:
    """Every requester with ``available`` and ``held`` money, ``n_hits`` and ``n_keys`` (those that work)."""
    return (
        Requester.objects.select_related("user")
        .annotate(
            available=_balance_of(kind=Kind.REQUESTER, requester=OuterRef("pk")),
            held=_balance_of(kind=Kind.HELD, requester=OuterRef("pk")),
            n_hits=_count_of(Hit.objects.all(), "requester"),
            n_keys=_count_of(AccessKey.objects.filter(revoked_at=None), "requester"),
        )
        .order_by("name")
    )


def workers(*, search: str = "", country: str = "", active: str = "") -> QuerySet[Worker, Worker]:
    """Workers with what they have done and earned, newest first."""
    done = Assignment.objects
    found = Worker.objects.select_related("user").annotate(
        n_submitted=_count_of(done.filter(state__in=[State.SUBMITTED, State.APPROVED, State.REJECTED]), "worker"),
        n_approved=_count_of(done.filter(state=State.APPROVED), "worker"),
        n_rejected=_count_of(done.filter(state=State.REJECTED), "worker"),
        owed=_balance_of(kind=Kind.WORKER, worker=OuterRef("pk")),
    )
    if search:
        by_user = Q(user__username__icontains=search) | Q(user__email__icontains=search)
        found = found.filter(Q(worker_id__icontains=search) | Q(name__icontains=search) | by_user)
    if country:
        found = found.filter(country=country.upper())
    if active:
        found = found.filter(active=active == "yes")
    return found.order_by("-joined_at", "-pk")


@dataclass(frozen=True, slots=True)
class Record:
    """What a worker has done. Shares are of decided assignments and of those that came to an end; None without any."""

    counts: dict[str, int]
    earned: Decimal
    owed: Decimal
    paid_out: Decimal
    approved_share: float | None
    returned_share: float | None
    last_submitted: datetime | None


def record_of(worker: Worker) -> Record:
    rows = Assignment.objects.filter(worker=worker).values_list("state").annotate(n=Count("pk"))
    counts = {state.value: 0 for state in State} | dict(rows.order_by())
    money = LedgerEntry.objects.filter(account__kind=Kind.WORKER, account__worker=worker).aggregate(
        owed=_sum(), paid=_sum(filter=Q(kind=LedgerEntry.Kind.PAYOUT))
    )
    owed, paid = cents(money["owed"]), -cents(money["paid"])
    decided = counts[State.APPROVED] + counts[State.REJECTED]
    left = counts[State.RETURNED] + counts[State.ABANDONED]
    ended = left + decided + counts[State.SUBMITTED]
    return Record(
        counts=counts,
        earned=owed + paid,
        owed=owed,
        paid_out=paid,
        approved_share=counts[State.APPROVED] / decided if decided else None,
        returned_share=left / ended if ended else None,
        last_submitted=Assignment.objects.filter(worker=worker).aggregate(last=Max("submitted_at"))["last"],
    )


def invitations() -> QuerySet[Invitation, Invitation]:
    return Invitation.objects.select_related("used_by__user").order_by("-created_at", "-pk")


# --- money ------------------------------------------------------------------------------------------------------


def balances() -> QuerySet[LedgerAccount, LedgerAccount]:
    """Every account with the sum of its entries, ``total``, and how many there are."""
    return (
        LedgerAccount.objects.select_related("requester", "worker")
        .annotate(total=_sum("entries__amount"), n_entries=Count("entries"), last=Max("entries__created_at"))
        .order_by("kind", "requester__name", "worker__worker_id", "pk")
    )


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


def account_label(account: LedgerAccount) -> str:
    """An account in words: whose it is, and what it is for."""
    if account.worker is not None:
        return account.worker.worker_id
    if account.requester is not None:
        return f"{account.requester.name} (held)" if account.kind == Kind.HELD else account.requester.name
    return "Fees" if account.kind == Kind.FEES else "Outside"


def totals_by_kind() -> list[KindTotal]:
    """What all accounts of a kind hold. These sums add up to zero."""
    sums = dict(LedgerEntry.objects.order_by().values_list("account__kind").annotate(total=Sum("amount")))
    counts = dict(LedgerAccount.objects.order_by().values_list("kind").annotate(n=Count("pk")))
    return [
        KindTotal(kind.value, label, cents(sums.get(kind.value)), counts.get(kind.value, 0))
        for kind, label in _LABELS.items()
    ]


def unbalanced_transactions() -> QuerySet[LedgerTransaction, LedgerTransaction]:
    """Those whose entries do not add up to zero. There should be none."""
    wrong = Q(off__gt=Decimal("0.004")) | Q(off__lt=Decimal("-0.004"))
    return LedgerTransaction.objects.annotate(off=Sum("entries__amount")).filter(wrong).order_by("pk")


def entries(
    *, account: str = "", kind: str = "", since: date | None = None, until: date | None = None
) -> QuerySet[LedgerEntry, LedgerEntry]:
    """Entries, newest first. ``account`` is part of a requester's name or a worker's id, or fees or outside."""
    found = LedgerEntry.objects.select_related("account__requester", "account__worker", "transaction")
    if account:
        owner = Q(account__requester__name__icontains=account) | Q(account__worker__worker_id__icontains=account)
        found = found.filter(owner | Q(account__kind=account.lower()))
    if kind:
        found = found.filter(kind=kind)
    if since:
        found = found.filter(created_at__gte=_midnight(since))
    if until:
        found = found.filter(created_at__lt=_midnight(until + timedelta(days=1)))
    return found.order_by("-pk")


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=UTC)


def entries_of(requester: Requester) -> QuerySet[LedgerEntry, LedgerEntry]:
    """The entries of a requester's two accounts, newest first."""
    found = LedgerEntry.objects.filter(account__requester=requester)
    return found.select_related("account__requester", "account__worker", "transaction").order_by("-pk")


_RUNNING = """
SELECT id, running FROM (
    SELECT id, SUM(amount) OVER (PARTITION BY account_id ORDER BY id) AS running
    FROM marketplace_ledgerentry WHERE account_id IN ({accounts}) AND id <= %s
) added_up WHERE id IN ({entries})
"""


def with_running_totals(rows: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """The same entries, each with ``running``: what its account held after it, whatever is filtered out between."""
    shown = list(rows)
    if not shown:
        return shown
    accounts, ids = sorted({row.account_id for row in shown}), [row.pk for row in shown]
    query = _RUNNING.format(accounts=", ".join(["%s"] * len(accounts)), entries=", ".join(["%s"] * len(ids)))
    with connection.cursor() as cursor:
        cursor.execute(query, [*accounts, max(ids), *ids])
        running = dict(cursor.fetchall())
    for row in shown:
        row.running = cents(running[row.pk])  # type: ignore[attr-defined]
        row.whose = account_label(row.account)  # type: ignore[attr-defined]
    return shown


def total_of(found: QuerySet[LedgerEntry, LedgerEntry]) -> Decimal:
    return cents(found.order_by().aggregate(total=_sum())["total"])


def owed() -> QuerySet[LedgerAccount, Any]:
    """The accounts of workers who are owed something: ``total``, since when, and what has been paid before."""
    payout = Q(entries__kind=LedgerEntry.Kind.PAYOUT)
    return (
        LedgerAccount.objects.filter(kind=Kind.WORKER)
        .select_related("worker__user")
        .annotate(
            total=_sum("entries__amount"),
            n_payouts=Count("entries", filter=payout),
            last_paid=Max("entries__created_at", filter=payout),
            first_earned=Min("entries__created_at", filter=~payout),
            last_earned=Max("entries__created_at", filter=~payout),
        )
        .filter(total__gt=Decimal("0.004"))
        .order_by("worker__worker_id")
    )


def payouts() -> QuerySet[LedgerEntry, LedgerEntry]:
    """What has been paid out, newest first: the workers' side of it."""
    found = LedgerEntry.objects.filter(kind=LedgerEntry.Kind.PAYOUT, account__kind=Kind.WORKER)
    return found.select_related("account__worker", "transaction").order_by("-pk")


# --- work -------------------------------------------------------------------------------------------------------


def hits_of(requester: Requester) -> QuerySet[Hit, Hit]:
    found = Hit.objects.filter(requester=requester).select_related("hit_type").defer("question")
    return found.order_by("-created_at", "-pk")


def assignments_of(requester: Requester, *, state: str = "") -> QuerySet[Assignment, Assignment]:
    found = Assignment.objects.filter(hit__requester=requester).select_related("hit__hit_type", "worker")
    if state:
        found = found.filter(state=state)
    return found.defer("answer", "hit__question").order_by("-accepted_at", "-pk")


def answers_of(assignment: Assignment) -> list[tuple[str, str]]:
    """Questions and answers in the order they were sent; none if it is no XML that can be read."""
    if not assignment.answer:
        return []
    try:
        return [(name, ", ".join(values)) for name, values in read_answers(assignment.answer).items()]
    except (SyntaxError, IndexError):
        return []


def state_counts(requester: Requester) -> dict[str, int]:
    rows = Hit.objects.filter(requester=requester).order_by().values_list("state").annotate(n=Count("pk"))
    return {state.value: 0 for state in Hit.State} | dict(rows)


def disputes(*, decided: bool = False) -> QuerySet[Assignment, Assignment]:
    """Rejections that a worker has commented on: those that wait for a decision, or those that have one."""
    decisions = AuditRow.objects.filter(action__in=[UPHELD, OVERTURNED], about=OuterRef("assignment_id"))
    commented = Assignment.objects.exclude(worker_comment="")
    found = commented.select_related("hit__hit_type", "hit__requester", "worker").defer("hit__question")
    if decided:
        latest = decisions.order_by("-pk")
        found = found.filter(Exists(decisions)).annotate(
            decision=Subquery(latest.values("action")[:1]),
            decided_by=Subquery(latest.values("actor")[:1]),
            decided_at=Subquery(latest.values("at")[:1]),
            decided_why=Subquery(latest.values("detail__reason")[:1]),
        )
        return found.order_by(F("decided_at").desc(), "-pk")
    return found.filter(~Exists(decisions), state=State.REJECTED).order_by("rejected_at", "pk")
