"""Numbers as people type them."""

from __future__ import annotations

import re
import unicodedata

_NUMBER = re.compile(r"[+-]?(\d{1,12}([.,]\d{0,9})?|[.,]\d{1,9})")
_MINUS = str.maketrans({"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "٫": "."})


def number_typed(text: str) -> float | None:
    """The number in a text; None if there is none. A comma may stand for the decimal point, and digits may be those of
    any script. Exponents, infinity and thousands separators are no numbers here."""
    plain = "".join(str(unicodedata.decimal(character, character)) for character in text.strip().translate(_MINUS))
    return float(plain.replace(",", ".")) if _NUMBER.fullmatch(plain) else None
