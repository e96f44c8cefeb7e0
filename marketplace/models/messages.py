"""Messages between requesters and workers, and event notifications to requesters' queues, topics and addresses."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from marketplace.ids import new_id
from marketplace.models.accounts import Requester, Worker
from marketplace.models.hits import HITType


class Message(models.Model):
    """A message to a worker, from a requester or the marketplace itself (no ``requester``); or a worker's reply to one.

    Addresses use ``message_id``, because a row's number would show how many messages there are.
    """

    message_id = models.CharField(max_length=64, unique=True, default=new_id)
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="messages")
    requester = models.ForeignKey(Requester, on_delete=models.SET_NULL, null=True, blank=True, related_name="messages")
    from_worker = models.BooleanField(default=False)
    reply_to = models.ForeignKey("self", on_delete=models.CASCADE, null=True, blank=True, related_name="replies")
    subject = models.CharField(max_length=200)
    text = models.TextField()
    created_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(from_worker=False) | Q(reply_to__isnull=False), name="message_from_worker_is_a_reply"
            )
        ]

    def __str__(self) -> str:
        return self.subject


class NotificationSetting(models.Model):
    """Where to send the events of a HIT type's HITs."""

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
    """One event to send: written in the same transaction as the change, and sent after the commit.

    ``event``: EventType, EventTimestamp, HITTypeId, HITId, AssignmentId (the last one for assignment events).
    ``given_up``: there are no more tries, and ``error`` has the reason. Test events have no ``setting``.
    """

    requester = models.ForeignKey(Requester, on_delete=models.CASCADE, related_name="notification_deliveries")
    setting = models.ForeignKey(
        NotificationSetting, on_delete=models.SET_NULL, null=True, blank=True, related_name="deliveries"
    )
    transport = models.CharField(max_length=10)
    destination = models.CharField(max_length=1024)
    event = models.JSONField()
    created_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)
    given_up = models.BooleanField(default=False)

    class Meta:
        verbose_name_plural = "notification deliveries"
        indexes = [
            models.Index(
                fields=["id"], condition=Q(delivered_at__isnull=True, given_up=False), name="market_delivery_due"
            )
        ]

    def __str__(self) -> str:
        return f"delivery {self.pk}"
