"""What review policies found and did."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from marketplace.models.hits import Hit


class ReviewEntry(models.Model):
    """One ReviewResult (``key``, ``value``) or ReviewAction (``key`` is its name, ``value`` its result) of a policy.

    Entries are appended in the order of the reviews: a HIT that is extended is reviewed again.
    """

    class Level(models.TextChoices):
        ASSIGNMENT = "Assignment"
        HIT = "HIT"

    class Status(models.TextChoices):
        SUCCEEDED = "Succeeded"
        FAILED = "Failed"

    entry_id = models.CharField(max_length=64, unique=True)
    hit = models.ForeignKey(Hit, on_delete=models.CASCADE, db_index=False, related_name="review_entries")
    level = models.CharField(max_length=10, choices=Level.choices)
    about_id = models.CharField(max_length=64, help_text="Of a HIT or an assignment.")
    about_type = models.CharField(max_length=10, choices=Level.choices)
    question_id = models.TextField(blank=True)
    key = models.CharField(max_length=40)
    value = models.TextField(blank=True)
    status = models.CharField(max_length=9, choices=Status.choices, blank=True, help_text="Actions have one.")
    error_code = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=["", "Succeeded", "Failed"]) & (Q(error_code="") | Q(status="Failed")),
                name="market_review_status_known",
            )
        ]
        indexes = [models.Index(fields=["hit", "id"], name="market_review_listed")]

    def __str__(self) -> str:
        return f"{self.about_id} {self.key}"
