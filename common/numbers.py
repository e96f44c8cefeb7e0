"""Numbers in untrusted input."""

from __future__ import annotations

from typing import NoReturn


def whole_number(text: str, *, least: int, most: int) -> int | None:
    """The number that ``text`` contains in plain digits; None if it is anything else or out of range.

    ``int`` alone raises an error for more than 4,300 digits, and accepts spaces, underscores and digits of all scripts.
    """
    if not text.isascii() or not text.isdigit() or len(text.lstrip("0")) > len(str(most)):
        return None
    number = int(text.lstrip("0") or "0")
    return number if least <= number <= most else None


def refuse_constant(name: str) -> NoReturn:
    """The ``parse_constant`` of ``json.loads``: Python reads NaN and Infinity, which JSON does not have."""
    raise ValueError(f"{name} is not a number in JSON")
