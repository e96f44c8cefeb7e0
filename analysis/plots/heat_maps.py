"""A heat map: one cell per row and column, empty if there is no value."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from analysis.plots.canvas import COLOURS, FONT, INK, LETTER, WIDTH, Canvas, Words

EDGE, TOP = 18.0, 24.0
#: The greatest height of a map, so that it fits on a screen.
TALLEST = 300.0
#: Opacity of the lowest and highest value; an empty cell has none.
FAINT, FIRM = 0.10, 0.95
STEPS = 9
#: The most letters of a name beside the steps.
LONGEST = 19


def heat_map(
    words: Words, rows: Sequence[Sequence[float]], *, limits: tuple[float, float], ends: tuple[str, str]
) -> Markup:
    """Values (R × C) from pale (``limits[0]``) to full colour (``limits[1]``), NaN empty; at most 60 × 60 cells stay
    legible.

    ``words.y`` describes the rows and ``words.x`` the columns; beside a low map there is room only for what comes
    before the first comma of ``words.y``. ``ends`` name the lowest and highest value. ValueError: no rows, rows of
    different lengths.
    """
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("a heat map needs rows of one length")
    width = (WIDTH - EDGE - 4) / len(rows[0])
    height = min(width, 14.0, TALLEST / len(rows))
    height = max(height, min(14.0, 90.0 / len(rows)))
    canvas = Canvas(TOP + height * len(rows) + 22)
    low, high = (f"{end[: LONGEST - 1]}…" if len(end) > LONGEST else end for end in ends)
    canvas.text(EDGE, 13, low, fill=INK)
    start = EDGE + FONT * LETTER * len(low) + 8
    for step in range(STEPS):
        canvas.shape(_cell(start + 11 * step, 4, 10, 11), fill=COLOURS[0], fill_opacity=f"{opacity(step):.2f}")
    canvas.text(start + 11 * STEPS + 6, 13, high, fill=INK)
    gap = 0.5 if min(width, height) > 4 else 0.0
    steps: dict[int, list[str]] = {}
    for down, row in enumerate(rows):
        for across, value in enumerate(row):
            if math.isfinite(value):
                x, y = EDGE + across * width, TOP + down * height
                steps.setdefault(step_of(value, limits), []).append(_cell(x, y, width - gap, height - gap))
    canvas.outline(EDGE, TOP, width * len(rows[0]), height * len(rows))
    for step in sorted(steps):
        canvas.shape("".join(steps[step]), fill=COLOURS[0], fill_opacity=f"{opacity(step):.2f}")
    canvas.text(WIDTH / 2, canvas.height - 6, words.x, anchor="middle")
    fits = len(words.y) * FONT * LETTER <= height * len(rows) + TOP
    label = words.y if fits else words.y.partition(",")[0]
    canvas.text(11, TOP + height * len(rows) / 2, label, anchor="middle", turn=True)
    return canvas.svg(words)


def step_of(value: float, limits: tuple[float, float]) -> int:
    """The colour step, from 0 to STEPS − 1."""
    low, high = limits
    share = (value - low) / (high - low) if high > low else 1.0
    return round(min(1.0, max(0.0, share)) * (STEPS - 1))


def opacity(step: int) -> float:
    return FAINT + (FIRM - FAINT) * step / (STEPS - 1)


def _cell(x: float, y: float, width: float, height: float) -> str:
    corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
    return "M" + "L".join(f"{across:.2f},{down:.2f}" for across, down in corners) + "Z"
