"""Workers who stop early or want their data deleted."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from annotation.models.work import Assignment, Participant
from common.words import money


class PartPayment(models.Model):
    """What a worker is owed for a hit that they stopped. Written once, in the transaction that ends the hit.

    This is the promise. The money that was paid for it is a ``Payment`` of the kind ``partial``.
    """

    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT, related_name="part_payment")
    amount = models.DecimalField(max_digits=8, decimal_places=2, help_text="USD.")
    steps_done = models.PositiveSmallIntegerField()
    steps_in_all = models.PositiveSmallIntegerField(null=True, help_text="Empty: it depended on the answers.")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(amount__gt=0) & Q(steps_done__gte=1), name="partpayment_for_work"),
            models.CheckConstraint(
                condition=Q(steps_in_all__isnull=True) | Q(steps_done__lt=F("steps_in_all")),
                name="partpayment_not_finished",
            ),
        ]

    def __str__(self) -> str:
        return f"{money(self.amount)} for assignment {self.assignment_id}"


class DeletionRequest(models.Model):
    """A participant asked for the deletion of their data. An owner of the study deletes them, or must explain why not.

    There is one per participant. It is done when the data are deleted.
    """

    participant = models.OneToOneField(Participant, on_delete=models.PROTECT, related_name="deletion_request")
    asked_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"request of participant {self.participant_id}"


class RedactionGate(models.Model):
    """Open while it has a row: the triggers of this app then allow UPDATE and DELETE.

    A redaction inserts the row and deletes it in one transaction, so no other transaction ever sees it.
    """

    opened_at = models.DateTimeField()

    def __str__(self) -> str:
        return "open"
