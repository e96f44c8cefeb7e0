"""What people are told: messages to workers, and notifications of events to requesters' queues."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from marketplace.models.accounts import Requester, Worker
from marketplace.models.hits import HITType


class Message(models.Model):
    """To a worker, from a requester or from the marketplace itself."""

    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="messages")
    requester = models.ForeignKey(Requester, on_delete=models.SET_NULL, null=True, blank=True, related_name="messages")
    subject = models.CharField(max_length=200)
    text = models.TextField()
    created_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.subject


class NotificationSetting(models.Model):
    """Where a requester wants to hear of the events of a HIT type's HITs."""

    hit_type = models.OneToOneField(HITType, on_delete=models.CASCADE, related_name="notification_setting")
    destination = models.CharField(max_length=1024)
    transport = models.CharField(max_length=10)
    version = models.CharField(max_length=20)
    event_types = models.JSONField(default=list)
    active = models.BooleanField(default=True)
    updated_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.transport} {self.destination}"


class NotificationDelivery(models.Model):
    """One event on its way: written with the change it tells of, sent after that is committed.

    ``event``: EventType, EventTimestamp, HITTypeId, HITId, AssignmentId (the last one for assignment events).
    """

    setting = models.ForeignKey(NotificationSetting, on_delete=models.CASCADE, related_name="deliveries")
    event = models.JSONField()
    created_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)

    class Meta:
        verbose_name_plural = "notification deliveries"
        indexes = [models.Index(fields=["id"], condition=Q(delivered_at__isnull=True), name="market_delivery_due")]

    def __str__(self) -> str:
        return f"delivery {self.pk}"
