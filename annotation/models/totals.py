"""Running totals, so that pages about a large study read a row for each of its workers, not one for each answer.

Every figure can be counted again from what was stored: see `annotation.review.work_totals`.
"""

from __future__ import annotations

from django.db import models

from annotation.models.study import Study
from annotation.models.work import Participant


class Recount(models.Model):
    """A mark: this participant's total is no longer right.

    Triggers write it in the transaction that changes what the total counts. Rows are only added, so workers never wait
    for each other. Whoever counts again deletes the marks that they had read before.
    """

    participant = models.ForeignKey(
        Participant, on_delete=models.CASCADE, db_index=False, db_constraint=False, related_name="+"
    )

    def __str__(self) -> str:
        return f"participant {self.participant_id}"


class WorkTotal(models.Model):
    """What one participant did, how much of it counts, and what the study owes and paid them, in USD.

    ``state`` is their state in the list of payments; empty for simulated workers and where nothing is listed.
    ``left_out`` and ``flags`` have submissions by reason. ``work``, ``work_usd`` and ``work_seconds`` are about
    `annotation.work.left_out.paid_work`. ``until``: then the total changes although nobody does anything, because the
    time for a decision has passed.
    """

    participant = models.OneToOneField(Participant, on_delete=models.CASCADE, primary_key=True, related_name="total")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, db_index=False, related_name="work_totals")
    state = models.CharField(max_length=20, blank=True)
    received = models.PositiveIntegerField(default=0)
    submitted = models.PositiveIntegerField(default=0)
    released = models.PositiveIntegerField(default=0)
    extra = models.PositiveIntegerField(default=0)
    comments = models.PositiveIntegerField(default=0)
    returned = models.PositiveIntegerField(default=0)
    abandoned = models.PositiveIntegerField(default=0)
    stopped = models.PositiveIntegerField(default=0)
    flagged = models.PositiveIntegerField(default=0)
    flags = models.JSONField(default=dict)
    excluded = models.PositiveIntegerField(default=0)
    left_out = models.JSONField(default=dict)
    ratings = models.PositiveIntegerField(default=0)
    ratings_out = models.PositiveIntegerField(default=0)
    work = models.PositiveIntegerField(default=0)
    work_usd = models.DecimalField(max_digits=12, decimal_places=3, default=0)
    work_seconds = models.FloatField(default=0)
    hits_due = models.PositiveIntegerField(default=0)
    due = models.DecimalField(max_digits=12, decimal_places=3, default=0)
    hits_open = models.PositiveIntegerField(default=0)
    open = models.DecimalField(max_digits=12, decimal_places=3, default=0)
    hits_rewarded = models.PositiveIntegerField(default=0)
    paid = models.DecimalField(max_digits=12, decimal_places=3, default=0)
    paid_extra = models.DecimalField(max_digits=12, decimal_places=3, default=0)
    until = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["study", "state"], name="worktotal_by_state")]

    def __str__(self) -> str:
        return f"work of participant {self.participant_id}"


class SlowFigures(models.Model):
    """What cannot be added up from totals of workers: medians, and which items are complete.

    They are counted in the background, less often the longer it takes, and pages say when.
    """

    study = models.OneToOneField(Study, on_delete=models.CASCADE, primary_key=True, related_name="slow_figures")
    figures = models.JSONField(default=dict)
    counted_at = models.DateTimeField()
    seconds = models.FloatField(help_text="How long it took.")

    def __str__(self) -> str:
        return f"figures of {self.study_id}"
