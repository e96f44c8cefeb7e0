"""A section that fails shows its error in its place, and the rest of the report stands."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from analysis.report.blocks import Note, Section, error_in_words
from analysis.report.source import Source

log = logging.getLogger(__name__)


def make_or_show_error(
    source: Source, key: str, title: str, make: Callable[[Source], Section | None]
) -> Section | None:
    """The section, or one with this ``key`` and ``title`` that shows why it could not be made.

    Errors of the kinds in ``source.stops`` are raised, and MemoryError, which the other sections would meet too.
    """
    stops: tuple[type[Exception], ...] = (MemoryError, *source.stops)
    try:
        return source.attempt(make)
    except stops:
        raise
    except Exception as error:
        text = (
            f"This section could not be made because of an error: {error_in_words(error)}. The other sections do "
            "not depend on it. The log has the details."
        )
        return Section(source.key(key), title, [Note(text, "warning")], error=error)


def log_errors(sections: Iterable[Section], subject: str) -> None:
    """Log the error of each section that failed, with its traceback."""
    for section in sections:
        if section.error is not None:
            log.error("The section “%s” of %s could not be made", section.title, subject, exc_info=section.error)
