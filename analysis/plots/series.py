"""Curves with their bands, and values with their intervals side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from analysis.plots.canvas import COLOURS, DASHES, FONT, INK, LEFT, LETTER, WIDTH, Axis, Canvas, Words, padded
from analysis.plots.charts import frame
from analysis.plots.point_names import PointName, draw_names

#: The distance between the intervals of two series at the same place.
APART = 9.0


@dataclass(frozen=True, slots=True)
class Line:
    """One curve with its band. The four sequences have equal lengths; low and high are NaN where there is no band."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def curves(
    words: Words,
    lines: Sequence[Line],
    *,
    limits: tuple[float, float] | None = None,
    names: Sequence[PointName] = (),
) -> Markup:
    """Curves with bands, and a legend above them. At most three: readers cannot distinguish more.

    The edge of a band has the colour and the dashes of its curve, so that readers can distinguish overlapping bands.
    """
    _refuse_many(lines)
    across = [value for line in lines for value in line.x]
    heights = [value for line in lines for values in (line.y, line.low, line.high) for value in values]
    x, y, canvas = frame(words, padded(across), limits or padded(heights), top=26)
    for index, line in enumerate(lines):
        band = [
            (x(x_value), y(low), y(high))
            for x_value, low, high in zip(line.x, line.low, line.high, strict=True)
            if low <= high
        ]
        if not band:
            continue
        top, bottom = [(height_at, high) for height_at, _, high in band], [(position, low) for position, low, _ in band]
        canvas.path([*top, *reversed(bottom)], close=True, fill=COLOURS[index], fill_opacity="0.14")
        for edge in (top, bottom):
            canvas.path(edge, stroke=COLOURS[index], stroke_width="0.9", stroke_dasharray=DASHES[index] or "none")
    for index, line in enumerate(lines):
        points = [(x(x_value), y(value)) for x_value, value in zip(line.x, line.y, strict=True) if math.isfinite(value)]
        if points:
            canvas.path(points, stroke=COLOURS[index], stroke_width="1.8", stroke_dasharray=DASHES[index] or "none")
        for position, height in points:
            canvas.marker(index, position, height)
    draw_names(canvas, [PointName(x(name.x), y(name.y), name.name) for name in names])
    _legend(canvas, lines, dashed=True)
    return canvas.svg(words)


def ranges(words: Words, places: Sequence[str], lines: Sequence[Line], *, limits: tuple[float, float]) -> Markup:
    """Values with their intervals at named places, with the series side by side. At most three series.

    ``x`` of a line contains indices of ``places``. Intervals are cut at the ends of the axis.
    """
    _refuse_many(lines)
    _, y, canvas = frame(words, None, limits, top=26)
    x = Axis(-0.5, len(places) - 0.5, LEFT, WIDTH - 10)
    for index, name in enumerate(places):
        canvas.text(x(index), 215, name, anchor="middle")
    for series, line in enumerate(lines):
        aside = (series - (len(lines) - 1) / 2) * min(APART, (x(1) - x(0)) / (len(lines) + 1))
        for x_value, value, low, high in zip(line.x, line.y, line.low, line.high, strict=True):
            if low <= high:
                ends = y(max(limits[0], low)), y(min(limits[1], high))
                canvas.line(
                    x(x_value) + aside, ends[0], x(x_value) + aside, ends[1], COLOURS[series], stroke_width="1.8"
                )
            if math.isfinite(value):
                canvas.marker(series, x(x_value) + aside, y(value), 3.2)
    _legend(canvas, lines, dashed=False)
    return canvas.svg(words)


def _refuse_many(lines: Sequence[Line]) -> None:
    if len(lines) > len(COLOURS):
        raise ValueError(f"a plot holds {len(COLOURS)} curves at most, not {len(lines)}")


def _legend(canvas: Canvas, lines: Sequence[Line], *, dashed: bool) -> None:
    start: float = LEFT
    for index, line in enumerate(lines):
        dashes = DASHES[index] if dashed else ""
        canvas.line(start, 10, start + 20, 10, COLOURS[index], stroke_dasharray=dashes or "none")
        canvas.marker(index, start + 10, 10)
        canvas.text(start + 25, 14, line.label, fill=INK)
        start += 40 + len(line.label) * FONT * LETTER
