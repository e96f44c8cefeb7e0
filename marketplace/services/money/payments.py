"""Money: prepaid, double entry. Every transaction's entries add up to zero and none is ever changed.

A requester's money is available or held. Creating a HIT holds the reward and the fee of every assignment, so accepted
work can always be paid. What is not needed goes back as a refund. Each account's balance is stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.db.models import Case, Count, F, IntegerField, Q, Sum, Value, When
from django.db.models.functions import TruncDate

from marketplace import clock
from marketplace.models import (
    Assignment,
    Bonus,
    Hit,
    LedgerAccount,
    LedgerEntry,
    LedgerTransaction,
    Requester,
    Worker,
)
from marketplace.money import ZERO, bonus_fee, cents, usd
from marketplace.services.audit_log import record
from marketplace.services.refusals import AlreadyExists, InvalidParameter, Refusal, violates

Account = LedgerAccount.Kind
Kind = LedgerEntry.Kind


class InsufficientFunds(Refusal):
    """The requester's available balance does not cover the amount."""

    def __init__(self, *, needed: Decimal, available: Decimal) -> None:
        super().__init__(
            f"The balance of {usd(available)} does not cover the {usd(needed)} that this needs.",
            code="InsufficientFunds",
        )
        self.needed = needed
        self.available = available


@dataclass(frozen=True, slots=True)
class Leg:
    """One entry to write: money into (+) or out of (-) an account."""

    account: LedgerAccount
    kind: str
    amount: Decimal
    about: str = ""


def account(
    kind: str, *, requester: Requester | int | None = None, worker: Worker | int | None = None
) -> LedgerAccount:
    """The account of this kind, opened on first use."""
    owner = {
        "requester_id": requester.pk if isinstance(requester, Requester) else requester,
        "worker_id": worker.pk if isinstance(worker, Worker) else worker,
    }
    existing = LedgerAccount.objects.filter(kind=kind, **owner).first()
    if existing:
        return existing
    try:
        with transaction.atomic():
            return LedgerAccount.objects.create(kind=kind, **owner)
    except IntegrityError:
        return LedgerAccount.objects.get(kind=kind, **owner)


def post(
    *, kind: str, legs: Iterable[Leg], now: datetime, key: str | None = None, about: str = ""
) -> LedgerTransaction:
    """Write one transaction. Raises InsufficientFunds; raises IntegrityError if ``key`` was posted before."""
    legs = [leg for leg in legs if leg.amount]
    if sum((leg.amount for leg in legs), ZERO) != 0:
        raise ValueError(f"The entries of {kind} {about} do not add up to zero.")
    with transaction.atomic():
        written = LedgerTransaction.objects.create(kind=kind, key=key, about=about, created_at=now)
        rows = locked(leg.account for leg in legs)
        entries, moved = [], {}
        for leg in legs:
            row = moved[leg.account.pk] = rows[leg.account.pk]
            before = row.balance
            row.balance = before + leg.amount  # here and not in SQL: SQLite would add in floating point
            if row.balance < 0 and row.kind != Account.OUTSIDE:
                raise InsufficientFunds(needed=-leg.amount, available=before)
            entry = LedgerEntry(transaction=written, account=row, kind=leg.kind, amount=leg.amount, created_at=now)
            entry.balance_after, entry.about = row.balance, leg.about or about
            entries.append(entry)
        LedgerEntry.objects.bulk_create(entries)
        LedgerAccount.objects.bulk_update(moved.values(), ["balance"])
    return written


#: The order in which to lock accounts. A requester's accounts come first, then workers by number, so two transactions
#: that pay the same workers wait in a queue and never for each other.
_RANKS = {Account.REQUESTER: 0, Account.HELD: 0, Account.FEES: 0, Account.WORKER: 1, Account.OUTSIDE: 2}


def locked(accounts: Iterable[LedgerAccount]) -> dict[int, LedgerAccount]:
    """These accounts as they are now. Nobody else can change their balances before the caller's transaction ends."""
    account_list = list(accounts)
    of_requesters = {account.requester_id for account in account_list} - {None}
    rank = Case(*(When(kind=kind, then=Value(rank)) for kind, rank in _RANKS.items()), output_field=IntegerField())
    to_lock = LedgerAccount.objects.filter(
        Q(pk__in=[account.pk for account in account_list]) | Q(requester__in=of_requesters)
    )
    rows = to_lock.order_by(rank, "worker_id", "pk").select_for_update(no_key=True)
    return {row.pk: row for row in rows}


def lock_to_pay(*, requester_id: int, workers: Iterable[int]) -> None:
    """Call before a transaction that pays several workers in any order: others may be paying the same people."""
    payees = list(workers)
    if payees:
        locked(LedgerAccount.objects.filter(Q(requester=requester_id) | Q(worker__in=payees)))


# --- Holding and paying, in the transaction of what it is for ------------------------------------------------


def hold(*, requester_id: int, amount: Decimal, about: str, now: datetime) -> None:
    """Hold money for a HIT. A negative amount goes back, as a refund."""
    if not amount:
        return
    kind = Kind.HOLD if amount > 0 else Kind.REFUND
    available_account = account(Account.REQUESTER, requester=requester_id)
    held_account = account(Account.HELD, requester=requester_id)
    legs = [Leg(available_account, kind, -amount), Leg(held_account, kind, amount)]
    post(kind=kind, legs=legs, now=now, about=about)


def pay_reward(*, assignment: Assignment, requester_id: int, held: bool, now: datetime) -> None:
    """Pay the worker and the fee: from what is held, or from the balance if nothing is (an overridden rejection)."""
    source = account(Account.HELD if held else Account.REQUESTER, requester=requester_id)
    assignment_id = assignment.assignment_id
    legs = [
        Leg(source, Kind.REWARD, -assignment.reward),
        Leg(source, Kind.FEE, -assignment.fee),
        Leg(account(Account.WORKER, worker=assignment.worker_id), Kind.REWARD, assignment.reward),
        Leg(account(Account.FEES, requester=requester_id), Kind.FEE, assignment.fee),
    ]
    post(kind=Kind.REWARD, key=f"reward {assignment_id}", legs=legs, now=now, about=assignment_id)


@transaction.atomic
def send_bonus(
    *,
    requester: Requester,
    worker: Worker,
    assignment: Assignment,
    amount: Decimal,
    reason: str,
    token: str = "",
    now: datetime | None = None,
) -> Bonus:
    """Pay a bonus and its fee from the available balance. A token used in the last 24 hours does not pay again."""
    from marketplace.services.request_tokens import claim

    now = now or clock.now()
    if amount <= 0:
        raise InvalidParameter("BonusAmount", "A bonus must be at least $0.01.")
    if assignment.worker_id != worker.pk or assignment.state not in ("Submitted", "Approved", "Rejected"):
        raise Refusal(
            f"Worker {worker.worker_id} has not submitted assignment {assignment.assignment_id}.",
            code="InvalidAssignmentState",
        )
    claimed = claim(requester=requester, operation="SendBonus", token=token, now=now)
    if claimed.target_id:
        raise AlreadyExists("Bonus for assignment", claimed.target_id, code="BonusAlreadyGranted")
    fee = bonus_fee(amount)
    bonus = Bonus.objects.create(
        requester=requester,
        worker=worker,
        assignment=assignment,
        amount=amount,
        fee=fee,
        reason=reason,
        token=token,
        created_at=now,
    )
    source = account(Account.REQUESTER, requester=requester)
    legs = [
        Leg(source, Kind.BONUS, -amount - fee),
        Leg(account(Account.WORKER, worker=worker), Kind.BONUS, amount),
        Leg(account(Account.FEES, requester=requester), Kind.FEE, fee),
    ]
    post(kind=Kind.BONUS, key=f"bonus {bonus.pk}", legs=legs, now=now, about=assignment.assignment_id)
    claimed.complete(assignment.assignment_id)
    return bonus


@transaction.atomic
def deposit(*, requester: Requester, amount: Decimal, actor: str, about: str = "", once: str = "") -> None:
    """Add money that the requester paid in. The same ``once`` of a form deposits only once. Raises Refusal."""
    amount = cents(amount)
    if amount <= 0:
        raise Refusal("A deposit must be at least $0.01.")
    _move_outside(requester=requester, amount=amount, about=about, once=once)
    record(actor=actor, action="deposit", about=requester.name, requester=requester, amount=amount, note=about)


@transaction.atomic
def withdraw(*, requester: Requester, amount: Decimal, actor: str, about: str, once: str = "") -> None:
    """Record money paid back to the requester, or correct a deposit. Raises Refusal, InsufficientFunds."""
    amount = cents(amount)
    if amount <= 0:
        raise Refusal("The amount must be at least $0.01.")
    _move_outside(requester=requester, amount=-amount, about=about, once=once)
    record(actor=actor, action="paid back", about=requester.name, requester=requester, amount=amount, note=about)


def _move_outside(*, requester: Requester, amount: Decimal, about: str, once: str) -> None:
    kind = "deposit" if amount > 0 else "paid back"
    legs = [
        Leg(account(Account.OUTSIDE), Kind.DEPOSIT, -amount),
        Leg(account(Account.REQUESTER, requester=requester), Kind.DEPOSIT, amount),
    ]
    try:
        with transaction.atomic():
            post(kind=kind, key=f"{kind} {once}" if once else None, legs=legs, now=clock.now(), about=about[:120])
    except IntegrityError as error:
        if once and violates(error, "marketplace_ledgertransaction", "key"):
            raise Refusal("You have already sent this form. Its amount was booked the first time.") from None
        raise


@transaction.atomic
def pay_out(*, worker: Worker, amount: Decimal | None = None, actor: str, about: str = "") -> Decimal:
    """Record a payment outside a payroll: this amount, or all that is owed. Returns the amount. Raises Refusal."""
    earnings_account = account(Account.WORKER, worker=worker)
    debt = locked([earnings_account])[earnings_account.pk].balance
    paid = debt if amount is None else cents(amount)
    if paid <= 0:
        raise Refusal(
            f"Nothing is owed to {worker.worker_id}." if amount is None else "A payout must be at least $0.01."
        )
    if paid > debt:
        raise Refusal(f"{worker.worker_id} is owed {usd(debt)}, less than the payout of {usd(paid)}.")
    post_payout(worker=worker, amount=paid, about=about)
    record(actor=actor, action="payout", about=worker.worker_id, worker=worker, amount=paid, note=about)
    return paid


def post_payout(*, worker: Worker, amount: Decimal, about: str, key: str | None = None) -> LedgerTransaction:
    """Post a payment to a worker. A negative amount is a payment that came back."""
    legs = [
        Leg(account(Account.WORKER, worker=worker), Kind.PAYOUT, -amount),
        Leg(account(Account.OUTSIDE), Kind.PAYOUT, amount),
    ]
    kind = "payout" if amount > 0 else "payout returned"
    return post(kind=kind, key=key, legs=legs, now=clock.now(), about=about[:120])


# --- Reading ------------------------------------------------------------------------------------------------


def available(requester: Requester) -> Decimal:
    return _balance(kind=Account.REQUESTER, requester=requester)


def held(requester: Requester) -> Decimal:
    return _balance(kind=Account.HELD, requester=requester)


def owed(worker: Worker) -> Decimal:
    return _balance(kind=Account.WORKER, worker=worker)


def _balance(*, kind: str, **owner: Requester | Worker) -> Decimal:
    balance = LedgerAccount.objects.filter(kind=kind, **owner).values_list("balance", flat=True).first()
    return ZERO if balance is None else balance


def imbalance() -> Decimal:
    """The sum of all entries: zero, or the books are wrong."""
    return cents(LedgerEntry.objects.aggregate(total=Sum("amount"))["total"] or 0)


@dataclass(frozen=True, slots=True)
class Day:
    day: date
    rewards: Decimal
    bonuses: Decimal
    n: int


@dataclass(frozen=True, slots=True)
class Earnings:
    """A worker's money. ``pending`` is the reward of submitted work that nobody has decided on."""

    rewards: Decimal
    bonuses: Decimal
    paid_out: Decimal
    pending: Decimal
    days: list[Day] = field(default_factory=list)

    @property
    def earned(self) -> Decimal:
        return self.rewards + self.bonuses

    @property
    def owed(self) -> Decimal:
        return self.earned - self.paid_out


def earnings(worker: Worker) -> Earnings:
    entries = LedgerEntry.objects.filter(account__worker=worker)
    rewards, bonuses = Sum("amount", filter=Q(kind=Kind.REWARD)), Sum("amount", filter=Q(kind=Kind.BONUS))
    sums = entries.aggregate(rewards=rewards, bonuses=bonuses, paid=Sum("amount", filter=Q(kind=Kind.PAYOUT)))
    days = (
        entries.exclude(kind=Kind.PAYOUT)
        .annotate(day=TruncDate("created_at"))
        .values("day")
        .annotate(rewards=rewards, bonuses=bonuses, n=Count("pk", filter=Q(kind=Kind.REWARD)))
        .order_by("-day")
    )
    waiting = Assignment.objects.filter(worker=worker, state="Submitted").aggregate(total=Sum("reward"))["total"]
    return Earnings(
        rewards=cents(sums["rewards"] or 0),
        bonuses=cents(sums["bonuses"] or 0),
        paid_out=-cents(sums["paid"] or 0),
        pending=cents(waiting or 0),
        days=[Day(row["day"], cents(row["rewards"] or 0), cents(row["bonuses"] or 0), row["n"]) for row in days],
    )


def held_by_rights(requester: Requester) -> Decimal:
    """What should be held for the requester's HITs. If it is not equal to `held`, the books are wrong."""
    hits = Hit.objects.filter(requester=requester).aggregate(total=Sum("held_open"))["total"]
    live = Assignment.objects.filter(hit__requester=requester, state__in=["Accepted", "Submitted"])
    return cents((hits or 0) + (live.aggregate(total=Sum(F("reward") + F("fee")))["total"] or 0))
