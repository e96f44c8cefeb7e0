"""The page of a report, from its sections."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from analysis.plots.image_files import png, standalone_svg
from analysis.report.blocks import Figure, Section
from common.words import moment_in_utc

#: The key of the section that answers first.
FINDINGS = "findings"
#: The section whose highlights are shown beside findings, which say what all others found.
DATA = "data"
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined
)


def downloads(figure: Figure) -> list[tuple[str, str, str]]:
    """The plot as files within the page: format, file name, address."""
    files = {"svg": ("image/svg+xml", standalone_svg(figure.svg).encode()), "png": ("image/png", png(figure.svg))}
    return [
        (kind.upper(), f"{figure.key}.{kind}", f"data:{media};base64,{b64encode(content).decode()}")
        for kind, (media, content) in files.items()
    ]


TEMPLATES.globals["downloads"] = downloads


def render_page(*, sections: Sequence[Section], made_at: datetime, **context: object) -> str:
    answers_first = any(section.key == FINDINGS for section in sections)
    shown = [section for section in sections if not answers_first or section.key == DATA]
    highlights = [highlight for section in shown for highlight in section.highlights]
    page = TEMPLATES.get_template("page.html")
    context |= {"answers_first": answers_first, "made_at": moment_in_utc(made_at)}
    return page.render(sections=sections, highlights=highlights, **context)
