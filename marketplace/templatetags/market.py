"""Formats amounts, times, durations and states for all pages of the marketplace."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from marketplace import clock, money

register = template.Library()

_TONES = {
    "Assignable": "good",
    "Reviewable": "accent",
    "Reviewing": "accent",
    "Accepted": "accent",
    "Submitted": "warn",
    "Approved": "good",
    "Rejected": "bad",
    "Granted": "good",
}
_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


@register.filter
def usd(amount: Decimal | None) -> str:
    """0.5 as $0.50; a dash for None."""
    return "–" if amount is None else money.usd(amount)


@register.filter
def span(seconds: int | None) -> str:
    """5400 as “1 hour 30 minutes”: the two largest units."""
    if seconds is None:
        return "–"
    remaining, parts = int(seconds), []
    for size, name in _UNITS:
        number, remaining = divmod(remaining, size)
        if number:
            parts.append(f"{number} {name}{'' if number == 1 else 's'}")
    return " ".join(parts[:2]) or "0 seconds"


@register.filter
def moment(when: datetime | None) -> str | SafeString:
    """A point in time, in UTC. On the workers' pages, a script converts it to their local time."""
    if not when:
        return "–"
    return format_html('<time datetime="{}" class="nowrap">{}</time>', when.isoformat(), clock.in_words(when))


@register.filter
def day(when: date | None) -> str:
    """The day of a point in time, in UTC."""
    if not when:
        return "–"
    return f"{when.astimezone(UTC) if isinstance(when, datetime) else when:%-d %b %Y}"


@register.filter
def tone(state: str) -> str:
    """The CSS class of the badge for a state."""
    return _TONES.get(str(state), "")
