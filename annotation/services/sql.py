"""The few statements that run on every worker's request, written once as SQL.

Building a query with the ORM costs several times what the database takes to answer it; on the path of 64 workers who
fetch and send that decides how many ratings a small machine takes. Names of tables and columns come from the models,
values are adapted by the models' fields, and both databases run the same text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.db import connection, models, transaction

Value = Any


def table(model: type[models.Model]) -> str:
    return str(model._meta.db_table)


def fetch_one(sql: str, *params: Value) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row


def fetch_all(sql: str, *params: Value) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def execute(sql: str, *params: Value) -> int:
    """How many rows the statement touched."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)


def insert(model: type[models.Model], *, returning: bool = False, **values: Value) -> int:
    """One new row; its id with ``returning``, else 0. Every column without a database default must be given."""
    sql, fields = _insert(model, tuple(values), 1, returning)
    with connection.cursor() as cursor:
        cursor.execute(sql, _adapted(fields, values))
        return int(cursor.fetchone()[0]) if returning else 0


def insert_many(model: type[models.Model], rows: Sequence[dict[str, Value]]) -> None:
    """New rows that all name the same columns, in one statement (so: tens of rows, not thousands)."""
    if rows:
        sql, fields = _insert(model, tuple(rows[0]), len(rows), False)
        with connection.cursor() as cursor:
            cursor.execute(sql, [value for row in rows for value in _adapted(fields, row)])


@contextmanager
def quick_transaction() -> Iterator[None]:
    """An atomic block whose commit does not wait for the disk: for what may be lost in a power cut.

    A later ordinary commit makes it durable with itself, for both databases write their logs in order: whatever hangs
    on it is never there without it. The end of a process, however violent, loses nothing.
    """
    if connection.in_atomic_block:
        with transaction.atomic():
            yield
    elif connection.vendor == "sqlite":
        execute("PRAGMA synchronous = NORMAL")
        try:
            with transaction.atomic():
                yield
        finally:
            execute("PRAGMA synchronous = FULL")
    else:
        with transaction.atomic():
            execute("SET LOCAL synchronous_commit TO OFF")
            yield


def locked(sql: str, *, of: str = "", skip: bool = False) -> str:
    """``sql`` as a locking read. SQLite needs none: a writing transaction there has the database to itself."""
    if not connection.features.has_select_for_update:
        return sql
    return f"{sql} FOR NO KEY UPDATE{f' OF {of}' if of else ''}{' SKIP LOCKED' if skip else ''}"


def from_json(model: type[models.Model], column: str, stored: Any) -> Any:
    """A JSON column's stored form as Python has it."""
    return _field(model, column).from_db_value(stored, None, connection)  # type: ignore[attr-defined]


def aware(stored: Any) -> datetime:
    """A date and time column's stored form as an aware UTC datetime; SQLite keeps them as text."""
    found = datetime.fromisoformat(stored) if isinstance(stored, str) else stored
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _adapted(fields: Sequence[models.Field[Any, Any]], values: dict[str, Value]) -> list[Value]:
    return [field.get_db_prep_save(value, connection) for field, value in zip(fields, values.values(), strict=True)]


@cache
def _insert(
    model: type[models.Model], names: tuple[str, ...], count: int, returning: bool
) -> tuple[str, list[models.Field[Any, Any]]]:
    fields = [_field(model, name) for name in names]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    places = ", ".join(["(" + ", ".join(["%s"] * len(fields)) + ")"] * count)
    sql = f'INSERT INTO "{table(model)}" ({columns}) VALUES {places}'  # noqa: S608 - names come from the models
    return sql + (' RETURNING "id"' if returning else ""), fields


@cache
def _field(model: type[models.Model], name: str) -> models.Field[Any, Any]:
    return next(field for field in model._meta.concrete_fields if name in (field.attname, field.name))
