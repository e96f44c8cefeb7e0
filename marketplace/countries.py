"""Country codes: the two letters of ISO 3166-1."""

from __future__ import annotations

import iso3166

from common.languages import gettext as _


def checked_code(typed: str) -> str:
    """The code in capital letters; an empty string stays empty. Raises ValueError."""
    code = typed.strip().upper()
    if code and not is_code(code):
        strange = _("“%(code)s” is not a country code. Use two letters of ISO 3166, such as DE or US.")
        raise ValueError(strange % {"code": code[:20]})
    return code


def is_code(code: str) -> bool:
    return code in iso3166.countries_by_alpha2
