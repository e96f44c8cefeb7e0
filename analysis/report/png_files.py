"""The figures of a report as PNG files, drawn from the report's page when somebody wants them.

The page has a plot's shapes, and an invisible mark where the link to its PNG belongs. To draw the PNGs with the page
would take longer than everything else for many studies, and most are never wanted.
"""

from __future__ import annotations

import re
from pathlib import Path

from analysis.report.files import PAGE
from common.files import write_whole

#: The folder with the figures, beside the page.
FIGURES = "figures"
_MARK = re.compile(r"<!--png ([\w-]+)-->")


def mark_of(key: str) -> str:
    """What the page has where the link to a figure's PNG belongs."""
    return f"<!--png {key}-->"


def with_links(page: str) -> str:
    """The page with a link to the PNG of every figure, in the folder beside it."""
    return _MARK.sub(rf' <a download="\1.png" href="{FIGURES}/\1.png">PNG</a>', page)


def png_file(folder: Path, key: str) -> Path | None:
    """The PNG of one figure of the report in this folder, drawn if there is none yet; None if there is no such figure.

    FileNotFoundError: there is no report in the folder.
    """
    file = folder / FIGURES / f"{key}.png"
    if not file.is_file():
        svg = plot_in((folder / PAGE).read_text("utf-8"), key)
        if svg is None:
            return None
        draw(svg, file)
    return file


def save_pngs(folder: Path) -> None:
    """Draw all figures of the report in this folder, and link them in its page."""
    page = (folder / PAGE).read_text("utf-8")
    for key in _MARK.findall(page):
        if svg := plot_in(page, key):
            draw(svg, folder / FIGURES / f"{key}.png")
    write_whole(folder / PAGE, with_links(page))


def plot_in(page: str, key: str) -> str | None:
    """The plot with that key, which `analysis.plots.canvas` has written."""
    plot = re.search(rf'<svg class="plot" role="img" aria-labelledby="{re.escape(key)}-t .*?</svg>', page, re.DOTALL)
    return plot[0] if plot else None


def draw(svg: str, file: Path) -> None:
    from analysis.plots.image_files import png  # the modules that draw take a second to load

    file.parent.mkdir(exist_ok=True)
    write_whole(file, png(svg))
