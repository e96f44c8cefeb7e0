"""Plots as files: a standalone SVG and a PNG of it, and the same at the width of a paper's column, as SVG and PDF.

All use the light colours of the report, on white, in dark mode too. matplotlib draws PNG and PDF from the shapes of the
SVG. `analysis.plots.canvas` makes only six kinds of shape. The same plot gives the same bytes, without a date, and with
fonts that come with matplotlib.
"""

from __future__ import annotations

import io
import logging
import re
from functools import cache
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from analysis.plots.canvas import FONT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The light colours of report.css.
COLOURS = {
    "paper": "#ffffff",
    "ink": "#1b1f24",
    "muted": "#57606a",
    "rule": "#d5dae0",
    "series-1": "#0072b2",
    "series-2": "#c44900",
    "series-3": "#00795a",
}
#: Pixels per SVG unit: 1,080 across, enough for a column of a paper.
SCALE = 3
FACES = 'system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
#: matplotlib's default font is wider than screen fonts.
NARROWER = 0.9
#: The width of a column of the usual two-column papers: 84 mm, 3.3 inches.
COLUMN_MM = 84.0
#: Points for each unit of a plot at that width; 360 units across.
COLUMN_SCALE = COLUMN_MM / 25.4 * 72 / 360
#: A paper's type is a serif that is narrower than screen fonts, so the same room holds larger letters: 8 points.
LARGER = 1.1
#: Units above and below a plot, for letters that reach over its edge.
ROOM = 3.0
#: Files of matplotlib, in order: the first that has all letters of a text sets it.
PAPER_FACES = ("STIXGeneral.ttf", "DejaVuSans.ttf")
_VARIABLE = re.compile(r"var\(--([\w-]+), [^)]*\)")
_TURNED = re.compile(r"rotate\((-?[\d.]+) ")


def standalone_svg(svg: str) -> str:
    """The plot as a separate document."""
    plain = _VARIABLE.sub(lambda match: COLOURS[match[1]], svg)
    width, height = _size(ElementTree.fromstring(plain))  # noqa: S314 - our own text
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}"'
    plain = plain.replace("<svg", head, 1).replace('font-family="inherit"', f"font-family='{FACES}'", 1)
    start = plain.index(">") + 1
    return f'{plain[:start]}<rect width="100%" height="100%" fill="{COLOURS["paper"]}"/>{plain[start:]}'


def png(svg: str) -> bytes:
    """The plot as a PNG, with `SCALE` pixels per unit."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    root = _shapes(svg)
    width, height = _size(root)
    figure = Figure(figsize=(width / 72, height / 72), dpi=72 * SCALE, facecolor=COLOURS["paper"])
    canvas = FigureCanvasAgg(figure)
    _draw(figure, root)
    canvas.draw()  # type: ignore[no-untyped-call]
    drawn = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    pixels = Image.fromarray(drawn).convert("RGB")
    out = io.BytesIO()
    pixels.quantize(64).save(out, "PNG", optimize=True)
    return out.getvalue()


def column_svg(svg: str) -> str:
    """The plot as a separate document, as wide as a column."""
    _, height = _size(_shapes(svg))
    size = f'width="{COLUMN_MM:g}mm" height="{height * COLUMN_MM / 360:.2f}mm"'
    return re.sub(r'width="[\d.]+" height="[\d.]+"', size, standalone_svg(svg), count=1) + "\n"


def pdf(svg: str, *, title: str = "") -> bytes:
    """The plot as a PDF as wide as a column, with its fonts in it."""
    import matplotlib as mpl
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.figure import Figure

    root = _shapes(svg)
    width, height = _size(root)
    scale = COLUMN_SCALE
    figure = Figure(figsize=(width * scale / 72, (height + 2 * ROOM) * scale / 72), facecolor=COLOURS["paper"])
    canvas = FigureCanvasPdf(figure)
    _draw(figure, root, scale=scale, faces=PAPER_FACES, room=ROOM)
    # It tells every step of making a font smaller.
    logging.getLogger("fontTools.subset").setLevel(logging.WARNING)
    out = io.BytesIO()
    dateless = {"Title": title or None, "Creator": None, "Producer": None, "CreationDate": None}
    with mpl.rc_context({"pdf.fonttype": 42, "pdf.compression": 6}):
        canvas.print_pdf(out, metadata=dateless)  # type: ignore[no-untyped-call]
    return out.getvalue()


def _shapes(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(_VARIABLE.sub(lambda match: COLOURS[match[1]], svg))  # noqa: S314 - our own text


@cache
def _letters_of(face: str) -> tuple[FilePath, frozenset[int]]:
    """The file of a font that comes with matplotlib, and the letters in it."""
    import matplotlib as mpl
    from matplotlib.ft2font import FT2Font

    file = FilePath(mpl.get_data_path()) / "fonts" / "ttf" / face
    return file, frozenset(FT2Font(str(file)).get_charmap())


def _face_for(text: str, faces: tuple[str, ...]) -> FilePath:
    letters = {ord(letter) for letter in text if not letter.isspace()}
    return next((file for file, known in map(_letters_of, faces) if letters <= known), _letters_of(faces[-1])[0])


def _size(root: ElementTree.Element) -> tuple[float, float]:
    _, _, width, height = (float(number) for number in root.get("viewBox", "").split())
    return width, height


def _draw(
    figure: Figure, root: ElementTree.Element, *, scale: float = 1.0, faces: tuple[str, ...] = (), room: float = 0.0
) -> None:
    """Draw the shapes; ``scale`` is points per unit, ``room`` units above and below. ``faces``: files of the fonts;
    empty: matplotlib's default."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.patches import Circle, PathPatch, Rectangle
    from matplotlib.path import Path

    width, height = _size(root)
    larger = LARGER if faces else NARROWER
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height + room, -room))
    axes.set_axis_off()
    for shape in root:
        numbers = {name: float(value) for name, value in shape.items() if re.fullmatch(r"-?[\d.]+", value)}
        if shape.tag == "line":
            path = Path([(numbers["x1"], numbers["y1"]), (numbers["x2"], numbers["y2"])])
            axes.add_artist(PathPatch(path, **_look(shape, scale, filled=False)))
        elif shape.tag == "rect":
            axes.add_artist(
                Rectangle((numbers["x"], numbers["y"]), numbers["width"], numbers["height"], **_look(shape, scale))
            )
        elif shape.tag == "circle":
            axes.add_artist(Circle((numbers["cx"], numbers["cy"]), numbers["r"], **_look(shape, scale)))
        elif shape.tag == "path":
            axes.add_artist(PathPatch(Path(*_path(shape.get("d", ""))), **_look(shape, scale)))
        elif shape.tag == "text":
            turned = _TURNED.match(shape.get("transform", ""))
            words = shape.text or ""
            axes.text(
                numbers["x"],
                numbers["y"],
                words.replace("$", r"\$"),
                color=shape.get("fill"),
                fontproperties=FontProperties(fname=_face_for(words, faces) if faces else None),
                fontsize=float(shape.get("font-size", FONT)) * larger * scale,
                ha={"middle": "center", "end": "right"}.get(shape.get("text-anchor", ""), "left"),
                va="baseline",
                rotation=-float(turned[1]) if turned else 0,
                rotation_mode="anchor",
            )


def _look(shape: ElementTree.Element, scale: float, *, filled: bool = True) -> dict[str, Any]:
    """Colours, opacity and dashes under their matplotlib names."""
    opacity = float(shape.get("opacity", 1))
    fill, stroke = shape.get("fill", "none"), shape.get("stroke", "none")
    dashes = [float(part) for part in shape.get("stroke-dasharray", "none").split() if part != "none"]
    width = float(shape.get("stroke-width", 1))
    return {
        "facecolor": _with_alpha(fill if filled else "none", opacity * float(shape.get("fill-opacity", 1))),
        "edgecolor": _with_alpha(stroke, opacity * float(shape.get("stroke-opacity", 1))),
        "linewidth": width * scale if stroke != "none" else 0,
        "linestyle": (0, tuple(part / width for part in dashes)) if dashes else "solid",
        "capstyle": "butt",
    }


def _with_alpha(colour: str, alpha: float) -> Any:
    return "none" if colour == "none" else (colour, alpha)


def _path(d: str) -> tuple[list[tuple[float, float]], list[int]]:
    """The corners of absolute moves and lines, and matplotlib's codes for them: 1 move, 2 line, 79 close."""
    corners: list[tuple[float, float]] = []
    codes: list[int] = []
    for part in d.split("M")[1:]:
        points = [(float(x), float(y)) for x, y in (point.split(",") for point in part.rstrip("Z").split("L"))]
        corners += points
        codes += [1] + [2] * (len(points) - 1)
        if part.endswith("Z"):
            corners.append(points[0])
            codes.append(79)
    return corners, codes
