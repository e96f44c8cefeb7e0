"""Amounts, times and states as operators and requesters read them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from marketplace.models import LedgerAccount

register = template.Library()

_SUFFIXES = {"held": " (held)", "fees": " (fees)"}
_TONES = {
    "Assignable": "good",
    "Unassignable": "",
    "Reviewable": "accent",
    "Reviewing": "accent",
    "Disposed": "",
    "Accepted": "accent",
    "Submitted": "warn",
    "Approved": "good",
    "Rejected": "bad",
    "Granted": "good",
}


@register.filter
def money(amount: Decimal | None) -> str:
    """1234.5 as 1,234.50 with a real minus sign; a dash for none."""
    return "–" if amount is None else f"{amount:,.2f}".replace("-", "−")


@register.filter
def whose(account: LedgerAccount) -> str:
    """An account in words: whose it is, and what it is for."""
    if account.worker is not None:
        return account.worker.worker_id
    if account.requester is None:
        return "Outside"
    suffix = _SUFFIXES.get(account.kind, "")
    return f"{account.requester.name}{suffix}"


@register.filter
def moment(when: datetime | None) -> str | SafeString:
    """A point in time, in UTC as everywhere in this server's data."""
    if not when:  # none, or nobody whose moment it could be
        return "–"
    text = f"{when.astimezone(UTC):%Y-%m-%d %H:%M}"
    return format_html('<time datetime="{}" class="nowrap">{} UTC</time>', when.isoformat(), text)


@register.filter
def tone(state: str) -> str:
    """The class of the badge that a state is shown in."""
    return _TONES.get(str(state), "")


@register.filter
def spaced(name: str) -> str:
    """make_key as “make key”."""
    return str(name).replace("_", " ").replace("-", " ")


@register.filter
def in_words(detail: Mapping[str, Any] | None) -> str:
    """What a row of the log holds: “amount: 20.00 · note: first deposit”."""
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
    return "–" if share is None else f"{100 * share:.0f} %"
