"""What may be spent on platforms, and what has been set aside for it. Amounts are in USD and include the fees."""

from __future__ import annotations

from decimal import Decimal

from django.db import models
from django.db.models import F, Q

from annotation.models.study import Study


class SpendingAccount(models.Model):
    """An account on a platform that pays for studies. Its row is locked while money is set aside."""

    name = models.CharField(max_length=200, unique=True)

    def __str__(self) -> str:
        return self.name


class StudyBudget(models.Model):
    """The most that one study may cost on platforms."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="budget")
    amount = models.DecimalField(max_digits=12, decimal_places=2)
    actor = models.CharField(max_length=150, help_text="A user's name, or the command that acted.")
    set_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(amount__gte=0), name="studybudget_not_negative")]

    def __str__(self) -> str:
        return f"${self.amount} for {self.study_id}"


class Commitment(models.Model):
    """Money set aside before a call that may cost it. ``key`` identifies what it is for, so nothing counts twice.

    ``released``: the part that will not be spent, such as the places whose work was rejected.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="commitments")
    account = models.ForeignKey(SpendingAccount, on_delete=models.PROTECT, related_name="commitments")
    key = models.CharField(max_length=200, unique=True)
    amount = models.DecimalField(max_digits=12, decimal_places=2)
    released = models.DecimalField(max_digits=12, decimal_places=2, default=Decimal(0))
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(released__gte=0, amount__gte=F("released")), name="commitment_released_within_amount"
            )
        ]
        indexes = [models.Index(fields=["account", "created_at"], name="commitment_of_month")]

    def __str__(self) -> str:
        return f"${self.amount} for {self.key}"
