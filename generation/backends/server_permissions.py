"""Which model servers may be used, and which environment variables may hold their keys.

Whoever registers a model chooses an address and the variable whose value is sent there. Without these limits that could
send any secret of the server, such as ``HITSERVER_SECRET_KEY``, to anybody.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from django.conf import settings

_REST = re.compile(r"[A-Z0-9_]{1,80}")


def is_key_variable(name: str) -> bool:
    """Whether an environment variable of this name may hold the key of a model server."""
    prefix: str = settings.MODEL_KEY_PREFIX
    return name.startswith(prefix) and bool(_REST.fullmatch(name.removeprefix(prefix)))


def key_fix() -> str:
    """What to do about a key in another place."""
    prefix = settings.MODEL_KEY_PREFIX
    return (
        f"Put the key into an environment variable whose name begins with {prefix}, such as {prefix}LAB, and give that "
        "name. The key itself is never stored."
    )


def why_not_host(url: str) -> str:
    """Why this server may not be used; empty if it may. An entry with a port allows only that port."""
    host, with_port = _host(url)
    if {host, with_port} & {entry.strip().lower() for entry in settings.MODEL_SERVERS}:
        return ""
    return f"This server may not send anything to {host or 'this address'}."


def host_fix(url: str) -> str:
    """What to do if this server should be allowed."""
    now = ",".join(settings.MODEL_SERVERS)
    return f"To allow it, set HITSERVER_MODEL_SERVERS={now},{_host(url)[0]} and start the server and its workers again."


def _host(url: str) -> tuple[str, str]:
    """The host, in brackets if it is an IPv6 address, without and with its port."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError:
        return "", ""
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    return host, f"{host}:{port}"
