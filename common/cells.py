"""Cells that a spreadsheet would run as a formula, made safe so that the text comes back exactly.

A text is at risk when a spreadsheet could run it as a formula: it begins with ``= + - @`` (or a full-width or small
form of these), with white space or invisible characters before one, or with a tab or line break. Such a text gets one
extra apostrophe in front, even if it already starts with apostrophes. So removing one apostrophe always restores it.
Plain numbers such as -1.5 are not formulas and stay numbers. Apostrophes anywhere else ('tis) do not change.
"""

from __future__ import annotations

import re

_SIGNS = "=+@＝＋－＠﹦﹢﹣﹫-"
_BLANK = "\x00-\x20\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
_AT_RISK = re.compile(f"'*(?:[\t\n\r]|[{_BLANK}]*[{_SIGNS}])")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: A text that begins with none of these is safe: one look-up instead of a search for most cells.
SUSPECT = frozenset(char for char in map(chr, range(0x10000)) if re.match(f"['{_BLANK}{_SIGNS}]", char))


def protect_cell(text: str) -> str:
    """``text`` in the form that goes into a CSV file."""
    return f"'{text}" if text[:1] in SUSPECT and _at_risk(text) else text


def restore_cell(cell: str) -> str:
    """The original text of a cell that ``protect_cell`` made. Only for cells in our own CSV files."""
    return cell[1:] if cell[:1] == "'" and _at_risk(cell[1:]) else cell


def _at_risk(text: str) -> bool:
    return bool(_AT_RISK.match(text)) and not _NUMBER.fullmatch(text)
