"""Figures and times in readable form."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from annotation import languages
from common import words

register = template.Library()


@register.filter
def thousands(value: float | Decimal | None) -> str:
    """12345 as 12,345; empty for None."""
    return "" if value is None else languages.number(value)


@register.filter
def figure(value: float | None, digits: int = 2) -> str:
    """A mean or a deviation, with a real minus sign; a dash for none."""
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")


@register.filter
def mid_sentence(name: str) -> str:
    """A name inside a sentence: “the panel” for “The panel”."""
    return f"the {name[4:]}" if name.startswith("The ") else name


@register.simple_tag
def script_words(own: Sequence[str] = ()) -> SafeString:
    """What `static/words.js` needs on a worker's page that is not in English. ``own``: scripts of this page alone."""
    return languages.script_words(own)


@register.filter
def percent(share: float) -> str:
    """0.427 as 43%."""
    return f"{share:.0%}"


@register.filter
def duration(seconds: float | None) -> str:
    """8.25 as 8.3 s, 95 as 1 min 35 s, 4000 as 1 h 07 min; a dash for none."""
    return "–" if seconds is None else words.duration(seconds)


@register.filter
def ago(moment: datetime | None) -> str | SafeString:
    """How long ago, with the exact time for people who point at it or use a screen reader."""
    if moment is None:
        return "never"
    past = timezone.now() - moment
    text = "just now" if past.total_seconds() < 60 else f"{timesince(moment, depth=1)} ago"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', moment.isoformat(), words.moment_in_utc(moment), text
    )


@register.filter
def moment(when: datetime | None) -> str | SafeString:
    """A point in time, in UTC; a script shows it in the reader's own time zone and keeps UTC in the title."""
    return _local(when, "minute", languages.moment)


@register.filter
def day(when: datetime | None) -> str | SafeString:
    """The day of a point in time."""
    return _local(when, "day", lambda moment: f"{moment.astimezone(UTC):%-d %b %Y}")


@register.filter
def hour(when: datetime | None) -> str | SafeString:
    """The day and hour of a point in time, for the axis of a chart."""
    return _local(when, "hour", lambda moment: f"{moment.astimezone(UTC):%-d %b %H:%M}")


def _local(when: datetime | None, show: str, in_words: Callable[[datetime], str]) -> str | SafeString:
    if when is None:
        return "–"
    return format_html(
        '<time datetime="{}" title="{}" data-local="{}">{}</time>',
        when.isoformat(),
        words.moment_in_utc(when),
        show,
        in_words(when),
    )


@register.filter
def compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@register.filter
def lookup(mapping: Any, key: Any) -> Any:
    """``mapping[key]`` for a variable key; empty if it is missing."""
    return mapping.get(key, "")


@register.filter
def spaced_words(name: str) -> str:
    """own_response as “own response”."""
    return str(name).replace("_", " ").replace(".", ": ")


@register.filter
def points(value: float) -> str:
    """A point of a scale as in forms: 3 for 3.0, 3.5 for 3.5."""
    return f"{value:g}"


@register.filter
def in_words(detail: Mapping[str, Any]) -> str:
    """The details of an activity entry: “file: replies.csv · rows: 200”, “role: viewer → editor”."""
    parts = [f"{spaced_words(name)}: {_brief(value)}" for name, value in detail.items() if name not in ("old", "new")]
    if "old" in detail and "new" in detail:
        parts.append(_change(detail))
    return " · ".join(part for part in parts if not part.endswith(": "))


def _change(change: Mapping[str, Any]) -> str:
    old, new = _brief(change["old"]), _brief(change["new"])
    return f"{old or 'none'} → {new or 'none'}"


def _brief(value: Any, most: int = 160) -> str:
    """A value in a few words; empty if it has no content."""
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
    """Names and values. Templates cannot use ``.items`` on a mapping that may contain the name “items”."""
    return list(mapping.items())


@register.filter
def usd(amount: Decimal) -> str:
    """$0.18, $1,120.00, $0.056."""
    return languages.money(amount)


@register.filter
def plural(thing: str) -> str:
    """``HITs``, ``studies``."""
    return words.plural_of(thing)


@register.filter
def count_of(count: int, thing: str) -> str:
    """``{{ 1|count_of:"item" }}`` is 1 item; a plural that is not just an s follows a comma: ``"reply,replies"``."""
    one, _, several = thing.partition(",")
    return words.counted(count, one, several)
