from pathlib import Path

import pytest
from django.db import connection

from hitserver.databases import database, postgres_database
from hitserver.env import EnvError

FILE = Path("/data/db.sqlite3")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "postgres://ann:pw@db:5433/hits",
            {"NAME": "hits", "USER": "ann", "PASSWORD": "pw", "HOST": "db", "PORT": "5433"},
        ),
        ("postgresql://db/hits", {"NAME": "hits", "USER": "", "PASSWORD": "", "HOST": "db", "PORT": ""}),
        ("postgres:///hits", {"NAME": "hits", "HOST": ""}),
        ("postgres://a%40b:p%2Fw%3A%25@db/h%20s", {"NAME": "h s", "USER": "a@b", "PASSWORD": "p/w:%"}),
        ("postgres://ann@%2Fvar%2Frun%2Fpostgresql/hits", {"HOST": "/var/run/postgresql", "USER": "ann"}),
        ("postgres://ann@[::1]:5432/hits", {"HOST": "::1", "PORT": "5432"}),
        (
            "postgres:///hits?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem",
            {"OPTIONS": {"sslmode": "verify-full", "sslrootcert": "/etc/ca.pem"}},
        ),
        ("postgres://ann@%2Fvar%2Frun%2Fpostgresql/hits?connect_timeout=3", {"OPTIONS": {"connect_timeout": "3"}}),
    ],
)
def test_an_address_names_a_postgresql_database(url: str, expected: dict[str, object]) -> None:
    entry = database(url, sqlite_path=FILE)

    assert entry["ENGINE"] == "django.db.backends.postgresql"
    assert entry | expected == entry


def test_over_a_network_both_ends_notice_a_lost_one_unless_the_address_says_otherwise() -> None:
    options = postgres_database("postgres://db/hits?keepalives_idle=5&sslmode=require")["OPTIONS"]
    assert options["options"].startswith("-c tcp_keepalives_idle=30 ") and options["tcp_user_timeout"] == "60000"
    assert (options["keepalives_idle"], options["sslmode"]) == ("5", "require")
    assert postgres_database("postgres://db/hits?options=")["OPTIONS"]["options"] == ""


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "postgresql", reason="about PostgreSQL")
def test_the_server_checks_after_a_minute_whether_the_client_is_connected() -> None:
    if str(connection.settings_dict["HOST"]).startswith("/") or not connection.settings_dict["HOST"]:
        pytest.skip("the database is reached by a socket of this machine, which is never lost")
    shown = []
    with connection.cursor() as cursor:
        for name in ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout"):
            cursor.execute(f"SHOW {name}")
            shown.append(cursor.fetchone()[0])
    assert shown in (["30", "10", "3", "60000"], ["30s", "10s", "3", "1min"])


@pytest.mark.parametrize(
    "url",
    [
        "mysql://db/hits",
        "sqlite:///db.sqlite3",
        "hits",
        "postgres://db",
        "postgres://db/",
        "postgres://db/a/b",
        "postgres://db:port/hits",
        "postgres://db:99999/hits",
    ],
)
def test_another_address_is_refused_with_the_expected_form(url: str) -> None:
    with pytest.raises(EnvError) as raised:
        postgres_database(url)

    assert str(raised.value).startswith(f"DATABASE_URL is '{url}'; it takes postgres://USER:PASSWORD@HOST:PORT/NAME")


def test_the_password_of_a_refused_address_is_not_repeated() -> None:
    with pytest.raises(EnvError) as raised:
        postgres_database("mysql://ann:hunter2@db/hits")

    assert "hunter2" not in str(raised.value)


def test_no_address_means_the_file() -> None:
    entry = database("", sqlite_path=FILE)

    assert "sqlite" in entry["ENGINE"]
    assert entry["NAME"] == str(FILE)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="about SQLite")
def test_sqlite_commits_survive_and_writers_wait() -> None:
    with connection.cursor() as cursor:
        pragmas = {name: cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")}
        busy = cursor.execute("PRAGMA busy_timeout").fetchone()[0]

    assert pragmas == {"journal_mode": "wal", "synchronous": 2}  # 2 is FULL
    assert busy == 20_000
    assert connection.transaction_mode == "IMMEDIATE"  # type: ignore[attr-defined]
