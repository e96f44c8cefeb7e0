"""Accounts on platforms that users and teams enter, with their keys sealed. The server's own account has no row."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.models import Team
from annotation.models.study import SLUG


class PlatformAccount(models.Model):
    """Pays for studies on a platform. It belongs to one user or to one team.

    ``sealed`` has the keys as `platforms.account_keys` seals them. They are bound to ``seal_id``, the owner, the
    platform and the endpoint, so a key is never sent to an address for which nobody entered it.
    """

    slug = models.CharField(max_length=60, unique=True, validators=[SLUG])
    title = models.CharField(max_length=80)
    platform = models.CharField(max_length=20)
    endpoint = models.URLField(max_length=300, help_text="Where calls go.")
    region = models.CharField(max_length=40, blank=True, help_text="MTurk: the region that requests are signed for.")
    project = models.CharField(max_length=40, blank=True, help_text="Prolific: the project of studies that name none.")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="platform_accounts",
    )
    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.PROTECT, related_name="platform_accounts")
    seal_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    sealed = models.TextField()
    last_four = models.CharField(max_length=4, help_text="The end of the key, by which people recognise it.")
    hears = models.BooleanField(default=False, help_text="It has a secret for notices, so it need not be polled.")
    keys_at = models.DateTimeField(help_text="When the keys were entered.")
    checked_at = models.DateTimeField(null=True, blank=True, help_text="When the platform last accepted the keys.")
    balance = models.DecimalField(
        max_digits=12, decimal_places=2, null=True, blank=True, help_text="USD at that moment; empty: not reported."
    )
    trouble = models.TextField(blank=True, help_text="Why the latest check failed; empty: it did not.")
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=False, team__isnull=True) | Q(user__isnull=True, team__isnull=False),
                name="platformaccount_one_owner",
            ),
            models.CheckConstraint(condition=~Q(sealed=""), name="platformaccount_has_keys"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def owner_name(self) -> str:
        """The user or the team, for people."""
        if self.team is not None:
            return f"the team {self.team.name}"
        return self.user.get_username() if self.user is not None else ""
