"""A clock that tests move."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from marketplace import clock
from marketplace.models import ClockOffset


class Clock:
    def __init__(self) -> None:
        self.ahead = timedelta()

    def move(self, **span: float) -> datetime:
        self.ahead += timedelta(**span)
        clock.set_offset(self.ahead)
        return clock.now()


@pytest.fixture
def moving_clock(settings: pytest.FixtureRequest, db: None) -> Clock:
    settings.MARKETPLACE_TEST_CONTROLS = True  # type: ignore[attr-defined]
    assert not ClockOffset.objects.exists()
    return Clock()
