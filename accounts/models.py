"""Sessions, second factors, identities at a provider, invitations, API tokens, teams and the server's log."""

from __future__ import annotations

import hashlib
from importlib import import_module
from typing import ClassVar

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.base_session import AbstractBaseSession, BaseSessionManager
from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone


def slug_validator(example: str) -> RegexValidator:
    """Refuses names that do not fit into an address."""
    what = f"Use lower-case letters, digits and single hyphens inside, such as {example}."
    return RegexValidator(r"^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$", what)


def only_read() -> list[str]:
    """The scopes of a token for which nobody chose any."""
    return [ApiToken.Scope.READ.value]


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
    """A key that lets a program use the API as its user. The token itself is shown once and never stored.

    ``scopes`` limits what the program may do. Whatever they are, it can do no more than its user.
    """

    class Scope(models.TextChoices):
        READ = "read", "Read studies, their ratings and reports"
        COLLECT = "collect", "Change studies and work on submissions"
        PAY = "pay", "Spend money and decide what is paid"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    token_hash = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=only_read, help_text="A list of what the token may do.")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Empty: never.")
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    made_with = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="made_tokens",
        help_text="The token with which a program made this one. Empty: its user made it in a browser.",
    )

    def __str__(self) -> str:
        return self.name

    @property
    def expired(self) -> bool:
        """Whether its time is over."""
        return self.expires_at is not None and self.expires_at <= timezone.now()

    def allows(self, scope: str) -> bool:
        """Whether the token has this scope. The user's role in a study can still forbid it there."""
        return scope in self.scopes


class MemberRole(models.TextChoices):
    """A role in a team or a study, from the fewest rights to the most.

    ``annotation.access`` has the table of what each may do there.
    """

    VIEWER = "viewer", "Viewer"
    PAYER = "payer", "Payer"
    EDITOR = "editor", "Editor"
    OWNER = "owner", "Owner"


class Team(models.Model):
    """Users who share studies and what pays for them."""

    name = models.CharField(max_length=80, unique=True)
    slug = models.CharField(max_length=60, unique=True, validators=[slug_validator("writing-lab")])
    created_at = models.DateTimeField(auto_now_add=True)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, through="TeamMember", related_name="teams")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class TeamMember(models.Model):
    """A user's role in a team, and so in all its studies."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, db_index=False, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="team_memberships")
    role = models.CharField(max_length=10, choices=MemberRole.choices)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="team_member_once")]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.team}"


class SecondFactor(models.Model):
    """An app whose codes a user shows besides their password. Its secret is sealed and bound to its user."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="second_factors")
    name = models.CharField(max_length=80)
    sealed = models.TextField(help_text="The secret, sealed.")
    last_step = models.BigIntegerField(help_text="The time step of the last code: none works twice.")
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class RecoveryCode(models.Model):
    """A code that replaces a lost second factor once. Only its hash is stored."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="recovery_codes")
    code_hash = models.CharField(max_length=64)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "code_hash"], name="recovery_code_once")]


class Identity(models.Model):
    """Who a user is at a provider of single sign-on: its issuer, and the subject by which it knows them."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    email = models.CharField(max_length=254, blank=True, help_text="At the last sign-in, if the provider verified it.")
    made_administrator = models.BooleanField(default=False, help_text="By the provider's group of administrators.")
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="identity_once")]

    def __str__(self) -> str:
        return f"{self.subject} at {self.issuer}"


class AccessLink(models.Model):
    """A link that works once: an invitation to the console or, with a ``user``, a way in for this user.

    Only the hash of what makes it secret is stored.
    """

    token_hash = models.CharField(max_length=64, unique=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="access_links"
    )
    email = models.EmailField(blank=True)
    administrator = models.BooleanField(default=False)
    team = models.ForeignKey("Team", on_delete=models.CASCADE, null=True, blank=True, related_name="access_links")
    team_role = models.CharField(max_length=10, choices=MemberRole.choices, blank=True)
    made_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.email or f"link {self.pk}"


class LogEntry(models.Model):
    """What happened on this server outside a single study. Triggers refuse UPDATE and DELETE.

    ``actor`` is a user's name or the command that acted, ``about`` the user, model, run or study that changed.
    """

    class Kind(models.TextChoices):
        SIGN_INS = "sign-ins", "Sign-ins"
        USERS = "users", "Users"
        TEAMS = "teams", "Teams"
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
