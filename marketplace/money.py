"""Amounts in dollars (Decimal, in whole cents), and the marketplace's fees on top of them."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

from django.conf import settings

CENT = Decimal("0.01")
ZERO = Decimal("0.00")
MANY = 10  # a HIT with this many assignments or more has a higher fee
_AMOUNT = re.compile(r"\d{1,9}(\.\d{0,2})?", re.ASCII)


def amount(text: str) -> Decimal:
    """The amount written as "0.05", "5" or "5.". Raises ValueError for anything else."""
    if not _AMOUNT.fullmatch(text):
        raise ValueError("Write an amount in dollars, such as 0.05, with at most two decimals.")
    return Decimal(text).quantize(CENT)


def usd(amount: Decimal) -> str:
    """The amount for people to read: $1,234.50, with a real minus sign."""
    sign = "−" if amount < 0 else ""
    return f"{sign}${abs(amount):,.2f}"


def cents(value: Decimal | int | str) -> Decimal:
    """The value rounded to whole cents, halves up."""
    return Decimal(value).quantize(CENT, rounding=ROUND_HALF_UP)


def assignment_fee(reward: Decimal, *, max_assignments: int, masters: bool = False) -> Decimal:
    """The fee for one assignment of a HIT that was created with ``max_assignments``."""
    percent = _percent("MARKETPLACE_FEE_PERCENT", 20)
    if max_assignments >= MANY:
        percent = _percent("MARKETPLACE_FEE_PERCENT_MANY", 40)
    if masters:
        percent += _percent("MARKETPLACE_FEE_PERCENT_MASTERS", 5)
    return _fee(reward, percent)


def fee_rises_at_many() -> bool:
    """Whether HITs with ten or more assignments have a higher fee than others."""
    return _percent("MARKETPLACE_FEE_PERCENT_MANY", 40) > _percent("MARKETPLACE_FEE_PERCENT", 20)


def bonus_fee(bonus: Decimal) -> Decimal:
    return _fee(bonus, _percent("MARKETPLACE_FEE_PERCENT", 20))


def _fee(value: Decimal, percent: Decimal) -> Decimal:
    if not percent:
        return ZERO  # without fees there is no minimum fee either
    return max(cents(value * percent / 100), CENT)


def _percent(setting: str, default: int) -> Decimal:
    return Decimal(str(getattr(settings, setting, default)))
