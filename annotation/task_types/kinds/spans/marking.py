"""What a worker's page sends about marked spans: one line for each.

``12-17 major accuracy: the words`` has code points from 0, a severity and perhaps a label, and is what the page's
script writes. Without the script, people write ``major accuracy: the words``, and the words are looked up in the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from analysis.spans import Span
from annotation.languages import gettext
from annotation.task_types.questions import AnswerError
from common.text_length import is_between_characters

#: Stands for the words of something that the text lacks.
MISSING = "[missing]"
_LINE = re.compile(r"(?:(\d{1,6})-(\d{1,6})\s+)?([^\s:]+)(?:\s+([^\s:]+))?\s*:\s*(.*)")


class Marking:
    """Reads the lines about one text. Errors are for the worker."""

    def __init__(self, text: str, severities: Sequence[str], labels: Sequence[str], *, missing: bool) -> None:
        self.text, self.severities, self.labels, self.missing = text, severities, labels, missing

    def read(self, raw: str) -> list[Span]:
        """The spans in the order of the text. Raises AnswerError about the first line that cannot be read."""
        return sorted(self._span(line.strip()) for line in raw.split("\n") if line.strip())

    def _span(self, line: str) -> Span:
        match = _LINE.fullmatch(line)
        if match is None:
            example = f"{self.severities[0]}{f' {self.labels[0]}' if self.labels else ''}: …"
            what = gettext("“%(line)s” cannot be read. Write a line such as “%(example)s”, with the words of the text.")
            raise AnswerError(what % {"line": line[:60], "example": example})
        start, end, severity, label, words = match.groups()
        self._known(severity, self.severities)
        if label or self.labels:
            self._known(label or "", self.labels)
        if words == MISSING and self.missing:
            return Span(len(self.text), len(self.text), severity, label or "", missing=True)
        first, last = (int(start), int(end)) if start else self._found(words)
        if not 0 <= first < last <= len(self.text):
            raise AnswerError(gettext("A mark is outside the text. Please mark the words again."))
        if not (is_between_characters(self.text, first) and is_between_characters(self.text, last)):
            raise AnswerError(gettext("A mark begins or ends inside a character. Please mark the words again."))
        return Span(first, last, severity, label or "")

    def _known(self, name: str, names: Collection[str]) -> None:
        if name not in names:
            what = gettext("“%(name)s” is not one of %(names)s.") % {"name": name[:40], "names": ", ".join(names)}
            raise AnswerError(what)

    def _found(self, words: str) -> tuple[int, int]:
        """Where the words are. They must be there once."""
        count = len(re.findall(f"(?={re.escape(words)})", self.text)) if words else 0  # also where they overlap
        if count == 0:
            what = gettext("“%(words)s” is not in the text. Copy the words from the text.")
            raise AnswerError(what % {"words": words[:60]})
        if count > 1:
            what = gettext("“%(words)s” is in the text %(count)s times. Write some of the words around it, too.")
            raise AnswerError(what % {"words": words[:60], "count": count})
        start = self.text.index(words)
        return start, start + len(words)


def overlapping(spans: Sequence[Span]) -> bool:
    """Whether two spans share a character."""
    placed = sorted((span.start, span.end) for span in spans if not span.missing)
    return any(later[0] < earlier[1] for earlier, later in pairwise(placed))


def twice(spans: Sequence[Span]) -> Span | None:
    """A mark that is there twice, with the same place, severity and label. Several things can be missing."""
    return next((span for number, span in enumerate(spans) if not span.missing and span in spans[:number]), None)


def line_of(span: Span, text: str) -> str:
    """The line that `Marking.read` turns back into the span."""
    named = " ".join(filter(None, (span.severity, span.label)))
    if span.missing:
        return f"{named}: {MISSING}"
    words = " ".join(text[span.start : span.end].split())
    return f"{span.start}-{span.end} {named}: {words}"
