"""Amounts, times and lengths of time as workers read them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()

_TONES = {"Accepted": "accent", "Submitted": "warn", "Approved": "good", "Rejected": "bad", "Granted": "good"}
_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


@register.filter
def usd(amount: Decimal | None) -> str:
    """0.5 as $0.50; a dash for none."""
    if amount is None:
        return "–"
    sign = "−" if amount < 0 else ""
    return f"{sign}${abs(amount):,.2f}"


@register.filter
def span(seconds: int | None) -> str:
    """5400 as “1 hour 30 minutes”: the two largest units, the rest left out."""
    if seconds is None:
        return "–"
    left, parts = int(seconds), []
    for size, name in _UNITS:
        number, left = divmod(left, size)
        if number:
            parts.append(f"{number} {name}{'' if number == 1 else 's'}")
    return " ".join(parts[:2]) or "0 seconds"


@register.filter
def moment(when: datetime | None) -> str | SafeString:
    """A point in time, in UTC as everywhere on this server."""
    if when is None:
        return "–"
    text = f"{when.astimezone(UTC):%-d %b %Y, %H:%M}"
    return format_html('<time datetime="{}" class="nowrap">{} UTC</time>', when.isoformat(), text)


@register.filter
def tone(state: str) -> str:
    """The class of the badge that a state is shown in."""
    return _TONES.get(str(state), "")
