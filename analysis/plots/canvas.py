"""The parts of every plot: the picture, its axes, its words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from markupsafe import Markup

WIDTH = 360.0
# Room for the numbers of the vertical axis, six characters, beside its rotated name.
LEFT = 54.0
FONT = 11.0
COLOURS = ("var(--series-1, #0072b2)", "var(--series-2, #c44900)", "var(--series-3, #007a5a)")
DASHES = ("", "6 3", "2 3")
INK, MUTED, RULE = "var(--ink, currentColor)", "var(--muted, currentColor)", "var(--rule, #bbb)"
#: Average width of a letter divided by its height; good enough to keep labels apart.
LETTER = 0.55


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a plot. ``key`` must be unique in the page; axis labels include their unit."""

    key: str
    title: str
    description: str
    x: str = ""
    y: str = ""


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
    """Shapes in drawing order."""

    height: float
    parts: list[str] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: str = RULE, **attributes: object) -> None:
        self._add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, **attributes)

    def rect(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        self._add("rect", x=x, y=y, width=max(0.0, width), height=max(0.0, height), fill=fill)

    def path(self, points: Sequence[tuple[float, float]], *, close: bool = False, **attributes: object) -> None:
        d = "M" + "L".join(f"{_n(x)},{_n(y)}" for x, y in points) + ("Z" if close else "")
        self._add("path", d=d, **({"fill": "none"} | attributes))

    def shape(self, d: str, **attributes: object) -> None:
        """Path data of absolute moves and lines."""
        self._add("path", d=d, **attributes)

    def outline(self, x: float, y: float, width: float, height: float) -> None:
        """A frame without fill."""
        self.path([(x, y), (x + width, y), (x + width, y + height), (x, y + height)], close=True, stroke=RULE)

    def marker(self, shape: int, x: float, y: float, size: float = 2.7, **attributes: object) -> None:
        """A dot, a square or a triangle, in the colour of its series."""
        fill = COLOURS[shape % 3]
        if shape % 3 == 0:
            self._add("circle", cx=x, cy=y, r=size, fill=fill, **attributes)
        elif shape % 3 == 1:
            self._add("rect", x=x - size, y=y - size, width=2 * size, height=2 * size, fill=fill, **attributes)
        else:
            corners = [(x, y - 1.3 * size), (x + 1.2 * size, y + size), (x - 1.2 * size, y + size)]
            self.path(corners, close=True, fill=fill, **attributes)

    def text(
        self, x: float, y: float, words: str, *, anchor: str = "start", fill: str = MUTED, turn: bool = False
    ) -> None:
        turned = f' transform="rotate(-90 {_n(x)} {_n(y)})"' if turn else ""
        self.parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" fill="{fill}"{turned}>{escape(words)}</text>'
        )

    def svg(self, words: Words) -> Markup:
        key = escape(words.key)
        return Markup(  # noqa: S704 - every text in it went through escape()
            f'<svg class="plot" role="img" aria-labelledby="{key}-t {key}-d" font-family="inherit" font-size="11"'
            f' viewBox="0 0 {_n(WIDTH)} {_n(self.height)}"><title id="{key}-t">{escape(words.title)}</title>'
            f'<desc id="{key}-d">{escape(words.description)}</desc>{"".join(self.parts)}</svg>'
        )

    def _add(self, name: str, **attributes: object) -> None:
        written = "".join(
            f' {key.replace("_", "-")}="{_n(value) if isinstance(value, int | float) else escape(str(value))}"'
            for key, value in attributes.items()
        )
        self.parts.append(f"<{name}{written}/>")


def nice_ticks(low: float, high: float, *, most: int = 6, whole_numbers: bool = False) -> list[float]:
    """Round numbers 1, 2 or 5 × 10ⁿ apart that enclose low and high, about ``most`` of them.

    ValueError: low is not below high.
    """
    if not low < high:
        raise ValueError(f"an axis needs a low end below its high end, not {low:g} and {high:g}")
    raw = (high - low) / max(1, most - 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))
    if whole_numbers:
        step = max(1.0, step)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(multiple * step, 12) for multiple in range(first, last + 1)]


def padded(values: Sequence[float]) -> tuple[float, float]:
    """The range of the finite values, widened a little; 0 to 1 if there are none."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return 0.0, 1.0
    low, high = min(finite), max(finite)
    room = (high - low) * 0.03 or max(0.5, abs(low) * 0.1)
    return low - room, high + room


def inner_ticks(low: float, high: float) -> list[float]:
    """The round numbers within the range: at least four, if there is room."""
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
