"""Stacked bars around a middle: how many answers are on either side of neutral, and how strong they are."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from markupsafe import Markup

from analysis.plots.canvas import COLOURS, FONT, INK, LETTER, MUTED, WIDTH, Axis, Canvas, Words

EDGE = 6.0
BAR = 18.0
LINE = 13.0
#: The line in the middle is drawn only above and below each bar, where it crosses no text.
TICK = 4.0
#: Opacity from the points beside the middle to the ends; text stays legible on all of them, in light and dark mode.
FAINT, FIRM = 0.16, 0.5


def diverging(
    words: Words, rows: Sequence[tuple[str, Sequence[int]]], points: Sequence[str], *, ends: tuple[str, str]
) -> Markup:
    """One bar per row (its name, counts per point from low to high), all on one axis of shares around the middle.

    If the number of points is odd, half of the middle point is on either side. Every part with enough room shows the
    name of its point (``points``, short), so that nothing depends on colour. ``ends`` name the lowest and the highest
    point. ValueError: fewer than two points, or counts of a different length.
    """
    if len(points) < 2 or any(len(counts) != len(points) for _, counts in rows):
        raise ValueError("needs two points or more, and a count for each")
    shares = [[count / (sum(counts) or 1) for count in counts] for _, counts in rows]
    half = len(points) // 2
    lefts = [sum(row[:half]) + (row[half] / 2 if len(points) % 2 else 0.0) for row in shares]
    reach = max([0.05, *lefts, *(sum(row) - left for row, left in zip(shares, lefts, strict=True))])
    x = Axis(-reach, reach, EDGE, WIDTH - EDGE)
    canvas = Canvas(0)
    canvas.text(EDGE, 12, f"← {ends[0]}"[:34])
    canvas.text(WIDTH - EDGE, 12, f"{ends[1]} →"[-34:], anchor="end")
    top = 24.0
    for (name, counts), row, left in zip(rows, shares, lefts, strict=True):
        for line in textwrap.wrap(f"{name} (n = {sum(counts):,})", int((WIDTH - 2 * EDGE) / FONT / LETTER))[:2]:
            top += LINE
            canvas.text(EDGE, top - 3, line, fill=INK)
        top += TICK
        _bar(canvas, x, row, -left, top, points)
        for edge in (top - TICK, top + BAR):
            canvas.line(x(0), edge, x(0), edge + TICK, INK, stroke_width="1.6")
        top += BAR + 10
    canvas.text(WIDTH / 2, top + 10, words.x, anchor="middle")
    canvas.height = top + 18
    return canvas.svg(words)


def _bar(canvas: Canvas, x: Axis, shares: Sequence[float], start: float, top: float, points: Sequence[str]) -> None:
    middle = (len(shares) - 1) / 2
    for index, (share, point) in enumerate(zip(shares, points, strict=True)):
        left, right = x(start), x(start + share)
        start += share
        if not share:
            continue
        away = abs(index - middle) / middle
        fill = MUTED if index == middle else COLOURS[1 if index < middle else 0]
        corners = [(left, top), (right, top), (right, top + BAR), (left, top + BAR)]
        opacity = f"{FAINT + (FIRM - FAINT) * away:.2f}"
        canvas.path(corners, close=True, fill=fill, fill_opacity=opacity, stroke=INK, stroke_width="0.7")
        if right - left > len(point) * FONT * LETTER + 3:
            canvas.text((left + right) / 2, top + BAR / 2 + 4, point, anchor="middle", fill=INK)
