"""What the server does on a platform in the background, and what it pays workers there outside their hit."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models.study import Study
from annotation.models.work import Assignment
from common.words import money


class PlatformJob(models.Model):
    """One kind of work on a study's platform: the latest request for it, and what became of it.

    The row is also the lock: only the process whose name is in ``holder`` does the work, and it renews ``seen_at``.
    """

    class Kind(models.TextChoices):
        PUBLISH = "publish", "Publish"
        SYNC = "sync", "Sync"
        POLL = "poll", "Sync by command"
        EXTEND = "extend", "Extend"
        ADD = "add", "Offer lost places again"
        PAUSE = "pause", "Pause"
        RESUME = "resume", "Resume"
        END = "end", "End"
        DELETE = "delete", "Delete on the platform"

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting for a worker process"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Stopped"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, db_index=False, related_name="platform_jobs")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    platform = models.CharField(max_length=20)
    params = models.JSONField(default=dict)
    actor = models.CharField(max_length=150)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    holder = models.CharField(max_length=40, blank=True)
    n_done = models.PositiveIntegerField(default=0)
    n_total = models.PositiveIntegerField(default=0)
    said = models.TextField(blank=True, help_text="The result in words, or what went wrong.")
    fix = models.TextField(blank=True, help_text="What a person can do about it.")
    asked_at = models.DateTimeField()
    seen_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "kind"], name="platformjob_once")]
        indexes = [
            models.Index(fields=["asked_at"], condition=Q(state__in=["waiting", "running"]), name="platformjob_open")
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.study_id} ({self.state})"


class Compensation(models.Model):
    """A payment for work that the platform cannot pay in the usual way: through a separate HIT, or as a bonus.

    There is at most one per assignment. Its rows of ``PlatformCall`` show how far it has come; ``external_id`` is the
    HIT or the bonus that pays.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="compensations")
    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT, related_name="compensation")
    platform = models.CharField(max_length=20)
    worker_id = models.CharField(max_length=200, help_text="The platform's id of the worker.")
    amount = models.DecimalField(max_digits=8, decimal_places=2, help_text="USD.")
    reason = models.TextField(help_text="As the worker reads it.")
    actor = models.CharField(max_length=150)
    external_id = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()
    offered_at = models.DateTimeField(null=True, blank=True)
    paid_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="compensation_pays"),
            models.CheckConstraint(
                condition=Q(paid_at__isnull=True) | ~Q(external_id=""), name="compensation_paid_by_a_hit"
            ),
        ]

    def __str__(self) -> str:
        return f"compensation of {money(self.amount)} ({self.external_id or 'not offered yet'})"
