"""Asking before a command spends money."""

from __future__ import annotations

import sys
from decimal import Decimal

from django.conf import settings
from django.core.management.base import CommandError

from common.words import money

#: The help of ``--yes``.
YES = "do not ask before spending money"


def ask_before_spending(amount: Decimal, *, yes: bool) -> None:
    """Ask whether to spend more than HITSERVER_CONFIRM_ABOVE. Raises CommandError if the answer is no.

    A script has nobody to ask: it needs ``--yes``.
    """
    if yes or amount <= settings.CONFIRM_ABOVE:
        return
    if not sys.stdin.isatty():
        raise CommandError(f"This can cost {money(amount)} with fees. Nothing was done. To agree, add --yes.")
    answer = input(f"This can cost {money(amount)} with fees. Type yes to continue: ")
    if answer.strip().lower() not in ("y", "yes"):
        raise CommandError("Nothing was done.")
