"""Qualifications that workers earned or were granted, their requests, and the workers that a requester blocked."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from marketplace.models.accounts import Requester, Worker


class QualificationType(models.Model):
    """A kind of qualification. The built-in ones have no requester."""

    type_id = models.CharField(max_length=64, unique=True)
    requester = models.ForeignKey(
        Requester, on_delete=models.PROTECT, null=True, blank=True, related_name="qualification_types"
    )
    name = models.CharField(max_length=200)
    description = models.TextField()
    keywords = models.TextField(blank=True)
    status = models.CharField(max_length=8, choices=[("Active", "Active"), ("Inactive", "Inactive")])
    requestable = models.BooleanField(default=True)
    test = models.TextField(blank=True, help_text="QuestionForm.")
    answer_key = models.TextField(blank=True, help_text="AnswerKey.")
    test_duration = models.PositiveIntegerField(null=True, blank=True, help_text="Seconds.")
    retry_delay = models.PositiveIntegerField(null=True, blank=True, help_text="Seconds; none: one request only.")
    auto_granted = models.BooleanField(default=False)
    auto_value = models.IntegerField(default=1)
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["requester", "name"],
                condition=Q(deleted_at__isnull=True),
                name="qualification_type_name_once",
            ),
        ]

    def __str__(self) -> str:
        return self.type_id


class QualificationRequest(models.Model):
    """A worker's request for a qualification, with the answers to its test if it has one.

    Started (the test's time is running) → Pending → Granted | Rejected; a test that ran out of time is Abandoned.
    """

    class State(models.TextChoices):
        STARTED = "Started"
        PENDING = "Pending"
        GRANTED = "Granted"
        REJECTED = "Rejected"
        ABANDONED = "Abandoned"

    request_id = models.CharField(max_length=64, unique=True)
    type = models.ForeignKey(QualificationType, on_delete=models.PROTECT, related_name="requests")
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="qualification_requests")
    state = models.CharField(max_length=10, choices=State.choices)
    test = models.TextField(blank=True)
    answer = models.TextField(blank=True)
    started_at = models.DateTimeField()
    deadline = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["type", "worker"],
                condition=Q(state__in=["Started", "Pending"]),
                name="qualification_request_one_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.request_id} ({self.state})"


class Qualification(models.Model):
    """A worker's qualification of a type, granted or revoked."""

    class Status(models.TextChoices):
        GRANTED = "Granted"
        REVOKED = "Revoked"

    type = models.ForeignKey(QualificationType, on_delete=models.PROTECT, related_name="qualifications")
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="qualifications")
    value = models.IntegerField(null=True, blank=True)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.GRANTED)
    granted_at = models.DateTimeField()
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["type", "worker"], name="qualification_once")]

    def __str__(self) -> str:
        return f"{self.type_id} of worker {self.worker_id}"


class WorkerBlock(models.Model):
    """A worker who cannot work for a requester."""

    requester = models.ForeignKey(Requester, on_delete=models.CASCADE, db_index=False, related_name="blocks")
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="blocks")
    reason = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["requester", "worker"], name="worker_block_once")]

    def __str__(self) -> str:
        return f"block {self.pk}"
