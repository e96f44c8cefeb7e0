"""What the pages of operators and requesters need in addition to `market`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django import template

from marketplace.models import LedgerAccount
from marketplace.templatetags import market

register = template.Library()

_SUFFIXES = {"held": " (held)", "fees": " (fees)"}
for shared in (market.usd, market.moment, market.day, market.span, market.tone):
    register.filter(shared.__name__, shared)


@register.filter
def whose(account: LedgerAccount) -> str:
    """An account in words: its owner and its purpose."""
    if account.worker is not None:
        return account.worker.worker_id
    if account.requester is None:
        return "Outside"
    suffix = _SUFFIXES.get(account.kind, "")
    return f"{account.requester.name}{suffix}"


@register.filter
def spaced(name: str) -> str:
    """make_key as “make key”."""
    return str(name).replace("_", " ").replace("-", " ")


@register.filter
def in_words(detail: Mapping[str, Any] | None) -> str:
    """The details of a log row in words: “amount: 20.00 · note: first deposit”."""
    return " · ".join(f"{spaced(name)}: {_brief(value)}" for name, value in (detail or {}).items() if _brief(value))


def _brief(value: Any, most: int = 160) -> str:
    if value is None or value in ("", [], {}):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[: most - 1] + "…"


@register.filter
def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f}%"
