"""Turns the address in DATABASE_URL into Django's entry for DATABASES."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from hitserver.env import EnvError, without_password

BUSY_SECONDS = 20
POSTGRES_SCHEMES = ("postgres", "postgresql")
ACCEPTS = "postgres://USER:PASSWORD@HOST:PORT/NAME?sslmode=… (or nothing, for SQLite)"

# WAL lets others read while one writes. FULL makes an acknowledged commit survive a power cut.
SQLITE_PRAGMAS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"

# A lost host sends nothing: its locks would stay for two hours, and clients of a lost database would wait for a quarter
# of an hour. Both sides check every 30 s and give up after a minute.
NOTICE_LOST_SERVER = {
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
NOTICE_LOST_CLIENT = (
    "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3 -c tcp_user_timeout=60000"
)


def sqlite_database(path: Path) -> dict[str, Any]:
    """One file, safe for several processes: a writer takes the lock when it begins, and others wait their turn."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "timeout": BUSY_SECONDS,
            "transaction_mode": "IMMEDIATE",
            "init_command": SQLITE_PRAGMAS,
        },
    }


def postgres_database(url: str, *, variable: str = "DATABASE_URL") -> dict[str, Any]:
    """The PostgreSQL database that an address names. Every option in its query goes to libpq unchanged.

    Over a network, each end notices within a minute if it loses the other, unless the address sets other values.

    Percent escapes work everywhere: a password may contain any character, a host may be the folder of a Unix socket
    (`%2Fvar%2Frun%2Fpostgresql`). Raises EnvError, without the password, for anything else.
    """
    try:
        parts = urlsplit(url)
        port = str(parts.port or "")
    except ValueError:
        raise EnvError(variable, without_password(url), ACCEPTS) from None
    name = unquote(parts.path.removeprefix("/"))
    if parts.scheme not in POSTGRES_SCHEMES or not name or "/" in name:
        raise EnvError(variable, without_password(url), ACCEPTS)
    host = unquote(parts.hostname or "")
    local = not host or host.startswith("/")
    watched = {} if local else {**NOTICE_LOST_SERVER, "options": NOTICE_LOST_CLIENT}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": port,
        "CONN_MAX_AGE": None,
        # No health check: it would cost a round trip for every request. If a connection turns out to be gone, workers'
        # pages try once more, because all their requests can be repeated.
        "OPTIONS": watched | dict(parse_qsl(parts.query, keep_blank_values=True)),
    }


def database(url: str, *, sqlite_path: Path) -> dict[str, Any]:
    """The database that an address names. Without an address, the SQLite file."""
    return postgres_database(url) if url else sqlite_database(sqlite_path)
