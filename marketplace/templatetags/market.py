"""Formats amounts, times, durations and states for all pages of the marketplace."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from common import languages
from common.languages import marked, ngettext, number
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
#: The states of assignments and requests, which templates translate.
STATES = (
    marked("Accepted"),
    marked("Submitted"),
    marked("Approved"),
    marked("Rejected"),
    marked("Returned"),
    marked("Abandoned"),
    marked("Started"),
    marked("Pending"),
    marked("Granted"),
)
#: The scripts of the workers' site that have texts.
SCRIPTS = ("marketplace.js",)


@register.simple_tag
def script_words() -> SafeString:
    """The texts of this site's scripts in the language of the page, which `static/words.js` reads."""
    return languages.script_words(SCRIPTS)


@register.filter
def usd(amount: Decimal | None) -> str:
    """0.5 as $0.50; a dash for None."""
    if amount is None:
        return "–"
    return money.usd(amount) if languages.spoken_code() == languages.ENGLISH else languages.money(amount)


@register.filter
def span(seconds: int | None) -> str:
    """5400 as “1 hour 30 minutes”: the two largest units."""
    if seconds is None:
        return "–"
    minutes, left_seconds = divmod(int(seconds), 60)
    hours, left_minutes = divmod(minutes, 60)
    days, left_hours = divmod(hours, 24)
    parts = [
        (days, ngettext("%(count)s day", "%(count)s days", days)),
        (left_hours, ngettext("%(count)s hour", "%(count)s hours", left_hours)),
        (left_minutes, ngettext("%(count)s minute", "%(count)s minutes", left_minutes)),
        (left_seconds, ngettext("%(count)s second", "%(count)s seconds", left_seconds)),
    ]
    shown = [part for part in parts if part[0]][:2] or parts[-1:]
    return " ".join(text % {"count": number(count)} for count, text in shown)


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
    return languages.day(when)


@register.filter
def tone(state: str) -> str:
    """The CSS class of the badge for a state."""
    return _TONES.get(str(state), "")
