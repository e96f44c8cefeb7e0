"""Bars, histograms, strips, scatter plots, curves and intervals."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from analysis.plots.canvas import (
    COLOURS,
    FONT,
    INK,
    LEFT,
    LETTER,
    RULE,
    WIDTH,
    Axis,
    Canvas,
    Mark,
    Words,
    inner_ticks,
    nice_ticks,
    padded,
    tick_label,
)
from analysis.plots.point_names import PointName, draw_names


@dataclass(frozen=True, slots=True)
class Group:
    """One column of dots."""

    label: str
    values: Sequence[float]


def bars(words: Words, labels: Sequence[str], counts: Sequence[int]) -> Markup:
    """One horizontal bar per label, with its count and share at the end, in the given order."""
    lines = [textwrap.wrap(label, 24)[:2] or [""] for label in labels]
    total = sum(counts)
    left = min(150.0, max((len(line) for label_lines in lines for line in label_lines), default=1) * FONT * LETTER + 10)
    x = Axis(0, max([1, *counts]), left, WIDTH - 78)
    canvas = Canvas(0)
    top = 6.0
    for label_lines, count in zip(lines, counts, strict=True):
        height = 20.0 if len(label_lines) == 1 else 30.0
        middle = top + height / 2
        for line_number, line in enumerate(label_lines):
            base = middle + 4 + (line_number - (len(label_lines) - 1) / 2) * 12
            canvas.text(left - 6, base, line, anchor="end", fill=INK)
        canvas.rect(left, middle - 7, x(count) - left, 14, COLOURS[0])
        share = f" ({100 * count / total:.0f}%)" if total else ""
        canvas.text(x(count) + 5, middle + 4, f"{count:,}{share}")
        top += height
    canvas.line(left, 4, left, top, INK)
    canvas.text((left + WIDTH) / 2, top + 14, words.x, anchor="middle")
    canvas.height = top + 20
    return canvas.svg(words)


def histogram(words: Words, edges: Sequence[float], counts: Sequence[int], *, mark: Mark | None = None) -> Markup:
    """Counts between edges (one more than counts); bars touch because the axis is continuous."""
    y_ticks = nice_ticks(0, max([1, *counts]), whole_numbers=True)
    x, y, canvas = frame(words, (edges[0], edges[-1]), (0, y_ticks[-1]), y_ticks=y_ticks, top=26 if mark else 12)
    for left, right, count in zip(edges, edges[1:], counts, strict=False):
        canvas.rect(x(left) + 0.5, y(count), x(right) - x(left) - 1, y(0) - y(count), COLOURS[0])
    if mark is not None:
        canvas.line(x(mark.value), y.end, x(mark.value), y.start, INK, stroke_dasharray="4 3")
        canvas.line(LEFT, 10, LEFT + 24, 10, INK, stroke_dasharray="4 3")
        canvas.text(LEFT + 30, 14, mark.label, fill=INK)
    return canvas.svg(words)


def strip(
    words: Words, groups: Sequence[Group], *, mark: Mark | None = None, limits: tuple[float, float] | None = None
) -> Markup:
    """A column of dots per group, side by side if values are close, and a tick at the group's mean."""
    values = [value for group in groups for value in group.values] + ([mark.value] if mark else [])
    _, y, canvas = frame(words, None, limits or padded(values), top=26 if mark else 12)
    slot = (WIDTH - 10 - LEFT) / len(groups)
    for index, group in enumerate(groups):
        centre = LEFT + slot * (index + 0.5)
        for offset, value in zip(spread(group.values, y, slot * 0.42), group.values, strict=True):
            canvas.marker(index, centre + offset, y(value), 2.4, opacity="0.8")
        if group.values:
            mean = y(math.fsum(group.values) / len(group.values))
            canvas.line(centre - slot * 0.3, mean, centre + slot * 0.3, mean, INK, stroke_width="1.6")
        canvas.text(centre, y.start + 15, group.label, anchor="middle", fill=INK)
    _across(canvas, y, mark)
    return canvas.svg(words)


@dataclass(frozen=True, slots=True)
class Classes:
    """Which class each dot of a scatter plot belongs to: ``of`` (n,) holds positions in ``names``, at most three."""

    of: Sequence[int]
    names: Sequence[str]


def scatter(
    words: Words,
    x_values: Sequence[float],
    y_values: Sequence[float],
    error: Sequence[float] | None = None,
    *,
    mark: Mark | None = None,
    classes: Classes | None = None,
    note: str = "",
    across: tuple[float, float] | None = None,
    up: tuple[float, float] | None = None,
    names: Sequence[str] = (),
) -> Markup:
    """Dots with bars of ± ``error`` (left out if NaN), cut at the ends of the axis. ``names`` (n,) stand beside them.

    ``mark`` draws a horizontal line; ``classes`` gives dots the colour and shape of their class; ``note``, such as a
    correlation, appears above the plot. ``across`` and ``up`` are the ends of the axes (by default those of the data).
    """
    half_widths = list(error) if error is not None else [math.nan] * len(x_values)
    drawn_widths = [0.0 if math.isnan(half) else half for half in half_widths]
    reach = [value + side * half for value, half in zip(y_values, drawn_widths, strict=True) for side in (-1, 1)]
    low, high = up or padded(reach + ([mark.value] if mark else []))
    lines = bool(mark or classes) + bool(note)
    x, y, canvas = frame(words, across or padded(x_values), (low, high), top=12 + 14 * lines)
    _across(canvas, y, mark)
    for x_value, value, half in zip(x_values, y_values, drawn_widths, strict=True):
        if half > 0:
            ends = y(max(low, value - half)), y(min(high, value + half))
            canvas.line(x(x_value), ends[0], x(x_value), ends[1], COLOURS[0], opacity="0.3")
    of = classes.of if classes else [0] * len(x_values)
    for x_value, value, class_index in zip(x_values, y_values, of, strict=True):
        canvas.marker(class_index, x(x_value), y(value), opacity="0.75")
    if names:
        points = zip(x_values, y_values, names, strict=True)
        draw_names(canvas, [PointName(x(x_value), y(value), name) for x_value, value, name in points])
    if classes:
        start = LEFT + (40 + len(mark.label) * FONT * LETTER if mark else 0)
        for class_index, name in enumerate(classes.names):
            canvas.marker(class_index, start + 5, 10)
            canvas.text(start + 12, 14, name, fill=INK)
            start += 26 + len(name) * FONT * LETTER
    if note:
        canvas.text(LEFT, 14.0 * lines, note, fill=INK)
    return canvas.svg(words)


def intervals(
    words: Words, rows: Sequence[tuple[str, float, float, float]], *, limits: tuple[float, float] | None = None
) -> Markup:
    """A dot with its interval for each row (label, value, low, high), all on one axis, and a line at 0."""
    finite = [number for _, *numbers in rows for number in numbers if math.isfinite(number)]
    low, high = limits or padded([0.0, *finite])
    left = min(160.0, max((len(row[0]) for row in rows), default=1) * FONT * LETTER + 12)
    x = Axis(low, high, left, WIDTH - 14)
    ticks = inner_ticks(low, high)
    names = textwrap.wrap(words.x, int((WIDTH - 12) / FONT / LETTER)) or [""]
    canvas = Canvas(26.0 * len(rows) + 48 + 13 * (len(names) - 1))
    floor = 26.0 * len(rows) + 8
    for tick in ticks:
        canvas.line(x(tick), 6, x(tick), floor, INK if tick == 0 else RULE)
        canvas.text(x(tick), floor + 14, tick_label(tick, ticks), anchor="middle")
    for row_index, (label, value, bottom, top) in enumerate(rows):
        middle = 26.0 * row_index + 19
        canvas.text(left - 8, middle + 4, label, anchor="end", fill=INK)
        if bottom < top:
            canvas.line(x(max(low, bottom)), middle, x(min(high, top)), middle, COLOURS[0], stroke_width="2")
        if math.isfinite(value):
            canvas.marker(0, x(value), middle, 4)
        else:
            canvas.text(x(low) + 4, middle + 4, "not defined")
    fits = len(words.x) * FONT * LETTER <= WIDTH - left
    for line_number, name in enumerate(names):
        middle = (left + WIDTH - 14) / 2 if fits else WIDTH / 2
        canvas.text(middle, floor + 34 + 13 * line_number, name, anchor="middle")
    return canvas.svg(words)


def spread(values: Sequence[float], y: Axis, reach: float, size: float = 5.0) -> list[float]:
    """Sideways offsets that separate dots of about the same height, at most ``reach`` to either side."""
    rows: dict[int, int] = {}
    places = []
    for value in values:
        row = round(y(value) / size)
        places.append((row, rows.get(row, 0)))
        rows[row] = rows.get(row, 0) + 1
    offsets = []
    for row, position in places:
        half = rows[row] // 2
        gap = min(size, reach / half) if half else 0.0
        offsets.append(gap * ((position + 1) // 2) * (1 if position % 2 else -1))
    return offsets


def _across(canvas: Canvas, y: Axis, mark: Mark | None) -> None:
    """A dashed line over the whole width. Its name is above the plot, where no dot can hide it."""
    if mark is not None:
        canvas.line(LEFT, y(mark.value), WIDTH - 10, y(mark.value), INK, stroke_dasharray="5 4")
        canvas.line(LEFT, 10, LEFT + 24, 10, INK, stroke_dasharray="5 4")
        canvas.text(LEFT + 30, 14, mark.label, fill=INK)


def frame(
    words: Words,
    across: tuple[float, float] | None,
    up: tuple[float, float],
    *,
    top: float = 12,
    y_ticks: Sequence[float] | None = None,
) -> tuple[Axis, Axis, Canvas]:
    """Axes with grid lines, ticks and labels. ``across`` None: the caller labels the columns."""
    canvas = Canvas(246)
    ticks = list(y_ticks) if y_ticks is not None else inner_ticks(*up)
    y = Axis(up[0], up[1], 200, top)
    for tick in ticks:
        canvas.line(LEFT, y(tick), WIDTH - 10, y(tick))
        canvas.text(LEFT - 5, y(tick) + 4, tick_label(tick, ticks), anchor="end")
    low, high = across or (0.0, 1.0)
    x = Axis(low, high, LEFT, WIDTH - 10)
    marks = inner_ticks(low, high) if across else []
    for tick in marks:
        canvas.line(x(tick), 200, x(tick), 204, INK)
        canvas.text(x(tick), 216, tick_label(tick, marks), anchor="middle")
    canvas.line(LEFT, 200, WIDTH - 10, 200, INK)
    canvas.text((LEFT + WIDTH - 10) / 2, 236, words.x, anchor="middle")
    canvas.text(11, (200 + top) / 2, words.y, anchor="middle", turn=True)
    return x, y, canvas
