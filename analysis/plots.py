"""Small plots as inline SVG: no library, no script, no style sheet.

Every plot is 360 units wide, so that its letters stay legible on a phone, and takes the colours of the page it stands
in from custom properties (``--ink``, ``--muted``, ``--rule``, ``--series-1`` … ``--series-3``), with fallbacks for a
plot that is cut out. Series differ by shape as well as by colour. Each plot carries a title and a description for
screen readers; the page has to give the numbers in a table besides.

Positions are in SVG units, data in their own; every function returns a string that is safe to put in a page.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from django.utils.safestring import SafeString, mark_safe

WIDTH = 360.0
# Room for the numbers of the upright axis, six characters, beside its turned name.
LEFT = 54.0
FONT = 11.0
COLOURS = ("var(--series-1, #0072b2)", "var(--series-2, #c44900)", "var(--series-3, #007a5a)")
DASHES = ("", "6 3", "2 3")
INK, MUTED, RULE = "var(--ink, currentColor)", "var(--muted, currentColor)", "var(--rule, #bbb)"
#: Average width of a letter over its height; good enough to keep labels apart.
LETTER = 0.55


@dataclass(frozen=True, slots=True)
class Words:
    """What a plot says of itself. ``key`` must be unique in the page; axis labels carry their unit."""

    key: str
    title: str
    description: str
    x: str = ""
    y: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """One column of dots."""

    label: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Line:
    """One curve with its band; the four sequences are of equal length, low and high NaN where there is none."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


@dataclass(frozen=True, slots=True)
class Mark:
    """A line across the plot at ``value``, with its name."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    """Data from ``low`` to ``high`` on positions from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


@dataclass(slots=True)
class Canvas:
    """Shapes in the order in which they are painted."""

    height: float
    parts: list[str] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: str = RULE, **more: object) -> None:
        self._add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, **more)

    def rect(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        self._add("rect", x=x, y=y, width=max(0.0, width), height=max(0.0, height), fill=fill)

    def path(self, points: Sequence[tuple[float, float]], *, close: bool = False, **more: object) -> None:
        d = "M" + "L".join(f"{_n(x)},{_n(y)}" for x, y in points) + ("Z" if close else "")
        self._add("path", d=d, **({"fill": "none"} | more))

    def marker(self, shape: int, x: float, y: float, size: float = 2.7, **more: object) -> None:
        """A dot, a square or a triangle, in the colour of its series."""
        fill = COLOURS[shape % 3]
        if shape % 3 == 0:
            self._add("circle", cx=x, cy=y, r=size, fill=fill, **more)
        elif shape % 3 == 1:
            self._add("rect", x=x - size, y=y - size, width=2 * size, height=2 * size, fill=fill, **more)
        else:
            corners = [(x, y - 1.3 * size), (x + 1.2 * size, y + size), (x - 1.2 * size, y + size)]
            self.path(corners, close=True, fill=fill, **more)

    def text(
        self, x: float, y: float, words: str, *, anchor: str = "start", fill: str = MUTED, turn: bool = False
    ) -> None:
        turned = f' transform="rotate(-90 {_n(x)} {_n(y)})"' if turn else ""
        self.parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" fill="{fill}"{turned}>{escape(words)}</text>'
        )

    def svg(self, words: Words) -> SafeString:
        key = escape(words.key)
        return mark_safe(  # noqa: S308 - every text in it went through escape()
            f'<svg class="plot" role="img" aria-labelledby="{key}-t {key}-d" font-family="inherit" font-size="11"'
            f' viewBox="0 0 {_n(WIDTH)} {_n(self.height)}"><title id="{key}-t">{escape(words.title)}</title>'
            f'<desc id="{key}-d">{escape(words.description)}</desc>{"".join(self.parts)}</svg>'
        )

    def _add(self, name: str, **attributes: object) -> None:
        told = "".join(f' {key.replace("_", "-")}="{_value(value)}"' for key, value in attributes.items())
        self.parts.append(f"<{name}{told}/>")


def bars(words: Words, labels: Sequence[str], counts: Sequence[int]) -> SafeString:
    """One horizontal bar per label, with its count and share at the end; in the order given."""
    lines = [textwrap.wrap(label, 24)[:2] or [""] for label in labels]
    total = sum(counts)
    left = min(150.0, max((len(line) for each in lines for line in each), default=1) * FONT * LETTER + 10)
    x = Axis(0, max([1, *counts]), left, WIDTH - 78)
    canvas = Canvas(0)
    top = 6.0
    for said, count in zip(lines, counts, strict=True):
        height = 20.0 if len(said) == 1 else 30.0
        middle = top + height / 2
        for place, line in enumerate(said):
            base = middle + 4 + (place - (len(said) - 1) / 2) * 12
            canvas.text(left - 6, base, line, anchor="end", fill=INK)
        canvas.rect(left, middle - 7, x(count) - left, 14, COLOURS[0])
        share = f" ({100 * count / total:.0f}%)" if total else ""
        canvas.text(x(count) + 5, middle + 4, f"{count:,}{share}")
        top += height
    canvas.line(left, 4, left, top, INK)
    canvas.text((left + WIDTH) / 2, top + 14, words.x, anchor="middle")
    canvas.height = top + 20
    return canvas.svg(words)


def histogram(words: Words, edges: Sequence[float], counts: Sequence[int], *, mark: Mark | None = None) -> SafeString:
    """Counts between edges (one more than counts); a bar touches its neighbours because the axis is continuous."""
    y_ticks = nice_ticks(0, max([1, *counts]), whole=True)
    x, y, canvas = _frame(words, (edges[0], edges[-1]), (0, y_ticks[-1]), y_ticks=y_ticks)
    for left, right, count in zip(edges, edges[1:], counts, strict=False):
        canvas.rect(x(left) + 0.5, y(count), x(right) - x(left) - 1, y(0) - y(count), COLOURS[0])
    if mark is not None:
        canvas.line(x(mark.value), y.end, x(mark.value), y.start, INK, stroke_dasharray="4 3")
        near_end = x(mark.value) > WIDTH / 2
        canvas.text(
            x(mark.value) + (-5 if near_end else 5),
            y.end + 9,
            mark.label,
            anchor="end" if near_end else "start",
            fill=INK,
        )
    return canvas.svg(words)


def strip(
    words: Words, groups: Sequence[Group], *, mark: Mark | None = None, limits: tuple[float, float] | None = None
) -> SafeString:
    """A column of dots per group, side by side where values are near, and a tick at the group's mean."""
    values = [value for group in groups for value in group.values] + ([mark.value] if mark else [])
    _, y, canvas = _frame(words, None, limits or padded(values), top=26 if mark else 12)
    slot = (WIDTH - 10 - LEFT) / len(groups)
    for place, group in enumerate(groups):
        centre = LEFT + slot * (place + 0.5)
        for offset, value in zip(spread(group.values, y, slot * 0.42), group.values, strict=True):
            canvas.marker(place, centre + offset, y(value), 2.4, opacity="0.8")
        if group.values:
            mean = y(math.fsum(group.values) / len(group.values))
            canvas.line(centre - slot * 0.3, mean, centre + slot * 0.3, mean, INK, stroke_width="1.6")
        canvas.text(centre, y.start + 15, group.label, anchor="middle", fill=INK)
    _across(canvas, y, mark)
    return canvas.svg(words)


def scatter(
    words: Words,
    x_values: Sequence[float],
    y_values: Sequence[float],
    error: Sequence[float] | None = None,
    *,
    mark: Mark | None = None,
) -> SafeString:
    """Dots with bars of ± ``error`` (left out where NaN); ``mark`` draws a horizontal line."""
    bars_of = list(error) if error is not None else [math.nan] * len(x_values)
    sure = [0.0 if math.isnan(each) else each for each in bars_of]
    reach = [value + side * each for value, each in zip(y_values, sure, strict=True) for side in (-1, 1)]
    up = padded(reach + ([mark.value] if mark else []))
    x, y, canvas = _frame(words, padded(x_values), up, top=26 if mark else 12)
    _across(canvas, y, mark)
    for at, value, each in zip(x_values, y_values, sure, strict=True):
        if each > 0:
            canvas.line(x(at), y(value - each), x(at), y(value + each), COLOURS[0], opacity="0.3")
    for at, value in zip(x_values, y_values, strict=True):
        canvas.marker(0, x(at), y(value), opacity="0.8")
    return canvas.svg(words)


def curves(words: Words, lines: Sequence[Line], *, limits: tuple[float, float] | None = None) -> SafeString:
    """Curves with bands, and a legend above them. At most three: more cannot be told apart."""
    if len(lines) > len(COLOURS):
        raise ValueError(f"a plot holds {len(COLOURS)} curves at most, not {len(lines)}")
    across = [value for line in lines for value in line.x]
    up = [value for line in lines for part in (line.y, line.low, line.high) for value in part if math.isfinite(value)]
    x, y, canvas = _frame(words, padded(across), limits or padded(up), top=26)
    for place, line in enumerate(lines):
        band = [
            (x(at), y(low), y(high)) for at, low, high in zip(line.x, line.low, line.high, strict=True) if low <= high
        ]
        if band:
            edge = [(at, high) for at, _, high in band] + [(at, low) for at, low, _ in reversed(band)]
            canvas.path(
                edge, close=True, fill=COLOURS[place], stroke=COLOURS[place], fill_opacity="0.1", stroke_opacity="0.5"
            )
    legend = LEFT
    for place, line in enumerate(lines):
        points = [(x(at), y(value)) for at, value in zip(line.x, line.y, strict=True) if math.isfinite(value)]
        if points:
            canvas.path(points, stroke=COLOURS[place], stroke_width="1.6", stroke_dasharray=DASHES[place] or "none")
        for at, height in points:
            canvas.marker(place, at, height)
        canvas.line(legend, 10, legend + 20, 10, COLOURS[place], stroke_dasharray=DASHES[place] or "none")
        canvas.marker(place, legend + 10, 10)
        canvas.text(legend + 25, 14, line.label, fill=INK)
        legend += 40 + len(line.label) * FONT * LETTER
    return canvas.svg(words)


def intervals(
    words: Words, rows: Sequence[tuple[str, float, float, float]], *, limits: tuple[float, float] | None = None
) -> SafeString:
    """Label, value, low and high of each row: a dot with its interval, all on one axis, and a line at 0."""
    known = [number for _, *numbers in rows for number in numbers if math.isfinite(number)]
    low, high = limits or padded([0.0, *known])
    left = min(160.0, max((len(row[0]) for row in rows), default=1) * FONT * LETTER + 12)
    x = Axis(low, high, left, WIDTH - 14)
    ticks = inner_ticks(low, high)
    canvas = Canvas(26.0 * len(rows) + 48)
    floor = 26.0 * len(rows) + 8
    for tick in ticks:
        canvas.line(x(tick), 6, x(tick), floor, INK if tick == 0 else RULE)
        canvas.text(x(tick), floor + 14, tick_label(tick, ticks), anchor="middle")
    for place, (label, value, bottom, top) in enumerate(rows):
        middle = 26.0 * place + 19
        canvas.text(left - 8, middle + 4, label, anchor="end", fill=INK)
        if bottom < top:
            canvas.line(x(max(low, bottom)), middle, x(min(high, top)), middle, COLOURS[0], stroke_width="2")
        if math.isfinite(value):
            canvas.marker(0, x(value), middle, 4)
        else:
            canvas.text(x(low) + 4, middle + 4, "not defined")
    canvas.text((left + WIDTH - 14) / 2, floor + 34, words.x, anchor="middle")
    return canvas.svg(words)


def nice_ticks(low: float, high: float, *, most: int = 6, whole: bool = False) -> list[float]:
    """Round numbers 1, 2 or 5 × 10ⁿ apart that hold low and high between them, about ``most`` of them."""
    if not low < high:
        raise ValueError(f"an axis needs a low end below its high end, not {low:g} and {high:g}")
    raw = (high - low) / max(1, most - 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))
    if whole:
        step = max(1.0, step)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(place * step, 12) for place in range(first, last + 1)]


def padded(values: Sequence[float]) -> tuple[float, float]:
    """The range of the values, widened a little, or around the only one."""
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return 0.0, 1.0
    low, high = min(known), max(known)
    room = (high - low) * 0.03 or max(0.5, abs(low) * 0.1)
    return low - room, high + room


def spread(values: Sequence[float], y: Axis, reach: float, size: float = 5.0) -> list[float]:
    """Sideways offsets that keep dots of about the same height apart, at most ``reach`` to either side."""
    rows: dict[int, int] = {}
    places = []
    for value in values:
        row = round(y(value) / size)
        places.append((row, rows.get(row, 0)))
        rows[row] = rows.get(row, 0) + 1
    offsets = []
    for row, place in places:
        half = rows[row] // 2
        gap = min(size, reach / half) if half else 0.0
        offsets.append(gap * ((place + 1) // 2) * (1 if place % 2 else -1))
    return offsets


def _across(canvas: Canvas, y: Axis, mark: Mark | None) -> None:
    """A dashed line over the whole width, named above the plot, where no dot can hide the name."""
    if mark is not None:
        canvas.line(LEFT, y(mark.value), WIDTH - 10, y(mark.value), INK, stroke_dasharray="5 4")
        canvas.line(LEFT, 10, LEFT + 24, 10, INK, stroke_dasharray="5 4")
        canvas.text(LEFT + 30, 14, mark.label, fill=INK)


def _frame(
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


def inner_ticks(low: float, high: float) -> list[float]:
    """The round numbers that lie within the range, at least four where that can be had without crowding."""
    inside: list[float] = []
    room = (high - low) * 1e-9
    for most in (6, 8, 10, 12):
        inside = [tick for tick in nice_ticks(low, high, most=most) if low - room <= tick <= high + room]
        if len(inside) >= 4:
            break
    return inside


def tick_label(tick: float, ticks: Sequence[float]) -> str:
    """The tick with as many decimals as the step between ticks needs."""
    step = abs(ticks[1] - ticks[0]) if len(ticks) > 1 else 1.0
    decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    return f"{tick:,.{min(decimals, 6)}f}".replace("-", "−")


def _n(number: float) -> str:
    """A position with at most two decimals."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _value(value: object) -> str:
    return _n(value) if isinstance(value, int | float) else escape(str(value))
