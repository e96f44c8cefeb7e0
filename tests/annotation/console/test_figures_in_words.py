"""How figures, times and the entries of the activity page are worded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from annotation.shell.charts import HEIGHT, WIDTH, Bars, hourly_bars
from annotation.templatetags.humane import duration, figure, in_words, moment, points, thousands, usd


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


START = datetime(2026, 5, 1, 8, tzinfo=UTC)


def bars(*counts: int) -> Bars:
    return hourly_bars([(START + timedelta(hours=at), count) for at, count in enumerate(counts)])


def test_bars_fill_the_width_and_a_round_number_fills_the_height() -> None:
    drawn = bars(*range(12), 8)
    assert (drawn.most, drawn.total) == (11, 74)
    assert drawn.ticks == [12, 6, 0]
    assert drawn.lines == [0, HEIGHT / 2, HEIGHT]
    assert drawn.bars[6].height == HEIGHT / 2
    assert all(bar.y + bar.height == HEIGHT for bar in drawn.bars)
    assert drawn.bars[-1].x + drawn.bars[-1].width <= WIDTH


@pytest.mark.parametrize(
    ("most", "ticks"),
    [(0, [1, 0]), (1, [1, 0]), (2, [2, 1, 0]), (7, [8, 4, 0]), (99, [100, 50, 0]), (300, [300, 150, 0]),
     (301, [320, 160, 0]), (4012, [4200, 2100, 0])],
)  # fmt: skip
def test_the_axis_ends_at_a_round_number(most: int, ticks: list[int]) -> None:
    assert bars(most).ticks == ticks


def test_few_hours_do_not_make_wide_bars() -> None:
    drawn = bars(5)
    assert len(drawn.bars) == 12
    assert [bar.count for bar in drawn.bars] == [0] * 11 + [5]
    assert drawn.hours == [START - timedelta(hours=11), START - timedelta(hours=5), START]


def test_no_bars_without_hours() -> None:
    assert hourly_bars([]).bars == []
