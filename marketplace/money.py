"""Amounts in dollars: Decimal, whole cents. And what the marketplace takes on top of them."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

from django.conf import settings

CENT = Decimal("0.01")
ZERO = Decimal("0.00")
MANY = 10  # assignments, from which on a HIT costs more
_AMOUNT = re.compile(r"\d{1,9}(\.\d{0,2})?", re.ASCII)


def amount(text: str) -> Decimal:
    """The amount written as "0.05", "5" or "5.". Raises ValueError for anything else."""
    if not _AMOUNT.fullmatch(text):
        raise ValueError("An amount is written in dollars, such as 0.05, with at most two decimals.")
    return Decimal(text).quantize(CENT)


def cents(value: Decimal | int | str) -> Decimal:
    """Rounded to whole cents, halves up."""
    return Decimal(value).quantize(CENT, rounding=ROUND_HALF_UP)


def assignment_fee(reward: Decimal, *, max_assignments: int, masters: bool = False) -> Decimal:
    """The fee for one assignment of a HIT that was made with so many."""
    percent = _percent("MARKETPLACE_FEE_PERCENT", 20)
    if max_assignments >= MANY:
        percent = _percent("MARKETPLACE_FEE_PERCENT_MANY", 40)
    if masters:
        percent += _percent("MARKETPLACE_FEE_PERCENT_MASTERS", 5)
    return _fee(reward, percent)


def bonus_fee(bonus: Decimal) -> Decimal:
    return _fee(bonus, _percent("MARKETPLACE_FEE_PERCENT", 20))


def _fee(value: Decimal, percent: Decimal) -> Decimal:
    if not percent:
        return ZERO  # a lab that takes no fees takes no least fee either
    return max(cents(value * percent / 100), CENT)


def _percent(setting: str, default: int) -> Decimal:
    return Decimal(str(getattr(settings, setting, default)))
