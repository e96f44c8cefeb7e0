"""Live suggestions as writers saw them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models.study import Item, Study
from annotation.models.work import Assignment
from generation.models import Suggestion


class Pull(models.Model):
    """One press of a page's button for suggestions, with what the writer had typed. A trigger refuses changes.

    Its offers have the same assignment, step and number. If there are none, the suggestions have not arrived yet.
    """

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, db_index=False, related_name="pulls")
    step = models.PositiveSmallIntegerField(help_text="The page, counted from 0.")
    number = models.PositiveSmallIntegerField(help_text="Counts the presses on the page, from 1.")
    typed = models.JSONField(help_text="The texts on the page at that moment, by question.")
    asked_at = models.DateTimeField()

    class Meta:
        ordering = ["step", "number"]
        constraints = [models.UniqueConstraint(fields=["assignment", "step", "number"], name="pull_once")]

    def __str__(self) -> str:
        return f"pull {self.number} on page {self.step + 1} of assignment {self.assignment_id}"


class Offer(models.Model):
    """One suggestion on one side of one page, stored when the page first shows it.

    Afterwards, a trigger refuses changes. The only exception is what became of the suggestion: ``chosen`` and
    ``switches`` are written once, in the transaction that stores the page's step. ``model``, ``decoder`` and ``seed``
    are those that wrote the text, also for a text from the pool.
    """

    class Source(models.TextChoices):
        LIVE = "live", "Written in time"
        SECOND_TRY = "second_try", "Asked again"
        POOL = "pool", "From the pool"
        NONE = "none", "None"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, db_index=False, related_name="offers")
    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, db_index=False, related_name="offers")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, null=True, related_name="offers")
    step = models.PositiveSmallIntegerField(help_text="The page, counted from 0.")
    side = models.CharField(max_length=20, help_text="The place on the page.")
    number = models.PositiveSmallIntegerField(default=1, help_text="Counts the requests for this side on the page.")
    round = models.PositiveSmallIntegerField(help_text="Counts the suggestions of one text, from 1.")
    suggester = models.CharField(max_length=60)
    model = models.CharField(max_length=80, blank=True)
    decoder = models.CharField(max_length=60, blank=True)
    seed = models.BigIntegerField(null=True)
    source = models.CharField(max_length=10, choices=Source)
    text = models.TextField(blank=True)
    suggestion = models.ForeignKey(Suggestion, on_delete=models.PROTECT, null=True, db_index=False, related_name="+")
    asked_at = models.DateTimeField()
    latency = models.FloatField(null=True, help_text="Seconds from asking to the text.")
    shown_at = models.DateTimeField()
    chosen = models.BooleanField(
        null=True, help_text="Whether it was sent, edited or not. Empty: the page was not sent."
    )
    switches = models.PositiveSmallIntegerField(null=True, help_text="Times the writer switched to it from another.")

    class Meta:
        ordering = ["step", "number", "side"]
        constraints = [
            models.UniqueConstraint(fields=["assignment", "step", "number", "side"], name="offer_once"),
            models.CheckConstraint(
                condition=Q(source="none", text="") | (~Q(source="none") & ~Q(text="")), name="offer_text_or_none"
            ),
            models.CheckConstraint(
                condition=Q(source__in=["live", "second_try", "pool", "none"]), name="offer_source_known"
            ),
            models.CheckConstraint(
                condition=Q(chosen__isnull=True, switches__isnull=True)
                | Q(chosen__isnull=False, switches__isnull=False),
                name="offer_outcome_whole",
            ),
        ]
        indexes = [models.Index(fields=["study", "id"], name="offer_export")]

    def __str__(self) -> str:
        return f"offer {self.side} on page {self.step + 1} of assignment {self.assignment_id}"
