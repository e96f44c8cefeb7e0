"""A brake on guessing passwords: after some wrong ones in a row an address has to wait.

What is counted is an address together with a name, and an address: never a name alone, or anybody could lock anybody
out by typing nonsense from elsewhere.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest

#: How long after the last wrong password they are forgotten.
WINDOW_SECONDS = 15 * 60
#: Wrong passwords from one address: for one user name, and for all.
MOST_FOR_A_NAME, MOST_FOR_AN_ADDRESS = 5, 30
WAIT = "There were too many wrong passwords. Wait a quarter of an hour, then try again."


def address_of(request: HttpRequest) -> str:
    """Where the request comes from; the word of a web server in front of this one is taken for it."""
    direct = str(request.META.get("REMOTE_ADDR", ""))
    forwarded = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
    return forwarded if forwarded and direct in settings.PROXY_IPS else direct


def is_on(
    request: HttpRequest, name: str, *, most: int = MOST_FOR_A_NAME, most_for_address: int = MOST_FOR_AN_ADDRESS
) -> bool:
    """Whether this address has to wait before it may try a password for this name."""
    for_name, for_address = _keys(request, name)
    return bool(cache.get(for_name, 0) >= most or cache.get(for_address, 0) >= most_for_address)


def count(request: HttpRequest, name: str) -> None:
    """One more wrong password. A full disk does not keep anybody out."""
    for key in _keys(request, name):
        with suppress(OSError):
            cache.set(key, cache.get(key, 0) + 1, WINDOW_SECONDS)


def release(request: HttpRequest, name: str) -> None:
    """The right password came: what was counted for this name is forgotten."""
    with suppress(OSError):
        cache.delete(_keys(request, name)[0])


def _keys(request: HttpRequest, name: str) -> tuple[str, str]:
    address = address_of(request)
    return _key(address, name.casefold()), _key(address)


def _key(*parts: str) -> str:
    return "marketplace-wrong-passwords-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()
