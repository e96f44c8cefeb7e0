"""``manage.py marketplace_welcome``: prints the addresses and the next step, in the terminal that started the site."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandParser
from django.db.models import Q
from django.urls import reverse

from marketplace.access import OPERATORS

#: A command in another terminal also needs these, to reach the same marketplace.
NEEDED = ("HITSERVER_ENV", "HITSERVER_VAR", "HITSERVER_SECRET_KEY", "HITSERVER_BASE_URL", "DATABASE_URL")


class Command(BaseCommand):
    help = "Print the addresses of the marketplace and the next step."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--addresses", action="store_true", help="only the addresses")

    def handle(self, *args: Any, addresses: bool, **options: Any) -> None:
        base = settings.BASE_URL
        self.stdout.write(f"Workers:                  {base}{reverse('market_home')}")
        self.stdout.write(f"Operators and requesters: {base}{reverse('operate_home')}")
        self.stdout.write(
            f"Programs (endpoint_url):  {base}{reverse('market_api')}  region {settings.MARKETPLACE_REGION}"
        )
        may_operate = Q(is_superuser=True) | Q(groups__name=OPERATORS)
        if addresses or User.objects.filter(may_operate, is_active=True).exists():
            return
        needed = [name for name in NEEDED if os.environ.get(name)]
        same = f", with the same {' and '.join(needed)}" if needed else ""
        self.stdout.write(f"This marketplace has no operator yet. Create one in another terminal{same}:")
        self.stdout.write(f"    {command()}")
        self.stdout.write("It prints a password to sign in with. docs/marketplace.md has the next steps.")


def command() -> str:
    """The command to type; it works in any folder."""
    root = settings.BASE_DIR
    return f"{root}/.venv/bin/python {root}/manage.py marketplace make-operator YOUR-NAME"
