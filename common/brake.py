"""Limits per address: on wrong passwords, at every sign-in page, and on scarce things.

Wrong passwords are counted per address and name, and per address. Past either limit, no password is checked until the
window ends. They are also counted per name over all addresses, but past that limit sign-ins are only slowed to one
attempt a minute; otherwise anybody could lock anybody out by typing nonsense. This last limit does not apply to an
address from which the user has signed in before. An attempt counts before its password is checked, so parallel guesses
get no further than guesses one after another.

Scarce things are counted when they are taken, and no longer counted once they are used properly (``take``,
``give_back``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.core.files import locks
from django.http import HttpRequest

from common.languages import marked

#: All attempts are forgotten this long after the last one that was counted.
WINDOW_SECONDS = 15 * 60
#: Wrong passwords from one address: for one user name, and for all names. A class or a lab may share an address.
MOST_FOR_A_NAME, MOST_FOR_AN_ADDRESS = 10, 100
#: Wrong passwords for one user name, from all addresses together. After that, one attempt per this many seconds.
MOST_FOR_AN_ACCOUNT, SLOWED_SECONDS = 30, 60
#: How long an address counts as familiar for a user who has signed in from it.
FAMILIAR_SECONDS = 30 * 24 * 3600
WAIT = marked("There were too many wrong passwords. Wait 15 minutes, then try again.")
#: The prefix of an IPv6 address that one customer gets. Within it, they can choose any address.
IPV6_PREFIX = 64


@dataclass(frozen=True, slots=True)
class _Keys:
    """Where the cache counts wrong passwords: for the name at the address, the address, the name anywhere. ``turn``
    exists while a slowed account has used its attempt, ``familiar`` if the user has signed in from the address."""

    name: str
    address: str
    account: str
    turn: str
    familiar: str


def may_try(request: HttpRequest, name: str) -> bool:
    """Whether a password for this name can be checked now. If so, it counts as wrong until ``forgive``."""
    keys = _keys(request, name)
    with _alone():
        if _is_full(keys.name, MOST_FOR_A_NAME) or _is_full(keys.address, MOST_FOR_AN_ADDRESS) or not _has_turn(keys):
            return False
        return _count(keys.name, MOST_FOR_A_NAME) and _count(keys.address, MOST_FOR_AN_ADDRESS)


def forgive(request: HttpRequest, name: str) -> None:
    """For the right password: forget the wrong ones for this name, and do not count this one for the address."""
    keys = _keys(request, name)
    with _alone(), suppress(OSError):
        cache.delete(keys.name)
        _count_back(keys.address)
        if not cache.get(keys.familiar):
            _count_back(keys.account)
        cache.set(keys.familiar, 1, FAMILIAR_SECONDS)


def take(request: HttpRequest, scope: str, *, most: int, seconds: int) -> str:
    """A receipt for one more of ``scope`` for the request's address; empty if the address already has ``most``.

    All are forgotten ``seconds`` after the first was taken.
    """
    key = _hashed("taken", scope, address_of(request))
    with _alone(), suppress(OSError):
        cache.add(key, 0, seconds)
        if cache.get(key, 0) >= most:
            return ""
        with suppress(ValueError):  # it expired a moment ago
            cache.incr(key)
    return key


def give_back(receipt: str) -> None:
    """Stop counting what ``take`` returned this receipt for."""
    with _alone(), suppress(OSError, ValueError):
        if cache.get(receipt, 0) > 0:
            cache.decr(receipt)


def address_of(request: HttpRequest) -> str:
    """Where the request comes from, for counting: of an IPv6 address, the network that one customer gets."""
    address = source_of(request)
    if isinstance(address, IPv6Address):
        return str(IPv6Network((address, IPV6_PREFIX), strict=False))
    return str(address or request.META.get("REMOTE_ADDR", ""))


def source_of(request: HttpRequest) -> IPv4Address | IPv6Address | None:
    """Where the request comes from; None from a socket file. Only the entries that trusted proxies wrote in
    ``X-Forwarded-For`` count."""
    direct = str(request.META.get("REMOTE_ADDR", ""))
    trusted = {_parsed(proxy) for proxy in settings.PROXY_IPS}
    sources = [direct, *reversed(request.headers.get("X-Forwarded-For", "").split(","))]
    address = None
    for source in sources:
        parsed = _parsed(source)
        if parsed is None:
            break
        address = parsed
        if address not in trusted:
            break
    return address


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    """The address, or the IPv4 address that an IPv6 address maps to."""
    try:
        address = ip_address(text.strip())
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _count(key: str, most: int) -> bool:
    """Count one more, unless there are already ``most``. False if there are. A full disk locks nobody out."""
    with suppress(OSError):
        if cache.get(key, 0) >= most:
            return False
        cache.add(key, 0, WINDOW_SECONDS)
        try:
            counted = cache.incr(key)
        except ValueError:  # it expired a moment ago
            counted = 1
            cache.set(key, counted, WINDOW_SECONDS)
        cache.touch(key, WINDOW_SECONDS)
        return counted <= most
    return True


def _is_full(key: str, most: int) -> bool:
    with suppress(OSError):
        return bool(cache.get(key, 0) >= most)
    return False


def _has_turn(keys: _Keys) -> bool:
    """Whether the account allows an attempt, from any address."""
    with suppress(OSError):
        if cache.get(keys.familiar) or _count(keys.account, MOST_FOR_AN_ACCOUNT):
            return True
        cache.touch(keys.account, WINDOW_SECONDS)  # the guessing goes on, so the window does not end
        if not cache.add(keys.turn, 1, SLOWED_SECONDS):
            return False
        with suppress(ValueError):
            cache.incr(keys.account)
    return True


def _count_back(key: str) -> None:
    with suppress(ValueError):
        cache.decr(key)
        cache.touch(key, WINDOW_SECONDS)


@contextmanager
def _alone() -> Iterator[None]:
    """Memory and Redis count atomically. Files do not, so processes that count in files wait for each other."""
    folder = getattr(cache, "_dir", None)  # Django's file-based cache has one, and no public name for it
    with ExitStack() as stack:
        if folder is not None:
            with suppress(OSError):
                lock = stack.enter_context((Path(folder) / "sign-in.lock").open("ab"))
                locks.lock(lock, locks.LOCK_EX)
        yield


def _keys(request: HttpRequest, name: str) -> _Keys:
    address, name = address_of(request), name.casefold()
    return _Keys(
        name=_key(address, name),
        address=_key(address),
        account=_key("account", name, ""),
        turn=_key("turn", name, ""),
        familiar=_key("known", name, address),
    )


def _key(*parts: str) -> str:
    return _hashed("wrong-passwords", *parts)


def _hashed(kind: str, *parts: str) -> str:
    """A key that does not reveal an address."""
    return f"{kind}-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()
