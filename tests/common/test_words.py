"""Times in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from common.words import moment_in_utc


def test_a_moment_is_written_in_utc() -> None:
    assert moment_in_utc(datetime(2026, 5, 4, 5, 31, tzinfo=UTC)) == "4 May 2026, 05:31 UTC"
    assert moment_in_utc(datetime(2026, 1, 1, 1, 0, tzinfo=timezone(timedelta(hours=2)))) == "31 Dec 2025, 23:00 UTC"
