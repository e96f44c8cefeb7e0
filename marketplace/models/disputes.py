"""Statements about a rejection, and the operator's decision."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from marketplace.models.hits import Assignment


class DisputeStatement(models.Model):
    """One statement in a dispute about a rejection. Written once: a trigger refuses UPDATE and DELETE.

    The worker starts. Worker and requester can reply until the operator decides, which is final.
    """

    class Party(models.TextChoices):
        WORKER = "worker"
        REQUESTER = "requester"
        OPERATOR = "operator"

    class Decision(models.TextChoices):
        UPHELD = "upheld"
        OVERTURNED = "overturned"

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="statements")
    party = models.CharField(max_length=9, choices=Party.choices)
    actor = models.CharField(max_length=150, help_text="A worker's id, or a user's name.")
    decision = models.CharField(max_length=10, choices=Decision.choices, blank=True)
    text = models.TextField()
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(party="operator", decision__in=["upheld", "overturned"])
                | Q(party__in=["worker", "requester"], decision=""),
                name="dispute_decided_by_operator",
            ),
            models.UniqueConstraint(fields=["assignment"], condition=Q(party="operator"), name="dispute_decided_once"),
        ]

    def __str__(self) -> str:
        return f"{self.party} about assignment {self.assignment_id}"
