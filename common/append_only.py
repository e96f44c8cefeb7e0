"""Triggers of migrations: the database itself refuses to change or delete rows that are written once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import migrations

_POSTGRES_FUNCTION = """
CREATE FUNCTION {0}_refuse_change() RETURNS trigger AS $$
BEGIN RAISE EXCEPTION '% rows are never changed after they are written', TG_TABLE_NAME USING ERRCODE = '23514'; END
$$ LANGUAGE plpgsql
"""
_POSTGRES_GATED_FUNCTION = """
CREATE OR REPLACE FUNCTION {0}_refuse_change() RETURNS trigger AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM {1}) THEN
        IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% rows are never changed after they are written', TG_TABLE_NAME USING ERRCODE = '23514';
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
        """``gate``: a table that opens this trigger while it has a row. On PostgreSQL, the function reads it."""
        shut = f"NOT EXISTS (SELECT 1 FROM {gate})" if gate and not postgres else ""  # noqa: S608 - a model's table
        limits = [f"({each})" for each in (self.when, shut) if each]
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


def add_triggers(app: str, triggers: Iterable[Trigger], *, function: bool = True) -> migrations.RunPython:
    """The operation of a migration of ``app``. Only the first one of an app makes the function (``function``)."""
    all_triggers = list(triggers)

    def forwards(apps: Any, editor: Any) -> None:
        postgres = editor.connection.vendor == "postgresql"
        if postgres and function:
            editor.execute(_POSTGRES_FUNCTION.format(app), params=None)
        for trigger in all_triggers:
            editor.execute(trigger.sql(app, postgres=postgres), params=None)

    def backwards(apps: Any, editor: Any) -> None:
        postgres = editor.connection.vendor == "postgresql"
        for trigger in all_triggers:
            editor.execute(f"DROP TRIGGER {trigger.full_name}" + (f" ON {trigger.table}" if postgres else ""))
        if postgres and function:
            editor.execute(f"DROP FUNCTION {app}_refuse_change()")

    return migrations.RunPython(forwards, backwards)


def add_gate(app: str, triggers: Iterable[Trigger], *, table: str) -> migrations.RunPython:
    """Makes the app's triggers again, so that they allow everything while ``table`` has a row.

    A transaction that inserts the row and deletes it again may change these tables; no other transaction sees the row.
    It must come after operations that change a table's columns or constraints: on SQLite, these drop its triggers.
    """
    all_triggers = list(triggers)

    def forwards(apps: Any, editor: Any) -> None:
        postgres = editor.connection.vendor == "postgresql"
        if postgres:
            editor.execute(_POSTGRES_GATED_FUNCTION.format(app, table), params=None)
        _make_again(editor, all_triggers, app, postgres, table)

    def backwards(apps: Any, editor: Any) -> None:
        postgres = editor.connection.vendor == "postgresql"
        if postgres:
            function = _POSTGRES_FUNCTION.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
            editor.execute(function.format(app), params=None)
        _make_again(editor, all_triggers, app, postgres, "")

    return migrations.RunPython(forwards, backwards)


def _make_again(editor: Any, triggers: Iterable[Trigger], app: str, postgres: bool, gate: str) -> None:
    for trigger in triggers:
        on_table = f" ON {trigger.table}" if postgres else ""
        editor.execute(f"DROP TRIGGER IF EXISTS {trigger.full_name}{on_table}", params=None)
        editor.execute(trigger.sql(app, postgres=postgres, gate=gate), params=None)
