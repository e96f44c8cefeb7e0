"""Paying workers: what each was owed for a period when the payroll was created, and whether it was paid.

Nothing here ever changes: triggers refuse UPDATE and DELETE.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from marketplace.models.accounts import Worker
from marketplace.models.ledger import LedgerEntry, LedgerTransaction


class Payroll(models.Model):
    """Everything earned up to ``until`` that is in no earlier payroll. ``since`` is the end of the previous payroll."""

    number = models.PositiveIntegerField(unique=True)
    since = models.DateTimeField()
    until = models.DateTimeField()
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)

    def __str__(self) -> str:
        return f"payroll {self.number}"


class PayrollRow(models.Model):
    """One worker in a payroll: who to pay, where and how much, as of the time it was created.

    ``amount`` = ``rewards`` + ``bonuses`` + ``returned``, where ``returned`` is earlier payments that came back.
    ``paid_before`` is everything paid until then; ``open_before`` is what earlier payrolls list as still unpaid.
    """

    payroll = models.ForeignKey(Payroll, on_delete=models.PROTECT, db_index=False, related_name="rows")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="payroll_rows")
    name = models.CharField(max_length=150, blank=True)
    email = models.EmailField(blank=True)
    payment_address = models.CharField(max_length=200, blank=True)
    country = models.CharField(max_length=2, blank=True)
    earned_since = models.DateTimeField()
    earned_until = models.DateTimeField()
    rewards = models.DecimalField(max_digits=12, decimal_places=2)
    bonuses = models.DecimalField(max_digits=12, decimal_places=2)
    returned = models.DecimalField(max_digits=12, decimal_places=2)
    amount = models.DecimalField(max_digits=12, decimal_places=2)
    paid_before = models.DecimalField(max_digits=12, decimal_places=2)
    open_before = models.DecimalField(max_digits=12, decimal_places=2)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["payroll", "worker"], name="payroll_row_once"),
            models.CheckConstraint(condition=Q(amount__gt=0), name="payroll_row_positive"),
        ]

    def __str__(self) -> str:
        return f"row {self.pk} of payroll {self.payroll_id}"

    @property
    def state(self) -> str:
        """open, paid or returned."""
        payout = getattr(self, "payout", None)
        if payout is None:
            return "open"
        return "returned" if getattr(payout, "returned", None) else "paid"


class PayrollEntry(models.Model):
    """A ledger entry that is part of a row. Each ledger entry is in at most one row, so nothing is paid twice."""

    row = models.ForeignKey(PayrollRow, on_delete=models.PROTECT, related_name="entries")
    entry = models.OneToOneField(LedgerEntry, on_delete=models.PROTECT, related_name="payroll_entry")

    def __str__(self) -> str:
        return f"entry {self.entry_id} in row {self.row_id}"


class Payout(models.Model):
    """The payment of a payroll row, with a reference such as the number of the transfer."""

    row = models.OneToOneField(PayrollRow, on_delete=models.PROTECT, related_name="payout")
    transaction = models.OneToOneField(LedgerTransaction, on_delete=models.PROTECT, related_name="+")
    reference = models.CharField(max_length=100)
    paid_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"payout {self.pk}"


class PayoutReturn(models.Model):
    """A payment that came back. Its amount is owed again and goes into the next payroll."""

    payout = models.OneToOneField(Payout, on_delete=models.PROTECT, related_name="returned")
    transaction = models.OneToOneField(LedgerTransaction, on_delete=models.PROTECT, related_name="+")
    reason = models.CharField(max_length=100)
    noted_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"return of payout {self.payout_id}"
