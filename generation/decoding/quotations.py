"""Which quotation marks of a text have no partner. Apostrophes are not quotation marks.

Straight marks look the same at both ends of a quotation, so where they are decides which end it is: a mark opens one
after white space, a bracket or a dash (or at the beginning) if it touches what follows, and closes one otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

# By each mark that can open a quotation, the marks that can close it, the likeliest first. German books print »so« and
# „so“, French ones « ainsi », Polish ones „tak”, Swedish and Finnish ones ”så” or »så».
_CLOSED_BY = {
    "“": "”",
    "”": "”",
    "„": "“”",
    "‚": "‘’",
    "«": "»",
    "»": "«»",
    "‹": "›",
    "›": "‹›",
    "「": "」",
    "『": "』",
    "‘": "’",
    '"': '"',
    "'": "'",
}
_SINGLE = "'’"
_QUOTES = "".join(sorted({*_CLOSED_BY, *"".join(_CLOSED_BY.values())}))
_BRACKETS_AND_DASHES = "([{—–-/"
# Words that begin with an apostrophe: ’tis, ’em, ’90s. Also what follows a name that the story ends with: ’s.
_ELISION = re.compile(
    r"['‘’](?:tis|twas|twere|twill|em|til|till|cause|cos|bout|round|neath|ere|er|im|n|ow|ave|s|ll|re|ve|d|\d\ds?)\b",
    re.IGNORECASE,
)


class Unpartnered(NamedTuple):
    """``opened``: the marks of the quotations still open at the end, the outermost first. ``stray``: the marks that
    close or open one where none can be."""

    opened: str
    stray: str


def unpartnered(text: str) -> Unpartnered:
    """What the quotations of a text lack."""
    opened, stray = "", ""
    for position, mark in enumerate(text):
        if mark not in _QUOTES:
            continue
        previous, following = text[max(0, position - 1) : position], text[position + 1 : position + 2]
        opens = _opens(text, position)
        if mark in _SINGLE and (following.isalnum() or previous.isspace() or not previous) and not opens:
            continue  # an apostrophe inside a word, or at its beginning
        closable = [number for number, opening in enumerate(opened) if mark in _CLOSED_BY[opening]]
        if closable and not (mark in "\"'" and opens):
            opened = opened[: closable[-1]]
        elif opens and mark not in opened:
            opened += mark
        elif not (mark in _SINGLE or _ELISION.match(text, position) or (mark == '"' and previous.isdigit())):
            stray += mark  # neither an apostrophe nor inches
    return Unpartnered(opened, stray)


def has_whole_quotations(text: str) -> bool:
    """Whether every quotation mark of the text has its partner."""
    return unpartnered(text) == ("", "")


def with_closed_quotation(text: str, *, before: str = "") -> str:
    """The text, with the mark that its only open quotation lacks; empty if no mark at its end could repair it.

    ``before`` is what the text continues. A quotation that is open there may end in the text, or later.
    """
    opened, stray = unpartnered(text)
    closable = Counter(mark for opening in unpartnered(before).opened for mark in _CLOSED_BY[opening])
    if len(opened) > 1 or Counter(stray) - closable:
        return ""
    missing = _CLOSED_BY[opened][0] if opened else ""
    space = " " if missing == "»" and "« " in text else ""  # as French is printed
    return text + space + missing


def _opens(text: str, position: int) -> bool:
    """Whether the mark at this place can begin a quotation."""
    mark, previous, following = text[position], text[max(0, position - 1) : position], text[position + 1 : position + 2]
    if mark not in _CLOSED_BY or (mark in "'‘" and _ELISION.match(text, position)):
        return False
    begins = not previous or previous.isspace() or previous in _BRACKETS_AND_DASHES
    if mark in "»›”":  # these close a quotation more often
        return begins and following.isalnum()
    if mark in "\"'":
        after_quote = previous in _QUOTES and following.isalnum()
        return after_quote or (begins and bool(following) and not following.isspace())
    return begins or previous in _QUOTES or mark in "“„‚「『"
