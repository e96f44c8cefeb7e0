"""The marketplace's time. Tests and rehearsals may move it forward when MARKETPLACE_TEST_CONTROLS is on."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone


def now() -> datetime:
    """The moment that deadlines, expiry and auto-approval count from; moved by `set_offset` if that is allowed."""
    return timezone.now() + offset()


def offset() -> timedelta:
    """How far the clock is ahead of the real time. It is kept in the database, so that all processes agree."""
    if not controls_are_on():
        return timedelta()
    from marketplace.models import ClockOffset  # models are not there yet when settings and clock are first read

    seconds = ClockOffset.objects.filter(pk=1).values_list("seconds", flat=True).first()
    return timedelta(seconds=seconds or 0)


def set_offset(ahead: timedelta) -> None:
    """Move the clock to this far ahead of the real time."""
    if not controls_are_on():
        raise RuntimeError("The clock only moves when MARKETPLACE_TEST_CONTROLS is on.")
    from marketplace.models import ClockOffset

    ClockOffset.objects.update_or_create(pk=1, defaults={"seconds": int(ahead.total_seconds())})


def controls_are_on() -> bool:
    return bool(getattr(settings, "MARKETPLACE_TEST_CONTROLS", False))
