"""Money: a double-entry ledger. Entries never change, and the entries of each transaction add up to zero."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from marketplace.models.accounts import Requester, Worker
from marketplace.models.hits import Assignment


class LedgerAccount(models.Model):
    """Where money is: a requester's available balance, what is held for their HITs, the fees they paid, a worker's
    earnings, or outside (deposits come from there, payouts go there).

    ``balance`` always equals the sum of the entries and the last entry's ``balance_after``: it changes under the row's
    lock, together with the entries. Each requester has their own fee account, so payments do not all wait for one row.
    """

    class Kind(models.TextChoices):
        REQUESTER = "requester"
        HELD = "held"
        WORKER = "worker"
        FEES = "fees"
        OUTSIDE = "outside"

    kind = models.CharField(max_length=10, choices=Kind.choices)
    requester = models.ForeignKey(
        Requester, on_delete=models.PROTECT, null=True, blank=True, related_name="ledger_accounts"
    )
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, null=True, blank=True, related_name="ledger_accounts")
    balance = models.DecimalField(max_digits=14, decimal_places=2, default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["requester", "held", "fees"], requester__isnull=False, worker__isnull=True)
                | Q(kind="worker", requester__isnull=True, worker__isnull=False)
                | Q(kind="outside", requester__isnull=True, worker__isnull=True),
                name="ledger_account_owner",
            ),
            models.CheckConstraint(condition=Q(kind="outside") | Q(balance__gte=0), name="ledger_balance_not_negative"),
            models.UniqueConstraint(
                fields=["kind", "requester"], condition=Q(requester__isnull=False), name="ledger_requester_account_once"
            ),
            models.UniqueConstraint(
                fields=["worker"], condition=Q(worker__isnull=False), name="ledger_worker_account_once"
            ),
            models.UniqueConstraint(
                fields=["kind"],
                condition=Q(requester__isnull=True, worker__isnull=True),
                name="ledger_common_account_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class LedgerTransaction(models.Model):
    """Entries that belong together. ``key`` names what can happen only once, such as the reward of an assignment."""

    kind = models.CharField(max_length=20)
    key = models.CharField(max_length=120, unique=True, null=True, blank=True)
    about = models.CharField(max_length=120, blank=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.kind} {self.about}"


class LedgerEntry(models.Model):
    """Money into (+) or out of (-) an account. Written once: a trigger refuses UPDATE and DELETE.

    The entries of one account are numbered in the order they were written, each under the account's lock.
    A negative deposit on a requester's account is money that was paid back to them. A positive payout on a worker's
    account is a payment that came back.
    """

    class Kind(models.TextChoices):
        REWARD = "reward"
        FEE = "fee"
        BONUS = "bonus"
        REFUND = "refund"
        DEPOSIT = "deposit"
        PAYOUT = "payout"
        HOLD = "hold"

    transaction = models.ForeignKey(LedgerTransaction, on_delete=models.PROTECT, related_name="entries")
    account = models.ForeignKey(LedgerAccount, on_delete=models.PROTECT, db_index=False, related_name="entries")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    amount = models.DecimalField(max_digits=12, decimal_places=2)
    balance_after = models.DecimalField(max_digits=14, decimal_places=2, help_text="What the account then held.")
    about = models.CharField(max_length=120, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "ledger entries"
        constraints = [models.CheckConstraint(condition=~Q(amount=0), name="ledger_entry_not_zero")]
        indexes = [models.Index(fields=["account", "id"], name="market_ledger_of_account")]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount}"


class Bonus(models.Model):
    """Money that a requester paid for an assignment on top of its reward."""

    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="bonuses")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="bonuses")
    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="bonuses")
    amount = models.DecimalField(max_digits=12, decimal_places=2)
    fee = models.DecimalField(max_digits=12, decimal_places=2)
    reason = models.TextField()
    token = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "bonuses"
        constraints = [models.CheckConstraint(condition=Q(amount__gt=0), name="bonus_positive")]

    def __str__(self) -> str:
        return f"bonus {self.pk}"
