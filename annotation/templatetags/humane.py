"""Figures and times as people read them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

register = template.Library()


@register.filter
def thousands(value: float | Decimal | None) -> str:
    """12345 as 12,345; nothing for nothing."""
    return "" if value is None else f"{value:,}"


@register.filter
def figure(value: float | None, digits: int = 2) -> str:
    """A mean or a deviation, with a real minus sign; a dash for none."""
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")


@register.filter
def duration(seconds: float | None) -> str:
    """8.25 as 8.3 s, 95 as 1 min 35 s, 4000 as 1 h 07 min; a dash for none."""
    if seconds is None:
        return "–"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


@register.filter
def ago(moment: datetime | None) -> str | SafeString:
    """How long ago, with the exact time in UTC for whoever hovers or listens."""
    if moment is None:
        return "never"
    past = timezone.now() - moment
    text = "just now" if past.total_seconds() < 60 else f"{timesince(moment, depth=1)} ago"
    return format_html('<time datetime="{}" title="{} UTC">{}</time>', moment.isoformat(), _utc(moment), text)


@register.filter
def moment(when: datetime | None) -> str | SafeString:
    """A point in time, in UTC as everywhere in this server's data."""
    if when is None:
        return "–"
    return format_html('<time datetime="{}">{} UTC</time>', when.isoformat(), _utc(when))


def _utc(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M}"


@register.filter
def compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@register.filter
def lookup(mapping: Any, key: Any) -> Any:
    """``mapping[key]`` where the key is a variable; nothing where there is none."""
    return mapping.get(key, "")


@register.filter
def spaced_words(name: str) -> str:
    """own_response as “own response”."""
    return str(name).replace("_", " ").replace(".", ": ")


@register.filter
def points(value: float) -> str:
    """A point of a scale as forms write it: 3 for 3.0, 3.5 for 3.5."""
    return f"{value:g}"


@register.filter
def in_words(detail: Mapping[str, Any]) -> str:
    """What an entry of the activity holds: “file: replies.csv · rows: 200”, “role: viewer → editor”."""
    parts = [f"{spaced_words(name)}: {_brief(value)}" for name, value in detail.items() if name not in ("old", "new")]
    if "old" in detail and "new" in detail:
        parts.append(_change(detail))
    return " · ".join(part for part in parts if not part.endswith(": "))


def _change(change: Mapping[str, Any]) -> str:
    old, new = _brief(change["old"]), _brief(change["new"])
    return f"{old or 'none'} → {new or 'none'}"


def _brief(value: Any, most: int = 160) -> str:
    """A value in a few words; nothing for what says nothing."""
    if value is None or value == "" or value == [] or value == {}:
        return ""
    if isinstance(value, dict):
        if set(value) == {"old", "new"}:
            return _change(value)
        text = ", ".join(f"{spaced_words(name)} {_brief(inner, 60)}" for name, inner in value.items() if _brief(inner))
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[: most - 1] + "…"


@register.filter
def pairs(mapping: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Names and values. Templates cannot say ``.items`` of a mapping that may hold a name “items”."""
    return list(mapping.items())


@register.filter
def usd(amount: Decimal) -> str:
    """US dollars with cents, and a tenth of a cent where there is one."""
    text = f"{amount:,.3f}"
    return f"{text[:-1] if text.endswith('0') else text} USD"
