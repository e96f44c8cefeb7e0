"""Pages whose answers can be right or wrong, as they were sent: those of the training round, and those of gold and
attention items that come back with an explanation."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models.study import Item, Study
from annotation.models.work import Assignment, Participant


class TriedPage(models.Model):
    """One page about an item with right answers. Written once: a trigger refuses UPDATE and DELETE.

    In the ``training``, which belongs to no assignment, ``attempt`` counts the rounds and ``place`` the pages of a
    round, from 0; ``passed`` is set on the last page of a round. Among the tasks, ``attempt`` is 1 for the answers
    before an explanation and 2 for those after it, and ``place`` is the number of the step.
    """

    training = models.BooleanField()
    study = models.ForeignKey(Study, on_delete=models.PROTECT, db_index=False, related_name="tried_pages")
    participant = models.ForeignKey(Participant, on_delete=models.PROTECT, related_name="tried_pages")
    assignment = models.ForeignKey(
        Assignment, null=True, on_delete=models.PROTECT, db_index=False, related_name="tried_pages"
    )
    item = models.ForeignKey(Item, on_delete=models.PROTECT, db_index=False, related_name="tried_pages")
    attempt = models.PositiveSmallIntegerField()
    place = models.PositiveSmallIntegerField()
    answers = models.JSONField(help_text="By the name of the question. A question that was left out is null.")
    verdicts = models.JSONField(help_text="By the name of the question: whether the answer is right.")
    ratings = models.JSONField(help_text="The same answers as ratings store them, each with whether it is right.")
    order = models.JSONField(default=dict, help_text="Of a training page: what was shown in which order.")
    timing = models.JSONField(default=dict, help_text="Per question: when answered, how long, paste events.")
    passed = models.BooleanField(null=True)
    received_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["participant", "attempt", "place"],
                condition=Q(training=True),
                name="triedpage_training_once",
            ),
            models.UniqueConstraint(
                fields=["assignment", "attempt", "place", "item"],
                condition=Q(training=False),
                name="triedpage_step_once",
            ),
            models.CheckConstraint(
                condition=Q(training=True, assignment__isnull=True, attempt__gte=1)
                | Q(training=False, assignment__isnull=False, attempt__in=[1, 2], passed__isnull=True),
                name="triedpage_of_training_or_step",
            ),
        ]
        indexes = [models.Index(fields=["study", "id"], name="triedpage_export")]

    def __str__(self) -> str:
        return f"try {self.attempt}, page {self.place} of participant {self.participant_id}"
