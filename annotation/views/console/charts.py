"""Bars as plain figures. Templates draw them as inline SVG without style attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

WIDTH, HEIGHT = 480, 90


@dataclass(frozen=True, slots=True)
class Bar:
    """One hour: the position of its bar, and its label."""

    x: float
    y: float
    width: float
    height: float
    hour: datetime
    count: int


@dataclass(frozen=True, slots=True)
class Bars:
    """All bars of a chart, and the largest count, which sets their scale."""

    bars: list[Bar]
    most: int
    total: int


def hourly_bars(per_hour: Sequence[tuple[datetime, int]]) -> Bars:
    """One bar per hour, the latest on the right."""
    most = max((count for _, count in per_hour), default=0)
    step = WIDTH / max(len(per_hour), 1)
    bars = [
        Bar(
            x=round(place * step + step * 0.1, 2),
            y=round(HEIGHT - (height := HEIGHT * count / most if most else 0.0), 2),
            width=round(step * 0.8, 2),
            height=round(height, 2),
            hour=hour,
            count=count,
        )
        for place, (hour, count) in enumerate(per_hour)
    ]
    return Bars(bars, most, sum(count for _, count in per_hour))
