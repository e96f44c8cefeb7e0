"""Bars as plain figures. Templates draw them as inline SVG without style attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

WIDTH, HEIGHT = 480, 90
#: Fewer hours would make bars as wide as the page.
LEAST_HOURS = 12


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
    """All bars of a chart. ``ticks``: the numbers on the axis of counts, the largest first, which is the scale."""

    bars: list[Bar]
    most: int
    total: int
    ticks: list[int]

    @property
    def lines(self) -> list[float]:
        """The heights of the ticks."""
        return [round(HEIGHT - HEIGHT * tick / self.ticks[0], 2) for tick in self.ticks]

    @property
    def hours(self) -> list[datetime]:
        """The hours on the axis of time: the first, the one in the middle, and the last."""
        return [self.bars[index].hour for index in (0, len(self.bars) // 2, -1)]


def hourly_bars(per_hour: Sequence[tuple[datetime, int]]) -> Bars:
    """One bar per hour, the latest on the right. Hours before the first one are empty."""
    if not per_hour:
        return Bars([], 0, 0, [1, 0])
    first = per_hour[0][0]
    before = [(first - timedelta(hours=hours_before), 0) for hours_before in range(LEAST_HOURS - len(per_hour), 0, -1)]
    hours = [*before, *per_hour]
    most = max(count for _, count in hours)
    ticks = [1, 0]
    if most > 1:  # zero, a round even number that is no less than ``most``, and the half of it
        scale = 10 ** max(0, len(str(most)) - 2)
        top = next(number for number in range(2, 102, 2) if number * scale >= most) * scale
        ticks = [top, top // 2, 0]
    step = WIDTH / len(hours)
    bars = [
        Bar(
            x=round(index * step + step * 0.1, 2),
            y=round(HEIGHT - (height := HEIGHT * count / ticks[0]), 2),
            width=round(step * 0.8, 2),
            height=round(height, 2),
            hour=hour,
            count=count,
        )
        for index, (hour, count) in enumerate(hours)
    ]
    return Bars(bars, most, sum(count for _, count in hours), ticks)
