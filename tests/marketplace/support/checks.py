"""What must be true of the books and the counters at any moment, whatever has happened."""

from __future__ import annotations

from collections import Counter, defaultdict
from decimal import Decimal

from django.db.models import Count

from marketplace.models import Assignment, Hit, LedgerAccount, LedgerEntry, LedgerTransaction, Requester
from marketplace.services.money import payments


def check_books() -> None:
    # Added up here: SQLite would do it in floating point.
    by_transaction: dict[int, Decimal] = defaultdict(Decimal)
    by_account: dict[int, Decimal] = defaultdict(Decimal)
    for entry in LedgerEntry.objects.all():
        by_transaction[entry.transaction_id] += entry.amount
        by_account[entry.account_id] += entry.amount
    assert not any(by_transaction.values()), "a transaction does not add up to zero"
    assert payments.imbalance() == 0
    for account in LedgerAccount.objects.all():
        assert account.balance == by_account[account.pk], account
    assert len(by_transaction) == LedgerTransaction.objects.count()
    for requester in Requester.objects.all():
        assert payments.held(requester) == payments.held_by_rights(requester)


def check_counters() -> None:
    states = Counter((assignment.hit_id, assignment.state) for assignment in Assignment.objects.all())
    for hit in Hit.objects.all():
        counted = (
            states[hit.pk, "Accepted"],
            states[hit.pk, "Submitted"],
            states[hit.pk, "Approved"] + states[hit.pk, "Rejected"],
        )
        assert (hit.n_pending, hit.n_submitted, hit.n_completed) == counted
        assert hit.n_available == hit.max_assignments - sum(counted) >= 0


def check_paid_once() -> None:
    """Every approved assignment was paid its reward exactly once, and no other was paid anything."""
    rewards = LedgerEntry.objects.filter(kind="reward", account__kind="worker")
    paid = dict(rewards.values_list("about").annotate(n=Count("pk")))
    assert set(paid.values()) <= {1}
    assert set(paid) == set(Assignment.objects.filter(state="Approved").values_list("assignment_id", flat=True))


def check_all() -> None:
    check_books()
    check_counters()
    check_paid_once()
