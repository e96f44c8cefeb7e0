"""What the API remembers: answers to writes that named a key, and long work that somebody asked for."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.platform_jobs import PlatformJob
from annotation.models.study import Study
from annotation.models.trail import BulkAction
from generation.models import GenerationRun


class ApiAnswer(models.Model):
    """The answer to a write with an ``Idempotency-Key``, stored in the transaction of the write itself.

    ``fingerprint`` identifies method, address and body. The same key with another one is refused.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, db_index=False, related_name="+")
    study = models.ForeignKey(Study, null=True, on_delete=models.SET_NULL, related_name="+")
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    headers = models.JSONField(default=dict)
    body = models.TextField(blank=True, help_text="JSON as it was sent, in the same order. Empty: no body.")
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="apianswer_once")]

    def __str__(self) -> str:
        return f"{self.status} for {self.key}"


class ApiJob(models.Model):
    """Long work that somebody asked for through the API, and where its progress is.

    A job about a platform or about many submissions points to the row of the console's own job. Others are done by the
    process whose name is in ``holder``, which renews ``seen_at``; after a long silence another process continues.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "Waiting for a worker process"
        RUNNING = "running", "In progress"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, db_index=False, related_name="+")
    study = models.ForeignKey(Study, null=True, on_delete=models.CASCADE, related_name="api_jobs")
    run = models.ForeignKey(GenerationRun, null=True, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20)
    platform_job = models.ForeignKey(PlatformJob, null=True, on_delete=models.SET_NULL, related_name="+")
    bulk = models.ForeignKey(BulkAction, null=True, on_delete=models.SET_NULL, related_name="+")
    params = models.JSONField(default=dict)
    result = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    holder = models.CharField(max_length=40, blank=True)
    n_done = models.PositiveIntegerField(default=0)
    n_total = models.PositiveIntegerField(default=0)
    message = models.TextField(blank=True, help_text="The result in words, or what went wrong.")
    fix = models.TextField(blank=True, help_text="What a person can do about it.")
    asked_at = models.DateTimeField()
    seen_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["user", "-id"], name="apijob_of_user"),
            models.Index(fields=["asked_at"], condition=Q(state__in=["queued", "running"]), name="apijob_open"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk} ({self.state})"
