"""The marketplace's time. Tests and rehearsals can move it forward when MARKETPLACE_TEST_CONTROLS is on."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from common.languages import moment


def now() -> datetime:
    """The time that decides deadlines, expiry and auto-approval. `set_offset` moves it, if that is allowed."""
    return timezone.now() + offset()


def offset() -> timedelta:
    """How far the clock is ahead of real time. It is stored in the database, so all processes agree."""
    if not controls_are_on():
        return timedelta()
    from marketplace.models import ClockOffset  # the models are loaded after this module

    seconds = ClockOffset.objects.filter(pk=1).values_list("seconds", flat=True).first()
    return timedelta(seconds=seconds or 0)


def set_offset(ahead: timedelta) -> None:
    """Set the clock this far ahead of real time."""
    if not controls_are_on():
        raise RuntimeError("The clock only moves when MARKETPLACE_TEST_CONTROLS is on.")
    from marketplace.models import ClockOffset

    ClockOffset.objects.update_or_create(pk=1, defaults={"seconds": int(ahead.total_seconds())})


def in_words(when: datetime) -> str:
    """The format that all pages use: 31 Jan 2026, 23:59 UTC, or that of the worker's language."""
    return moment(when)


def controls_are_on() -> bool:
    return bool(getattr(settings, "MARKETPLACE_TEST_CONTROLS", False))
