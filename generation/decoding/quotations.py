"""Which quotation marks of a text have no partner. Apostrophes are not quotation marks.

Straight marks look the same at both ends of a quotation, so where they are decides which end it is: a mark opens one
after white space, a bracket or a dash (or at the beginning) if it touches what follows, and closes one otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

# By each mark that can open a quotation, the mark that closes it. German books print »so«, French ones « ainsi ».
_CLOSED_BY = {"“": "”", "„": "“", "«": "»", "»": "«", "「": "」", "『": "』", "‘": "’", '"': '"', "'": "'"}
_CLOSING = frozenset(_CLOSED_BY.values())
_SINGLE = "'’"
_QUOTES = "".join(sorted({*_CLOSED_BY, *_CLOSING}))
_BRACKETS_AND_DASHES = "([{—–-/"
# Words that begin with an apostrophe: ’tis, ’em, ’90s. Also what follows a name that the story ends with: ’s.
_ELISION = re.compile(
    r"['‘’](?:tis|twas|twere|twill|em|til|till|cause|cos|bout|round|neath|ere|er|im|n|ow|ave|s|ll|re|ve|d|\d\ds?)\b",
    re.IGNORECASE,
)


class Unpartnered(NamedTuple):
    """``missing``: the marks that would close the quotations still open at the end, the outermost first. ``stray``: the
    marks that close or open one where none can be."""

    missing: str
    stray: str


def unpartnered(text: str) -> Unpartnered:
    """What the quotations of a text lack."""
    missing, stray = "", ""
    for at, mark in enumerate(text):
        if mark not in _QUOTES:
            continue
        previous, following = text[max(0, at - 1) : at], text[at + 1 : at + 2]
        if mark in _SINGLE and (following.isalnum() or previous.isspace() or not previous) and not _opens(text, at):
            continue  # an apostrophe inside a word, or at its beginning
        if mark in missing and not (mark in "\"'" and _opens(text, at)):
            missing = missing[: missing.rindex(mark)]
        elif _opens(text, at) and _CLOSED_BY[mark] not in missing:
            missing += _CLOSED_BY[mark]
        elif mark not in _SINGLE and not (mark == '"' and previous.isdigit()):  # not an apostrophe, nor inches
            stray += mark
    return Unpartnered(missing, stray)


def has_whole_quotations(text: str) -> bool:
    """Whether every quotation mark of the text has its partner."""
    return unpartnered(text) == ("", "")


def with_closed_quotation(text: str, *, before: str = "") -> str:
    """The text, with the mark that its only open quotation lacks; empty if no mark at its end could repair it.

    ``before`` is what the text continues. A quotation that is open there may end in the text, or later.
    """
    missing, stray = unpartnered(text)
    began = unpartnered(before).missing
    if len(missing) > 1 or Counter(stray) - Counter(began):
        return ""
    space = " " if missing == "»" and "« " in text else ""  # as French is printed
    return text + space + missing


def _opens(text: str, at: int) -> bool:
    """Whether the mark at this place can begin a quotation."""
    mark, previous, following = text[at], text[max(0, at - 1) : at], text[at + 1 : at + 2]
    if mark not in _CLOSED_BY or (mark in "'‘" and _ELISION.match(text, at)):
        return False
    begins = not previous or previous.isspace() or previous in _BRACKETS_AND_DASHES
    if mark == "»":
        return begins and following.isalnum()
    if mark in "\"'":
        after_quote = previous in _QUOTES and following.isalnum()
        return after_quote or (begins and bool(following) and not following.isspace())
    return begins or previous in _QUOTES or mark in "“„「『"
