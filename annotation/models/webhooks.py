"""Webhooks: addresses of programs that are told what happens in a study, and every message to them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models.study import Study
from annotation.models.work import Submission


class Webhook(models.Model):
    """An address that gets a signed message for some events of a study.

    Nothing stores its secret, which is made of the server's secret key and ``nonce``. ``failing_since`` is the first
    try that failed after the last one that did not; ``mailed_at``: since then, the study's owners got mail about it.
    """

    class Event(models.TextChoices):
        LAUNCHED = "study.launched", "The study was launched"
        HALF_DONE = "study.half_done", "Half of the wanted submissions are in"
        DONE = "study.done", "All ratings are in"
        ARRIVED = "submission.arrived", "A submission arrived"
        REVIEW_NEEDED = "review.needed", "A submission needs a review"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="webhooks")
    address = models.CharField(max_length=500)
    events = models.JSONField(default=list)
    active = models.BooleanField(default=True)
    nonce = models.CharField(max_length=64)
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(auto_now_add=True)
    failing_since = models.DateTimeField(null=True, blank=True)
    mailed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.address


class WebhookDelivery(models.Model):
    """One message to one webhook. ``next_at`` is when to try again; while it is tried, when that is given up for lost.

    The same ``message_id`` never goes to the same webhook as a second message, only as another try.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        DELIVERED = "delivered", "Delivered"
        FAILED = "failed", "Failed"

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, db_index=False, related_name="deliveries")
    message_id = models.CharField(max_length=60)
    event = models.CharField(max_length=30)
    submission = models.ForeignKey(
        Submission, null=True, blank=True, on_delete=models.PROTECT, db_index=False, related_name="+"
    )
    data = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField()
    next_at = models.DateTimeField(null=True, blank=True)
    tried_at = models.DateTimeField(null=True, blank=True)
    status = models.PositiveSmallIntegerField(null=True, blank=True, help_text="The HTTP status of the last answer.")
    seconds = models.FloatField(null=True, blank=True)
    answer = models.CharField(max_length=200, blank=True, help_text="The first line of the answer, or what went wrong.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["webhook", "message_id"], name="webhook_message_once")]
        indexes = [
            models.Index(fields=["next_at"], condition=Q(next_at__isnull=False), name="webhook_delivery_due"),
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook_id}: {self.state}"
