"""Messages to addresses that users enter. The server must not reach its own network for them.

An address is checked when somebody enters it, and again before each message, because a name can lead elsewhere by then.
The connection goes to the very address that was checked. No redirect is followed, and no proxy is used.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from common.problems import Problem

#: For everything from the connection to the answer.
SECONDS = 10
LONGEST_ANSWER = 4_096
PORTS = {"https": 443, "http": 80}
#: Networks of translators, in which an address leads to any IPv4 address.
TRANSLATED = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))


class Unreachable(Exception):
    """There was no answer. The text says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered: its status and the beginning of its text."""

    status: int
    text: str
    seconds: float


def address_problems(address: str, *, private: bool, where: str = "address") -> list[Problem]:
    """Why no message can go to this address. ``private``: http, and addresses inside the network, are fine.

    Looks the name up. A name that is unknown now is no problem: it may be known when a message is sent.
    """
    try:
        parts = urlsplit(address)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        return [Problem(where, f"This is not an address: {error}.", "Enter one such as https://example.org/hooks.")]
    if parts.scheme not in (PORTS if private else ("https",)) or not host:
        return [Problem(where, "This is not an https address.", "Enter one such as https://example.org/hooks.")]
    if parts.username or parts.password:
        fix = "Leave them out. Messages are signed, so the receiver can recognise them."
        return [Problem(where, "The address contains a user name or a password.", fix)]
    if not address.isascii() or any(character.isspace() for character in address) or port == 0:
        return [Problem(where, "The address contains a character that addresses cannot have.", "Encode it.")]
    try:
        numbers = _lookup(parts)
    except Unreachable:
        return []
    return [] if private or all(map(is_public, numbers)) else [Problem(where, _PRIVATE, _PUBLIC_FIX)]


_PRIVATE = "This address leads into a private network or to this machine."
_PUBLIC_FIX = "Enter one that the internet can reach."


def is_public(number: str) -> bool:
    """Whether an IP address is on the internet: not private, loopback, link-local, shared, reserved or multicast."""
    parsed: IPv4Address | IPv6Address = ip_address(number.partition("%")[0])
    if isinstance(parsed, IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo[1] if parsed.teredo else None)
        if inner is not None:
            return is_public(str(inner))
        if any(parsed in network for network in TRANSLATED):
            return is_public(str(IPv4Address(int(parsed) & 0xFFFFFFFF)))
        if parsed.is_site_local:
            return False
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved


def post(address: str, body: bytes, headers: Mapping[str, str], *, private: bool) -> Answer:
    """Send one POST. Raises Unreachable, also for an address that must not be reached."""
    parts = urlsplit(address)
    numbers = _lookup(parts)
    if not private and not all(map(is_public, numbers)):
        raise Unreachable(_PRIVATE)
    started = time.monotonic()
    connection = _Pinned(parts, numbers)
    # A server that sends a byte now and then would never be too late for the socket's own limit.
    deadline = threading.Timer(SECONDS, connection.cut)
    deadline.daemon = True
    deadline.start()
    try:
        target = parts.path or "/"
        connection.request("POST", f"{target}?{parts.query}" if parts.query else target, body, dict(headers))
        response = connection.getresponse()
        text = response.read(LONGEST_ANSWER).decode("utf-8", "replace")
        return Answer(response.status, text, time.monotonic() - started)
    except ssl.SSLError as error:
        raise Unreachable(f"The certificate or the encryption is not in order: {error.reason or error}.") from None
    except (OSError, http.client.HTTPException) as error:
        if connection.was_cut or isinstance(error, TimeoutError):
            raise Unreachable(f"There was no answer within {SECONDS} seconds.") from None
        raise Unreachable(f"The connection failed: {error or type(error).__name__}.") from None
    finally:
        deadline.cancel()
        connection.close()


def _lookup(parts: SplitResult) -> list[str]:
    """All IP addresses of a host. Raises Unreachable if it has none."""
    try:
        rows = socket.getaddrinfo(parts.hostname, parts.port or PORTS[parts.scheme], type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Unreachable(f"The name {parts.hostname} is unknown.") from None
    return [str(row[4][0]) for row in rows]


class _Pinned(http.client.HTTPConnection):
    """A connection to one of these IP addresses of a host. The host's name is what its certificate must have."""

    def __init__(self, parts: SplitResult, numbers: Sequence[str]) -> None:
        super().__init__(parts.hostname or "", parts.port or PORTS[parts.scheme], timeout=SECONDS)
        self._encrypted, self._numbers = parts.scheme == "https", numbers
        self.default_port = PORTS[parts.scheme]
        self.was_cut = False

    def connect(self) -> None:
        failure = OSError("the name has no address")
        for number in self._numbers:
            try:
                self.sock = socket.create_connection((number, self.port), self.timeout)
                break
            except OSError as error:
                failure = error
        else:
            raise failure
        if self._encrypted:
            self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)

    def cut(self) -> None:
        """End the connection, whatever it is doing. Runs in another thread."""
        self.was_cut = True
        if self.sock is not None:
            try:
                self.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                return
