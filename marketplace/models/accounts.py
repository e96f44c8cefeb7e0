"""Who takes part: requesters and their keys, workers and how they sign in, and the log of who did what."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Requester(models.Model):
    """Someone who posts HITs. Everything they create is theirs alone: no other requester can see it."""

    name = models.CharField(max_length=150, unique=True)
    email = models.EmailField(blank=True)
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    user_made_here = models.BooleanField(
        default=False, help_text="The user was made for this requester alone, so an operator may renew its password."
    )
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class AccessKey(models.Model):
    """A key that signs a requester's calls. The secret is shown once and stored sealed with SECRET_KEY."""

    requester = models.ForeignKey(Requester, on_delete=models.CASCADE, related_name="access_keys")
    access_key_id = models.CharField(max_length=32, unique=True)
    secret_sealed = models.TextField()
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.access_key_id


class Worker(models.Model):
    """Someone who works on HITs."""

    worker_id = models.CharField(max_length=64, unique=True)
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    name = models.CharField(max_length=150, blank=True)
    payment_address = models.CharField(
        max_length=200, blank=True, help_text="Where to send the money, as they typed it. Requesters never see it."
    )
    country = models.CharField(max_length=2, blank=True, help_text="ISO 3166, capital letters.")
    subdivision = models.CharField(max_length=2, blank=True, help_text="ISO 3166-2 without the country.")
    joined_at = models.DateTimeField()
    active = models.BooleanField(default=True)

    def __str__(self) -> str:
        return self.worker_id


class Invitation(models.Model):
    """A link that lets one person become a worker, once."""

    token_hash = models.CharField(max_length=64, unique=True)
    email = models.EmailField(blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_by = models.OneToOneField(Worker, on_delete=models.SET_NULL, null=True, blank=True, related_name="invitation")
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"invitation {self.pk}"


class RequesterLink(models.Model):
    """A link that lets one person sign in for a requester, once: with a new user, or with a new password.

    The link sets a new password for ``user``; without a user, it creates the requester's user.
    """

    token_hash = models.CharField(max_length=64, unique=True)
    requester = models.ForeignKey(Requester, on_delete=models.CASCADE, related_name="links")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"link of requester {self.requester_id}"


class LoginLink(models.Model):
    """A link that signs a worker in, once."""

    token_hash = models.CharField(max_length=64, unique=True)
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="login_links")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"sign-in link {self.pk}"


class AuditRow(models.Model):
    """Who did what. Rows are only added: a trigger refuses UPDATE and DELETE.

    ``actor`` is a user's name; for an API call signed with ``access_key`` (the key's ID, never its secret), it is the
    requester's. ``about`` is the ID or the name of what was acted on.
    """

    class Kind(models.TextChoices):
        ACCESS = "access", "Requesters, users and keys"
        MONEY = "money", "Money"
        HITS = "hits", "HITs"
        WORK = "work", "Decisions on work"
        WORKERS = "workers", "Workers"
        QUALIFICATIONS = "qualifications", "Qualifications"
        OTHER = "other", "Other"

    at = models.DateTimeField()
    kind = models.CharField(max_length=14, choices=Kind.choices, default=Kind.OTHER)
    actor = models.CharField(max_length=150)
    access_key = models.CharField(max_length=32, blank=True)
    action = models.CharField(max_length=60)
    about = models.CharField(max_length=100, blank=True)
    detail = models.JSONField(default=dict)
    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        indexes = [
            models.Index(fields=["at"], name="market_audit_at"),
            models.Index(fields=["about"], name="market_audit_about"),
            models.Index(fields=["access_key"], name="market_audit_key"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%F %T} {self.actor}: {self.action} {self.about}"


class ClockOffset(models.Model):
    """How far tests have moved the clock; one row."""

    seconds = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.seconds} seconds ahead"
