"""What must hold of the books and the counters at any moment, whatever has happened."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal

from django.db.models import Count, Q

from marketplace.models import Assignment, Hit, LedgerAccount, LedgerEntry, LedgerTransaction, Requester
from marketplace.services import payments


def check_books() -> None:
    # Added up here: SQLite would do it in floating point.
    by_transaction, by_account = defaultdict(Decimal), defaultdict(Decimal)
    for transaction, account, amount in LedgerEntry.objects.values_list("transaction", "account", "amount"):
        by_transaction[transaction] += amount
        by_account[account] += amount
    assert not any(by_transaction.values()), "a transaction does not add up to zero"
    assert payments.imbalance() == 0
    for account in LedgerAccount.objects.exclude(balance=None):
        assert account.balance == by_account[account.pk], account
    assert len(by_transaction) == LedgerTransaction.objects.count()
    for requester in Requester.objects.all():
        assert payments.held(requester) == payments.held_by_rights(requester)


def check_counters() -> None:
    states = {
        name: Count("assignments", filter=Q(assignments__state__in=of))
        for name, of in (
            ("pending", ["Accepted"]),
            ("submitted", ["Submitted"]),
            ("completed", ["Approved", "Rejected"]),
        )
    }
    for hit in Hit.objects.annotate(**states):
        counted = (hit.pending, hit.submitted, hit.completed)
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
