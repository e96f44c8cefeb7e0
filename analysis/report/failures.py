"""A section that fails shows its error in its place, and the rest of the report stands."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from analysis.report.blocks import Note, Section
from analysis.report.files import NUMBERS
from analysis.report.source import Source

log = logging.getLogger(__name__)


def made_or_failed(source: Source, key: str, title: str, make: Callable[[Source], Section | None]) -> Section | None:
    """The section, or one with this ``key`` and ``title`` that shows why it could not be made.

    Errors of the kinds in ``source.stops`` are raised, and MemoryError, which the other sections would meet too.
    """
    stops: tuple[type[Exception], ...] = (MemoryError, *source.stops)
    try:
        return source.attempt(make)
    except stops:
        raise
    except Exception as error:
        return failed(source.key(key), title, error)


def failed(key: str, title: str, error: Exception) -> Section:
    text = (
        f"This section could not be made because of an error: {in_words(error)}. The other sections do not depend on "
        "it. The log has the details."
    )
    return Section(key, title, [Note(text, "warning")], error=error)


def in_words(error: Exception) -> str:
    """The error as the end of a sentence, without a full stop."""
    return f"{type(error).__name__}: {error}".strip().rstrip(".:")


def log_failed(sections: Iterable[Section], subject: str) -> None:
    """Log each failed section with its traceback."""
    for section in sections:
        if section.error is not None:
            log.error("The section “%s” of %s could not be made", section.title, subject, exc_info=section.error)


def failed_sections(out_dir: Path) -> list[str]:
    """A line for each section that failed in the report in this folder."""
    sections = json.loads((out_dir / NUMBERS).read_text("utf-8"))["sections"].values()
    return [
        f"The section “{section['title']}” could not be made: {section['error']}."
        for section in sections
        if "error" in section
    ]
