"""Triggers of migrations: the database itself refuses to change or delete rows that are written once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import migrations

_POSTGRES_FUNCTION = """
CREATE FUNCTION {app}_refuse_change() RETURNS trigger AS $$
BEGIN {unless_open}RAISE EXCEPTION '% rows are never changed after they are written', TG_TABLE_NAME
    USING ERRCODE = '23514';
END
$$ LANGUAGE plpgsql
"""
_POSTGRES_GATE = """
    IF EXISTS (SELECT 1 FROM {gate}) THEN
        IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
        RETURN NEW;
    END IF;
"""
_POSTGRES_TRUNCATE = """
CREATE FUNCTION {app}_refuse_truncate() RETURNS trigger AS $$
BEGIN RAISE EXCEPTION '% is never emptied', TG_TABLE_NAME USING ERRCODE = '23514';
END
$$ LANGUAGE plpgsql
"""
_POSTGRES = "EXECUTE FUNCTION {app}_refuse_change()"
_SQLITE = "BEGIN SELECT RAISE(ABORT, '{table} rows are never changed after they are written'); END"


@dataclass(frozen=True, slots=True)
class Trigger:
    """Refuses ``event`` on ``table``. ``event`` is an SQL event such as ``UPDATE``, ``DELETE`` or ``UPDATE OF column``;
    ``when``, an SQL condition on OLD and NEW, limits it."""

    table: str
    event: str
    when: str = ""
    name: str = ""

    def sql(self, app: str, *, postgres: bool, gate: str = "") -> str:
        """The statement that creates it. ``gate``: a table that opens this trigger while it has a row. On PostgreSQL,
        the function reads it."""
        shut = f"NOT EXISTS (SELECT 1 FROM {gate})" if gate and not postgres else ""  # noqa: S608 - a model's table
        limits = [f"({condition})" for condition in (self.when, shut) if condition]
        when = f" WHEN ({' AND '.join(limits)})" if limits else ""
        refuse = (_POSTGRES if postgres else _SQLITE).format(app=app, table=self.table)
        return f"CREATE TRIGGER {self.full_name} BEFORE {self.event} ON {self.table} FOR EACH ROW{when} {refuse}"

    @property
    def full_name(self) -> str:
        return self.name or f"{self.table}_append_only_{self.event.split()[0].lower()}"


def never_changed(*tables: str) -> list[Trigger]:
    """The tables refuse UPDATE. Rows may be deleted."""
    return [Trigger(table, "UPDATE") for table in tables]


def never_changed_or_deleted(*tables: str) -> list[Trigger]:
    return [Trigger(table, event) for table in tables for event in ("UPDATE", "DELETE")]


def add_triggers(app: str, triggers: Iterable[Trigger], *, gate: str = "") -> migrations.RunPython:
    """The operation of a migration of ``app``.

    While the table ``gate`` has a row, the triggers allow everything. A transaction that inserts a row and deletes it
    again may change the tables; no other transaction sees the row.
    """
    all_triggers = list(triggers)

    def forwards(apps: Any, editor: Any) -> None:
        postgres = editor.connection.vendor == "postgresql"
        if postgres:
            unless_open = _POSTGRES_GATE.format(gate=gate) if gate else ""
            editor.execute(_POSTGRES_FUNCTION.format(app=app, unless_open=unless_open), params=None)
        for trigger in all_triggers:
            editor.execute(trigger.sql(app, postgres=postgres, gate=gate), params=None)

    def backwards(apps: Any, editor: Any) -> None:
        postgres = editor.connection.vendor == "postgresql"
        for trigger in all_triggers:
            editor.execute(f"DROP TRIGGER {trigger.full_name}" + (f" ON {trigger.table}" if postgres else ""))
        if postgres:
            editor.execute(f"DROP FUNCTION {app}_refuse_change()")

    return migrations.RunPython(forwards, backwards)


def refuse_truncate(app: str, *tables: str) -> migrations.RunPython:
    """The operation of a migration of ``app``: PostgreSQL refuses TRUNCATE for these tables. It runs no row's trigger.

    No gate opens it. SQLite has no such command.
    """

    def forwards(apps: Any, editor: Any) -> None:
        if editor.connection.vendor != "postgresql":
            return
        editor.execute(_POSTGRES_TRUNCATE.format(app=app), params=None)
        for table in tables:
            editor.execute(
                f"CREATE TRIGGER {table}_never_emptied BEFORE TRUNCATE ON {table} "
                f"FOR EACH STATEMENT EXECUTE FUNCTION {app}_refuse_truncate()"
            )

    def backwards(apps: Any, editor: Any) -> None:
        if editor.connection.vendor != "postgresql":
            return
        for table in tables:
            editor.execute(f"DROP TRIGGER {table}_never_emptied ON {table}")
        editor.execute(f"DROP FUNCTION {app}_refuse_truncate()")

    return migrations.RunPython(forwards, backwards)
