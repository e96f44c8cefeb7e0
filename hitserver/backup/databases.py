"""Makes a consistent copy of the database while others write, and restores a database from such a copy."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import psycopg2
from django.db import connection
from psycopg2.extensions import make_dsn
from psycopg2.sql import SQL, Identifier

from common.problems import Problem, invalid, refuse_if_any

BUSY_SECONDS = 30
#: Tables that have rows even in a new database.
ALWAYS_FILLED = {"django_migrations", "django_content_type", "auth_permission", "sqlite_sequence"}
#: What the server notes about itself as soon as it runs. Nobody loses anything with it.
ALWAYS_FILLED |= {"hitserver_processsign", "hitserver_backupnote", "hitserver_alarm"}

_MIGRATIONS = "SELECT app, name FROM django_migrations"


class Database(Protocol):
    """What a backup needs from a database. ``member`` is the name of its copy in the archive."""

    member: str

    def copy_to(self, path: Path) -> dict[str, int]:
        """Writes a consistent copy. Returns the number of rows of each table at that moment."""

    def load(self, path: Path) -> None:
        """Replaces everything with the contents of the copy. Raises Invalid if the database is in use."""

    def rows(self) -> dict[str, int]:
        """The number of rows of each table now."""

    def migrations(self) -> set[tuple[str, str]]:
        """The migrations that its tables have, as app and name."""

    def check_references(self) -> None:
        """Raises Invalid if a row refers to one that does not exist."""


def this_database() -> Database:
    """The database in the settings."""
    return Postgres() if connection.vendor == "postgresql" else Sqlite(Path(connection.settings_dict["NAME"]))


def holds_data(rows: dict[str, int]) -> list[str]:
    """The tables that contain this server's data."""
    return sorted(table for table, count in rows.items() if count and table not in ALWAYS_FILLED)


# --- SQLite ---


class Sqlite:
    """Uses SQLite's own backup function."""

    member = "database.sqlite3"

    def __init__(self, path: Path) -> None:
        self.path = path

    def copy_to(self, path: Path) -> dict[str, int]:
        copy_sqlite(self.path, path)
        return _sqlite_rows(path)

    def load(self, path: Path) -> None:
        connection.close()
        with closing(sqlite3.connect(path)) as source, closing(_open(self.path)) as target:
            try:
                source.backup(target)
                target.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                fix = "Stop the server, then try again."
                raise invalid("the database", f"It is in use ({error}).", fix) from None
        self.path.chmod(0o600)

    def rows(self) -> dict[str, int]:
        return _sqlite_rows(self.path) if self.path.exists() else {}

    def migrations(self) -> set[tuple[str, str]]:
        with closing(_open(self.path)) as opened:
            return set(opened.execute(_MIGRATIONS))

    def check_references(self) -> None:
        with closing(_open(self.path)) as opened:
            broken = opened.execute("PRAGMA foreign_key_check").fetchmany(20)
            state = opened.execute("PRAGMA integrity_check(1)").fetchone()[0]
        what = "Row {} refers to a row of {} that does not exist."
        problems = [Problem(str(table), what.format(row, parent)) for table, row, parent, _ in broken]
        if state != "ok":
            problems.append(Problem("the database", f"SQLite finds it damaged: {state}."))
        refuse_if_any(problems)


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=BUSY_SECONDS)


def copy_sqlite(source: Path, target: Path) -> None:
    """A consistent copy, however many processes write: all pages in one step, under a read lock."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.close(descriptor)
    with closing(_open(source)) as opened, closing(sqlite3.connect(target)) as copy:
        opened.backup(copy)
        # The copy is a single file, without a separate log.
        copy.execute("PRAGMA journal_mode=DELETE")


def _sqlite_rows(path: Path) -> dict[str, int]:
    with closing(_open(path)) as opened:
        tables = [name for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: opened.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()[0] for name in sorted(tables)}  # noqa: S608 - names from the database itself


# --- PostgreSQL ---

_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
_FUNCTIONS = """
SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = 'public' AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
"""


class Postgres:
    """Uses ``pg_dump`` and ``pg_restore``, in their custom format."""

    member = "database.pgdump"

    def __init__(self, name: str = "") -> None:
        """``name``: of another database on the same server."""
        self.name = name or str(connection.settings_dict["NAME"])

    def copy_to(self, path: Path) -> dict[str, int]:
        with closing(self._connect()) as opened:
            opened.set_session(isolation_level="REPEATABLE READ", readonly=True)
            with opened.cursor() as cursor:
                cursor.execute("SELECT pg_export_snapshot()")
                (snapshot,) = cursor.fetchone()
                self._run("pg_dump", "--format=custom", "--compress=0", f"--snapshot={snapshot}", f"--file={path}")
                return _postgres_rows(cursor)

    def load(self, path: Path) -> None:
        connection.close()
        with closing(self._connect()) as opened, opened, opened.cursor() as cursor:
            cursor.execute("SET lock_timeout = %s", [f"{BUSY_SECONDS}s"])
            cursor.execute(_TABLES)
            for (table,) in cursor.fetchall():
                cursor.execute(SQL("DROP TABLE IF EXISTS {} CASCADE").format(Identifier(table)))
            cursor.execute(_FUNCTIONS)
            for (function,) in cursor.fetchall():
                cursor.execute(f"DROP FUNCTION IF EXISTS {function} CASCADE")
        self.fill(path)

    def fill(self, path: Path) -> None:
        """Restores the copy into this database, which is empty."""
        self._run("pg_restore", "--single-transaction", "--exit-on-error", str(path))

    def rows(self) -> dict[str, int]:
        with closing(self._connect()) as opened, opened.cursor() as cursor:
            return _postgres_rows(cursor)

    def migrations(self) -> set[tuple[str, str]]:
        with closing(self._connect()) as opened, opened.cursor() as cursor:
            cursor.execute(_MIGRATIONS)
            return set(cursor.fetchall())

    def create(self) -> None:
        """Makes this database, empty, in place of an earlier one of the name. Raises Invalid if nobody allowed that."""
        with closing(Postgres()._connect()) as opened:
            opened.autocommit = True
            with opened.cursor() as cursor:
                try:
                    cursor.execute(SQL("DROP DATABASE IF EXISTS {}").format(Identifier(self.name)))
                    cursor.execute(SQL("CREATE DATABASE {} TEMPLATE template0").format(Identifier(self.name)))
                except psycopg2.errors.InsufficientPrivilege:
                    user = connection.settings_dict["USER"] or "USER"
                    what = "The database user may not create databases, so no backup can be tried."
                    fix = f'As a superuser of PostgreSQL: ALTER ROLE "{user}" CREATEDB'
                    raise invalid("PostgreSQL", what, fix) from None
                except psycopg2.errors.ObjectInUse:
                    what = f"Somebody uses the database {self.name}, which only restore tests use."
                    raise invalid("PostgreSQL", what, "Another test runs; wait until it has ended.") from None

    def drop(self) -> None:
        with closing(Postgres()._connect()) as opened:
            opened.autocommit = True
            with opened.cursor() as cursor:
                cursor.execute(SQL("DROP DATABASE IF EXISTS {}").format(Identifier(self.name)))

    def check_references(self) -> None:
        """Nothing to do: restoring creates the constraints again, which checks every row."""

    def _parameters(self) -> dict[str, Any]:
        settings = connection.settings_dict
        keys = {"user": "USER", "host": "HOST", "port": "PORT"}
        values = {"dbname": self.name, **{name: settings[key] for name, key in keys.items()}}
        options = {name: value for name, value in settings["OPTIONS"].items() if isinstance(value, str)}
        return {name: value for name, value in (values | options).items() if value}

    def _connect(self) -> Any:
        return psycopg2.connect(make_dsn(**self._parameters()), password=connection.settings_dict["PASSWORD"] or None)

    def _run(self, program: str, *arguments: str) -> None:
        """Passes the password in the environment: every user of a machine can see a command's arguments."""
        if shutil.which(program) is None:
            fix = "Install PostgreSQL's client programs (Debian, Ubuntu: apt-get install postgresql-client)."
            raise invalid(program, "This program is not installed.", fix)
        password = connection.settings_dict["PASSWORD"]
        command = [program, "--no-owner", "--no-privileges", f"--dbname={make_dsn(**self._parameters())}", *arguments]
        environment = os.environ | ({"PGPASSWORD": password} if password else {})
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise invalid(program, done.stderr.strip()[:900] or f"It ended with code {done.returncode}.")


def _postgres_rows(cursor: Any) -> dict[str, int]:
    cursor.execute(_TABLES)
    rows: dict[str, int] = {}
    for (table,) in cursor.fetchall():
        cursor.execute(SQL("SELECT COUNT(*) FROM {}").format(Identifier(table)))
        (rows[table],) = cursor.fetchone()
    return rows
