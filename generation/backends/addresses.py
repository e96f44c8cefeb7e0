"""The addresses of the servers that serve one model: one, or several with commas between them, each with a weight.

``http://gpu-1:8000/v1, http://gpu-2:8000/v1*2``: the second gets twice as many requests at once as the first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

MOST_SERVERS, MOST_WEIGHT, MOST_CHARACTERS = 64, 100, 2000
_WEIGHT = re.compile(r"(.+?)\s*\*\s*(\d{1,4})")


class AddressError(ValueError):
    """An address that cannot be used. The message names it."""


@dataclass(frozen=True)
class Address:
    """``weight``: how many requests it gets, compared with the others."""

    url: str
    weight: int = 1


def read_addresses(text: str) -> list[Address]:
    """The addresses in their order. Raises AddressError."""
    if not text.strip():
        raise AddressError("The address is missing.")
    addresses: list[Address] = []
    parts_given = text.split(",")
    for number, part in enumerate(parts_given, start=1):
        weighted = _WEIGHT.fullmatch(part.strip())
        url = (weighted[1] if weighted else part).strip().rstrip("/")
        weight = int(weighted[2]) if weighted else 1
        try:
            parts = urlsplit(url)
            bad = parts.scheme not in ("http", "https") or not parts.netloc or bool(parts.username) or parts.port == 0
        except ValueError:
            bad = True
        if bad:
            which = f"Number {number} of the addresses" if len(parts_given) > 1 else "This"
            raise AddressError(f"{which} is not the address of a server.")  # it may hold a key
        if not 1 <= weight <= MOST_WEIGHT:
            raise AddressError(f"The weight of {url} is {weight}; use 1 to {MOST_WEIGHT}.")
        if url in {address.url for address in addresses}:
            raise AddressError(f"{url} is there twice.")
        addresses.append(Address(url, weight))
    if len(addresses) > MOST_SERVERS or len(text) > MOST_CHARACTERS:
        raise AddressError(f"There are {len(addresses)} addresses; use at most {MOST_SERVERS}.")
    return addresses
