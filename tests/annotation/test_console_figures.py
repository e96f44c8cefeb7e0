"""How figures, times and the entries of the activity page are worded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from annotation.templatetags.humane import duration, figure, in_words, moment, points, thousands, usd
from annotation.views.console.charts import HEIGHT, WIDTH, hourly_bars


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0, "0.0 s"),
        (8.25, "8.2 s"),
        (9.99, "10 s"),
        (59.6, "1 min 00 s"),
        (95, "1 min 35 s"),
        (4020, "1 h 07 min"),
    ],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_figures() -> None:
    assert figure(-1.005) == "−1.00"
    assert figure(None) == "–"
    assert figure(3, 1) == "3.0"
    assert (points(3.0), points(3.5)) == ("3", "3.5")
    assert (thousands(12345), thousands(None)) == ("12,345", "")
    assert [usd(Decimal(amount)) for amount in ("0.18", "0.056", "1234.5")] == ["$0.18", "$0.056", "$1,234.50"]


def test_times_are_shown_in_utc() -> None:
    there = datetime(2026, 5, 1, 1, 30, tzinfo=UTC).astimezone()
    assert "1 May 2026, 01:30 UTC" in moment(there)


@pytest.mark.parametrize(
    ("detail", "text"),
    [
        ({"user": "eve", "old": None, "new": "viewer"}, "user: eve · none → viewer"),
        ({"old": "live", "new": "paused"}, "live → paused"),
        ({"items": 200, "texts": [], "note": ""}, "items: 200"),
        (
            {"changes": {"title": {"old": "A", "new": "B"}, "feedback_box": {"old": True, "new": False}}},
            "changes: title A → B, feedback box yes → no",
        ),
    ],
)
def test_entries_of_the_activity_read_as_words(detail: dict[str, object], text: str) -> None:
    assert in_words(detail) == text


def test_bars_fill_the_width_and_the_tallest_fills_the_height() -> None:
    start = datetime(2026, 5, 1, 8, tzinfo=UTC)
    drawn = hourly_bars([(start + timedelta(hours=at), count) for at, count in enumerate([2, 0, 8, 4])])
    assert (drawn.most, drawn.total) == (8, 14)
    assert [bar.height for bar in drawn.bars] == [HEIGHT / 4, 0, HEIGHT, HEIGHT / 2]
    assert all(bar.y + bar.height == HEIGHT for bar in drawn.bars)
    assert drawn.bars[-1].x + drawn.bars[-1].width <= WIDTH


def test_no_bars_without_hours() -> None:
    assert hourly_bars([]).bars == []
