"""Budgets and prices as they are written: read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

MOST_USD, MOST_TOKENS = Decimal(10_000_000), 10**13
KEYS = ("usd", "tokens")


def read_budget(value: Any) -> dict[str, Any]:
    """A budget as it is stored; empty for none. Raises ValueError that says what is wrong."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not value or set(value) - set(KEYS):
        raise ValueError("Write {usd: 20}, {tokens: 5000000}, or both.")
    budget: dict[str, Any] = {}
    if "tokens" in value:
        tokens = value["tokens"]
        if isinstance(tokens, bool) or not isinstance(tokens, int) or not 1 <= tokens <= MOST_TOKENS:
            raise ValueError(f"Write tokens as a whole number from 1 to {MOST_TOKENS:,}.")
        budget["tokens"] = tokens
    if "usd" in value:
        budget["usd"] = str(read_usd(value["usd"], most=MOST_USD))
    return budget


def read_usd(value: Any, *, most: Decimal) -> Decimal:
    """An amount of money. Raises ValueError."""
    try:
        usd = Decimal(str(value)) if not isinstance(value, bool) else Decimal(0)
    except InvalidOperation:
        usd = Decimal(0)
    if not usd.is_finite() or not 0 < usd <= most or usd != round(usd, 4):
        raise ValueError(f"Write an amount of US dollars above 0 and at most {most:,}, such as 20 or 0.15.")
    return usd
