"""Prose for a paper, as Markdown and as LaTeX, with citations, blanks, and numbers that lead to report.json."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from analysis.paper.latex import escape
from analysis.report.estimates import number
from common.words import counted, money

# Characters that no text by people contains (`escape` leaves them out) mark what is not words.
_CITE, _BLANK, _END = "\x01", "\x02", "\x03"
_MARK = re.compile(f"[{_CITE}{_BLANK}][^{_END}]*{_END}")
_STRAY = re.compile(f"[{_CITE}{_BLANK}{_END}]")


def cite(*keys: str, where: str = "") -> str:
    """A citation of entries of references.bib, with a space before it; ``where``: the place in the last one."""
    return f" {_CITE}{','.join(keys)}{f'|{words(where)}' if where else ''}{_END}"


def blank(what: str) -> str:
    """What the study does not know, marked as a blank."""
    return f"{_BLANK}{what}{_END}"


def words(text: str) -> str:
    """Somebody's text, on one line, without marks."""
    return " ".join(_STRAY.sub("", text).split())


def quoted(text: str) -> str:
    return f"“{words(text)}”"


def listed(parts: Sequence[str]) -> str:
    """a, b and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences under a heading. ``warning``: they must not be overlooked."""

    heading: str
    sentences: Sequence[str]
    warning: bool = False


def keys_in(paragraphs: Iterable[Paragraph]) -> list[str]:
    """The keys of everything cited, once each, in the order of the text."""
    marks = (mark for paragraph in paragraphs for mark in _MARK.findall(" ".join(paragraph.sentences)))
    keys = (key for mark in marks if mark[0] == _CITE for key in mark[1:-1].partition("|")[0].split(","))
    return list(dict.fromkeys(keys))


def as_markdown(title: str, paragraphs: Iterable[Paragraph]) -> str:
    """Citations as pandoc reads them."""
    parts = [f"# {title}\n"]
    for paragraph in paragraphs:
        text = _MARK.sub(_in_markdown, " ".join(paragraph.sentences))
        start = "> **Warning.** " if paragraph.warning else ""
        parts.append(f"## {paragraph.heading}\n\n{start}{text}\n")
    return "\n".join(parts)


def _in_markdown(match: re.Match[str]) -> str:
    mark, inner = match[0][0], match[0][1:-1]
    if mark == _BLANK:
        return f"**[… {inner}]**"
    keys, _, where = inner.partition("|")
    return f"[{'; '.join(f'@{key}' for key in keys.split(','))}{f', {where}' if where else ''}]"


def as_plain(text: str) -> str:
    """Prose without citations; blanks marked."""
    return _MARK.sub(_in_markdown, re.sub(f" ?{_CITE}[^{_END}]*{_END}", "", text))


def as_latex(paragraphs: Iterable[Paragraph]) -> str:
    """Paragraphs to read with ``\\input``."""
    parts = []
    for paragraph in paragraphs:
        text = latex_of(" ".join(paragraph.sentences), bold=paragraph.warning)
        parts.append(f"\\paragraph{{{escape(paragraph.heading)}.}}\n{text}\n")
    return "\n".join(parts)


def latex_of(text: str, *, bold: bool = False) -> str:
    """Prose with marks as LaTeX."""
    parts, end = [], 0
    for match in _MARK.finditer(text):
        parts.append(escape(text[end : match.start()]))
        mark, inner = match[0][0], match[0][1:-1]
        keys, _, where = inner.partition("|")
        place = f"[{escape(where)}]" if where else ""
        parts.append(f"\\citep{place}{{{keys}}}" if mark == _CITE else f"\\blank{{{escape(inner)}}}")
        end = match.end()
    parts.append(escape(text[end:]))
    joined = "".join(parts)
    return f"\\textbf{{{joined}}}" if bold else joined


@dataclass
class Numbers:
    """The numbers of report.json as the prose shows them, and where each is from.

    Every method takes the way to a value by keys and positions. `used` has a row for each: what is shown, and the
    value's place as a JSON pointer (RFC 6901).
    """

    report: Mapping[str, Any]
    used: list[tuple[str, str]] = field(default_factory=list)

    def value(self, *way: str | int) -> Any:
        """The value there, or None."""
        value: Any = self.report
        for step in way:
            if isinstance(value, Mapping):
                value = value.get(str(step))
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return None
        return value

    def shown(self, text: str, *way: str | int) -> str:
        """The text, recorded as the value there."""
        pointer = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in way)
        self.used.append((text, pointer))
        return text

    def count(self, *way: str | int) -> str:
        return self.shown(f"{self.value(*way):,}", *way)

    def counted(self, thing: str, *way: str | int) -> str:
        """``1 item``, ``2,000 items``."""
        return self.counted_as(thing, "", *way)

    def counted_as(self, thing: str, plural: str, *way: str | int) -> str:
        """The same, where the plural is not regular."""
        shown = counted(self.value(*way), thing, plural)
        self.shown(shown.split(" ", 1)[0], *way)
        return shown

    def figure(self, *way: str | int, digits: int = 2) -> str:
        return self.shown(number(float(self.value(*way)), digits), *way)

    def money(self, *way: str | int) -> str:
        """Amounts as they are; what was computed, to the cent."""
        value = self.value(*way)
        amount = Decimal(f"{value:.2f}") if isinstance(value, float) else Decimal(str(value))
        return self.shown(money(amount), *way)

    def percent(self, *way: str | int) -> str:
        return self.shown(f"{100 * float(self.value(*way)):.0f}%", *way)

    def estimate(self, *way: str | int, digits: int = 2) -> str:
        """0.74 [0.61, 0.85]."""
        value = self.figure(*way, "value", digits=digits)
        if self.value(*way, "low") is None:
            return value
        low = self.figure(*way, "low", digits=digits)
        return f"{value} [{low}, {self.figure(*way, 'high', digits=digits)}]"
