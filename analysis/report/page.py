"""The page of a report, from its sections."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from analysis.plots.image_files import standalone_svg
from analysis.report.blocks import Figure, Section
from analysis.report.png_files import mark_of
from common.words import moment_in_utc

#: The key of the section that answers first.
FINDINGS = "findings"
#: The section whose highlights are shown beside findings, which say what all others found.
DATA = "data"
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined
)


def svg_address(figure: Figure) -> str:
    """The plot as a file within the page."""
    return f"data:image/svg+xml;base64,{b64encode(standalone_svg(figure.svg).encode()).decode()}"


def png_mark(figure: Figure) -> Markup:
    return Markup(mark_of(figure.key))  # noqa: S704 - keys are ours


TEMPLATES.globals |= {"svg_address": svg_address, "png_mark": png_mark}


def render_page(*, sections: Sequence[Section], made_at: datetime, **context: object) -> str:
    answers_first = any(section.key == FINDINGS for section in sections)
    shown = [section for section in sections if not answers_first or section.key == DATA]
    highlights = [highlight for section in shown for highlight in section.highlights]
    page = TEMPLATES.get_template("page.html")
    context |= {"answers_first": answers_first, "made_at": moment_in_utc(made_at)}
    return page.render(sections=sections, highlights=highlights, **context)
