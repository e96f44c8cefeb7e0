"""Cells that a spreadsheet would run as a formula, made safe so that the text comes back exactly.

A text is at risk when a spreadsheet may take it for a formula: it begins with ``= + - @`` (or a full-width or small
form of these), with white space or invisible characters before one, or with a tab or line break. Such a text gets one
apostrophe in front. So does one at risk behind apostrophes of its own, which is why taking one away is always right.
Plain numbers such as -1.5 are no formulas and stay numbers; apostrophes anywhere else ('tis) stay alone.
"""

from __future__ import annotations

import re

_SIGNS = "=+@＝＋－＠﹦﹢﹣﹫-"
_BLANK = "\x00-\x20\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
_AT_RISK = re.compile(f"'*(?:[\t\n\r]|[{_BLANK}]*[{_SIGNS}])")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: Whatever begins with none of these is safe: one look-up instead of a search for most cells.
SUSPECT = frozenset(char for char in map(chr, range(0x10000)) if re.match(f"['{_BLANK}{_SIGNS}]", char))


def protect_cell(text: str) -> str:
    """``text`` as it is written into a CSV file."""
    return f"'{text}" if text[:1] in SUSPECT and _at_risk(text) else text


def restore_cell(cell: str) -> str:
    """The text that ``protect_cell`` was given. Only for cells of our own CSV files."""
    return cell[1:] if cell[:1] == "'" and _at_risk(cell[1:]) else cell


def _at_risk(text: str) -> bool:
    return bool(_AT_RISK.match(text)) and not _NUMBER.fullmatch(text)
