"""Cells that a spreadsheet would run as a formula, made safe so that the text comes back exactly.

A text is at risk when a spreadsheet could run it as a formula: it begins with ``= + - @`` (or a full-width or small
form of these), with white space or invisible characters before one, or with a tab or line break. Such a text gets one
extra apostrophe in front, even if it already starts with apostrophes. So removing one apostrophe always restores it.
Plain numbers such as -1.5 are not formulas and stay numbers. Apostrophes anywhere else ('tis) do not change.
"""

from __future__ import annotations

import re

_SIGNS = "=+@＝＋－＠﹦﹢﹣﹫-"
#: White space and invisible characters: first and last of each range.
_RANGES = (
    *((0x00, 0x20), (0x7F, 0xA0), (0xAD, 0xAD), (0x61C, 0x61C), (0x1680, 0x1680), (0x180E, 0x180E)),
    *((0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)),
)
_BLANK = "".join(f"{chr(first)}-{chr(last)}" for first, last in _RANGES)
_AT_RISK = re.compile(f"'*(?:[\t\n\r]|[{_BLANK}]*[{_SIGNS}])")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: A text that begins with none of these is safe: one look-up instead of a search for most cells.
SUSPECT = frozenset(["'", *_SIGNS, *(chr(code) for first, last in _RANGES for code in range(first, last + 1))])


def protect_cell(text: str) -> str:
    """``text`` in the form that goes into a CSV file."""
    return f"'{text}" if text[:1] in SUSPECT and _at_risk(text) else text


def restore_cell(cell: str) -> str:
    """The original text of a cell that ``protect_cell`` made. Only for cells in our own CSV files."""
    return cell[1:] if cell[:1] == "'" and _at_risk(cell[1:]) else cell


def _at_risk(text: str) -> bool:
    return bool(_AT_RISK.match(text)) and not _NUMBER.fullmatch(text)
