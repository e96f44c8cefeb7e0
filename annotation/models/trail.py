"""Append-only records: flags, people's reviews, payments, and who did what. The database refuses UPDATE and DELETE."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.study import Study
from annotation.models.work import Submission
from common.words import money


class Flag(models.Model):
    """A reason to look at a submission. A machine raises it; only a person decides (``Review``).

    ``other`` is the submission that the reason points to, such as an earlier one with the same text.
    """

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="flags")
    reason = models.CharField(max_length=40)
    detail = models.CharField(max_length=500, blank=True)
    other = models.ForeignKey(Submission, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.reason


class Review(models.Model):
    """A person's decision on a submission. The newest counts; earlier ones stay."""

    class Decision(models.TextChoices):
        INCLUDE = "include", "Use in the analysis"
        EXCLUDE = "exclude", "Leave out of the analysis"

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="reviews")
    decision = models.CharField(max_length=10, choices=Decision.choices)
    note = models.CharField(max_length=500, blank=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="reviews")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.decision


class Payment(models.Model):
    """The payment of a submission's reward. Written once: the database refuses UPDATE, DELETE and a second row.

    ``platform_id`` is the payment's id on the platform that made it; empty if it was paid in another way.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="payments")
    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="payment")
    amount = models.DecimalField(max_digits=8, decimal_places=3, help_text="USD.")
    platform = models.CharField(max_length=20)
    platform_id = models.CharField(max_length=200, blank=True)
    actor = models.CharField(max_length=150, help_text="A user's name, or the command that acted.")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(amount__gte=0), name="payment_not_negative"),
            models.UniqueConstraint(
                fields=["platform", "platform_id"], condition=~Q(platform_id=""), name="payment_platform_id_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{money(self.amount)} for submission {self.submission_id}"


class AuditEntry(models.Model):
    """Who did what to a study, and when. The entries of a deleted draft stay, so the study may no longer exist."""

    study = models.ForeignKey(Study, on_delete=models.DO_NOTHING, db_constraint=False, related_name="audit")
    actor = models.CharField(max_length=150, help_text="A user's name, or the command that acted.")
    action = models.CharField(max_length=60)
    detail = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.actor}: {self.action}"
