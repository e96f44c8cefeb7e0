"""Names beside the points of a plot, where they hide neither a point nor another name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.plots.canvas import FONT, INK, LEFT, LETTER, WIDTH, Canvas

#: How far a name is from its point, and half of a point's width.
GAP, POINT = 5.0, 3.0
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class PointName:
    """A point and its name."""

    x: float
    y: float
    name: str


def draw_names(canvas: Canvas, points: Sequence[PointName]) -> None:
    """The names of points at positions on the canvas: above, below, to the right or left, whichever is free first. A
    name without a free place stands above its point."""
    taken = [(point.x - POINT, point.y - POINT, point.x + POINT, point.y + POINT) for point in points]
    for point in sorted(points, key=lambda point: point.x):
        width, half = len(point.name) * FONT * LETTER, FONT * 0.4
        places = [
            ("middle", point.x, point.y - GAP),
            ("middle", point.x, point.y + GAP + 2 * half),
            ("start", point.x + GAP, point.y + half),
            ("end", point.x - GAP, point.y + half),
        ]
        boxes = [box_of(anchor, x, base, width) for anchor, x, base in places]
        free = [at for at, box in enumerate(boxes) if is_free(box, taken)]
        at = free[0] if free else 0
        anchor, x, base = places[at]
        taken.append(boxes[at])
        canvas.text(x, base, point.name, anchor=anchor, fill=INK)


def box_of(anchor: str, x: float, base: float, width: float) -> Box:
    left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width
    return left, base - FONT * 0.8, left + width, base


def is_free(box: Box, taken: Sequence[Box]) -> bool:
    left, top, right, bottom = box
    if left < LEFT or right > WIDTH or top < 16:
        return False
    return all(right <= one[0] or left >= one[2] or bottom <= one[1] or top >= one[3] for one in taken)
