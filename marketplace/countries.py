"""Country codes: the two letters of ISO 3166-1."""

from __future__ import annotations

import iso3166


def checked_code(typed: str) -> str:
    """The code in capital letters; an empty string stays empty. Raises ValueError."""
    code = typed.strip().upper()
    if code and not is_code(code):
        raise ValueError(f"“{code[:20]}” is not a country code. Use two letters of ISO 3166, such as DE or US.")
    return code


def is_code(code: str) -> bool:
    return code in iso3166.countries_by_alpha2
