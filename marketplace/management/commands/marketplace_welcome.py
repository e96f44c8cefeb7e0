"""``manage.py marketplace_welcome``: where the marketplace is and what to do next, for whoever has just started it."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand
from django.db.models import Q
from django.urls import reverse

from marketplace.access import OPERATORS

DEFAULT_PORT = 8000
#: What a command in another terminal has to be started with as well, to be about the same marketplace.
NEEDED = ("HITSERVER_ENV", "HITSERVER_VAR", "HITSERVER_SECRET_KEY", "HITSERVER_BASE_URL", "DATABASE_URL")


class Command(BaseCommand):
    help = "Say where the marketplace is and what to do next."

    def handle(self, *args: Any, **options: Any) -> None:
        base = settings.BASE_URL
        self.stdout.write(f"Workers:                  {base}{reverse('market_home')}")
        self.stdout.write(f"Operators and requesters: {base}{reverse('operate_home')}")
        self.stdout.write(
            f"Programs (endpoint_url):  {base}{reverse('market_api')}  region {settings.MARKETPLACE_REGION}"
        )
        if not self._is_run_by_somebody():
            self.stdout.write(f"Nobody runs this marketplace yet. {self._how()}")
            self.stdout.write(f"    {command()}")
            self.stdout.write("It prints a password to sign in with. What comes next is in docs/marketplace.md.")

    def _is_run_by_somebody(self) -> bool:
        may = Q(is_superuser=True) | Q(groups__name=OPERATORS)
        return User.objects.filter(may, is_active=True).exists()

    def _how(self) -> str:
        also = [name for name in NEEDED if os.environ.get(name)]
        same = f" with the same {' and '.join(also)}" if also else ""
        return f"Make yourself its operator: in another terminal{same},"


def command() -> str:
    """As it is typed in any folder. The port decides what addresses the commands print."""
    port = (
        f"HITSERVER_PORT={settings.PORT} " if settings.PORT != 8000 and not os.environ.get("HITSERVER_BASE_URL") else ""
    )
    root = settings.BASE_DIR
    return f"{port}{root}/.venv/bin/python {root}/manage.py marketplace make-operator YOUR-NAME"
