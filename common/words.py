"""Numbers, money and times in readable form, the same on pages, in reports and on the command line."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal


def counted(count: int, thing: str, plural: str = "") -> str:
    """``1 item``, ``2,000 items``. ``plural`` is only needed if `plural_of` would be wrong."""
    return f"{count:,} {thing if count == 1 else plural or plural_of(thing)}"


def plural_of(thing: str) -> str:
    """``items``, ``studies``, ``days``."""
    consonant_y = thing.endswith("y") and thing[-2:-1] not in ("a", "e", "o", "u")
    return f"{thing[:-1]}ies" if consonant_y else f"{thing}s"


def money(amount: Decimal) -> str:
    """US dollars with cents, and with tenths of a cent if needed: ``$0.18``, ``$1,120.00``, ``$0.056``."""
    rounded = amount.quantize(Decimal("0.001"), ROUND_HALF_UP)
    text = f"{abs(rounded):,.3f}"
    return f"{'−' if rounded < 0 else ''}${text[:-1] if text.endswith('0') else text}"


def duration(seconds: float) -> str:
    """``8.3 s``, ``1 min 35 s``, ``1 h 07 min``: one decimal below ten seconds, whole seconds below an hour."""
    if round(seconds, 1) < 10:
        return f"{seconds:.1f} s"
    minutes, rest_seconds = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest_seconds} s"
    if minutes < 60:
        return f"{minutes} min {rest_seconds:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def hours_in_words(hours: int) -> str:
    """``36 hours``, ``3 days``."""
    return counted(hours, "hour") if hours % 24 else counted(hours // 24, "day")


def moment_in_utc(when: datetime) -> str:
    """``22 Nov 2026, 05:31 UTC``."""
    return f"{when.astimezone(UTC):%-d %b %Y, %H:%M} UTC"


def rating_counts_in_words(every: int, included: int, by_people: int) -> str:
    """``140 in all, 135 included, 0 of these by people``: how the command line and the report count ratings."""
    return f"{every:,} in all, {included:,} included, {by_people:,} of these by people"
