"""The few statements that run on every request of a worker, written by hand in SQL.

The ORM takes several times as long to build a query as the database takes to answer it. When 64 workers load and send
pages, that decides how many ratings a small machine can handle. Table and column names come from the models, the
models' fields adapt the values, and both databases run the same text.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

from django.conf import settings
from django.db import connection, models, transaction

Value = Any


def table(model: type[models.Model]) -> str:
    return str(model._meta.db_table)


def fetch_one(sql: str, *params: Value) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(prepared(sql, len(params)), params)
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row


def fetch_all(sql: str, *params: Value) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(prepared(sql, len(params)), params)
        return list(cursor.fetchall())


class _Prepared(threading.local):
    """Names of the statements that this thread's connection has prepared, by text."""

    on: object = None
    names: dict[str, str]
    executions: int = 0


_prepared_here = _Prepared()
MOST_PREPARED = 500
#: After so many executions on a connection, and after twice, four times, … as many, its statements are planned again.
PLANNED_AGAIN_AFTER = 32


def prepared(text: str, count: int) -> str:
    """``text`` with ``count`` parameters, in a form that PostgreSQL runs without planning it again each time.

    Planning these joins costs more than running them. A statement is prepared when a connection first runs it. SQLite's
    driver does something similar itself. `settings.PREPARED_STATEMENTS` turns this off.

    PostgreSQL keeps a plan until it next counts the rows, which takes a minute or more. A plan from when a study had 50
    assignments reads all of them, so it becomes slower with every rating. So plans are made anew as ratings arrive,
    less and less often.
    """
    if connection.vendor != "postgresql" or not settings.PREPARED_STATEMENTS:
        return text
    connection.ensure_connection()
    if _prepared_here.on is not connection.connection:
        _prepared_here.on, _prepared_here.names, _prepared_here.executions = connection.connection, {}, 0
    names = _prepared_here.names
    if text not in names:
        if len(names) >= MOST_PREPARED:
            return text
        numbered = text
        for number in range(1, count + 1):
            numbered = numbered.replace("%s", f"${number}", 1)
        execute(f"PREPARE hitserver_{len(names)} AS {numbered}")
        names[text] = f"hitserver_{len(names)}"
    _prepared_here.executions += 1
    times, rest = divmod(_prepared_here.executions, PLANNED_AGAIN_AFTER)
    is_power_of_two = times & (times - 1) == 0
    again = "" if rest or not is_power_of_two else "DISCARD PLANS; "
    return f"{again}EXECUTE {names[text]}" + (f" ({', '.join(['%s'] * count)})" if count else "")


def execute(sql: str, *params: Value) -> int:
    """Run the statement. Returns how many rows it affected."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)


@dataclass(frozen=True, slots=True)
class Found:
    """A value that the database looks up when it stores the row."""

    sql: str
    params: tuple[Value, ...]


Statement = tuple[str, list[Value]]


def insertion(model: type[models.Model], *rows: dict[str, Value], returning: bool = False) -> Statement:
    """An INSERT of rows with the same columns (tens of rows, not thousands). With ``returning`` it returns the last id.

    Every column without a database default must be named. A value may be `Found`.
    """
    names = tuple(rows[0])
    fields = _fields(model, names)
    places: list[tuple[str, ...]] = []
    params: list[Value] = []
    for row in rows:
        cells = []
        for (field, plain), value in zip(fields, row.values(), strict=True):
            if isinstance(value, Found):
                cells.append(value.sql)
                params += value.params
            else:
                cells.append("%s")
                params.append(value if type(value) is plain else field.get_db_prep_save(value, connection))
        places.append(tuple(cells))
    return _insert_text(model, names, tuple(places), returning), params


@lru_cache(maxsize=512)
def _insert_text(
    model: type[models.Model],
    names: tuple[str, ...],
    places: tuple[tuple[str, ...], ...],
    returning: bool,
) -> str:
    columns = ", ".join(f'"{field.column}"' for field, _ in _fields(model, names))
    values = ", ".join(f"({', '.join(cells)})" for cells in places)
    text = f'INSERT INTO "{table(model)}" ({columns}) VALUES {values}'  # noqa: S608 - names of models
    return text + (' RETURNING "id"' if returning else "")


def run(*statements: Statement, returning: bool = False, savepoint: bool = True) -> int:
    """Run statements in one transaction: all or none. With ``returning``, returns the last one's id; otherwise 0.

    PostgreSQL gets them in one message, which is itself a transaction: a round trip costs more than a statement.
    Use ``savepoint=False`` if the caller's own transaction ends when they fail.
    """
    if connection.vendor == "postgresql":
        params = [value for _, values in statements for value in values]
        statements = (("; ".join(prepared(text, len(values)) for text, values in statements), params),)
        if not (connection.in_atomic_block and savepoint):
            return _run_all(statements, returning)
    with transaction.atomic(savepoint=savepoint):
        return _run_all(statements, returning)


def _run_all(statements: Sequence[Statement], returning: bool) -> int:
    with connection.cursor() as cursor:
        for text, params in statements:
            cursor.execute(text, params)
        return int(cursor.fetchone()[0]) if returning else 0


def insert_many(model: type[models.Model], rows: Sequence[dict[str, Value]]) -> None:
    """Insert rows, in the form that `insertion` accepts. ``rows`` may be empty."""
    if rows:
        run(insertion(model, *rows))


def fetch_first(sql: str, *params: Value) -> tuple[Any, ...] | None:
    """`fetch_one`, as the first statement of a quick transaction with ``announced=False``."""
    if connection.vendor != "postgresql":
        return fetch_one(sql, *params)
    with connection.cursor() as cursor:
        cursor.execute(f"{_QUICK}; {prepared(sql, len(params))}", params)
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row


_QUICK = "SET LOCAL synchronous_commit TO OFF"


@contextmanager
def quick_transaction(*, announced: bool = True) -> Iterator[None]:
    """An atomic block whose commit does not wait for the disk. Use it for what a power cut may lose.

    The next ordinary commit makes it durable, because both databases write their logs in order. So nothing that depends
    on it is ever stored without it. A killed process loses nothing. Use ``announced=False`` when the block starts with
    `fetch_first`: it saves a round trip.
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
            if announced and connection.vendor == "postgresql":
                execute(_QUICK)
            yield


def locked(sql: str, *, of: str = "", skip: bool = False) -> str:
    """``sql`` as a locking read. SQLite needs no locks: a writing transaction has the whole database to itself."""
    if not connection.features.has_select_for_update:
        return sql
    return f"{sql} FOR NO KEY UPDATE{f' OF {of}' if of else ''}{' SKIP LOCKED' if skip else ''}"


def from_json(model: type[models.Model], column: str, stored: Any) -> Any:
    """The stored value of a JSON column as a Python value."""
    return _field(model, column).from_db_value(stored, None, connection)  # type: ignore[attr-defined]


def aware(stored: Any) -> datetime:
    """The stored value of a date and time column as an aware UTC datetime. SQLite stores these as text."""
    moment = datetime.fromisoformat(stored) if isinstance(stored, str) else stored
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@cache
def _fields(
    model: type[models.Model], names: tuple[str, ...]
) -> tuple[tuple[models.Field[Any, Any], type | None], ...]:
    """The fields, each with the Python type whose values the field passes to the database as they are."""
    fields = [_field(model, name) for name in names]
    stored = [field.target_field if isinstance(field, models.ForeignKey) else field for field in fields]
    return tuple((field, _PLAIN.get(type(kind))) for field, kind in zip(fields, stored, strict=True))


#: Exactly these classes: a class derived from one of them may adapt its values.
_PLAIN: dict[type, type] = {
    models.BigAutoField: int,
    models.IntegerField: int,
    models.PositiveIntegerField: int,
    models.PositiveSmallIntegerField: int,
    models.SmallIntegerField: int,
    models.BigIntegerField: int,
    models.FloatField: float,
    models.BooleanField: bool,
    models.CharField: str,
    models.TextField: str,
}


@cache
def _field(model: type[models.Model], name: str) -> models.Field[Any, Any]:
    return next(field for field in model._meta.concrete_fields if name in (field.attname, field.name))


def analyze(*written: type[models.Model]) -> None:
    """Tell PostgreSQL how many rows these tables have now.

    By itself it looks after a minute or more. Until then it plans as if the tables were as small as before, and reads
    all items of a study whenever somebody gets a hit. SQLite reads by index whatever the size.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {', '.join(map(table, written))}")
