"""Sessions, API tokens and the server's log."""

from __future__ import annotations

import hashlib
from importlib import import_module
from typing import ClassVar

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.base_session import AbstractBaseSession, BaseSessionManager
from django.db import models


class Session(AbstractBaseSession):
    """A browser's session, linked to its user, so that users can see and end their sessions.

    ``session_store`` writes it. ``entrance`` is where the user signed in: the console, the operators' site or the
    workers' site.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="sessions")
    created_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    entrance = models.CharField(max_length=20, blank=True)
    address = models.CharField(max_length=60, blank=True)
    device = models.CharField(max_length=200, blank=True, help_text="What the browser calls itself.")

    objects: ClassVar[BaseSessionManager[Session]]

    class Meta(AbstractBaseSession.Meta):
        abstract = False

    @property
    def handle(self) -> str:
        """The name of this session on pages. It does not reveal the key: anyone who has the key is signed in."""
        return hashlib.sha256(self.session_key.encode()).hexdigest()[:16]

    @classmethod
    def get_session_store_class(cls) -> type[SessionBase]:
        store: type[SessionBase] = import_module(settings.SESSION_ENGINE).SessionStore
        return store


class ApiToken(models.Model):
    """A key that lets a program read the JSON API as its user. The token itself is shown once and never stored."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class LogEntry(models.Model):
    """What happened on this server outside a single study. Triggers refuse UPDATE and DELETE.

    ``actor`` is a user's name or the command that acted, ``about`` the user, model, run or study that changed.
    """

    class Kind(models.TextChoices):
        SIGN_INS = "sign-ins", "Sign-ins"
        USERS = "users", "Users"
        STUDIES = "studies", "Studies"
        MODELS = "models", "Models"
        RUNS = "runs", "Generation runs"

    at = models.DateTimeField()
    kind = models.CharField(max_length=10, choices=Kind.choices)
    actor = models.CharField(max_length=150, blank=True)
    action = models.CharField(max_length=60)
    about = models.CharField(max_length=150, blank=True)
    address = models.CharField(max_length=60, blank=True)
    detail = models.JSONField(default=dict)

    class Meta:
        indexes = (models.Index(fields=["kind", "-at"], name="accounts_log_kind"),)

    def __str__(self) -> str:
        return f"{self.at:%F %T} {self.actor}: {self.action} {self.about}"
