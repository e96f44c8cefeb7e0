"""Prepared statements on PostgreSQL: what a connection has prepared is known, whatever happens to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import Error, connection, transaction
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from annotation import sql

pytestmark = pytest.mark.django_db(transaction=True)
ADD = "SELECT %s::int + 41"


@pytest.fixture(autouse=True)
def new_connection() -> Iterator[None]:
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL prepares statements by name")
    connection.close()
    yield
    connection.close()


def prepared() -> list[tuple[str]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        found: list[tuple[str]] = cursor.fetchall()
        return found


def test_a_statement_is_prepared_once_for_a_connection() -> None:
    assert [sql.fetch_one(ADD, 1), sql.fetch_one(ADD, 2)] == [(42,), (43,)]
    assert len(prepared()) == 1


def test_it_outlives_a_transaction_that_is_rolled_back() -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        sql.fetch_one(ADD, 1)
        raise RuntimeError
    assert sql.fetch_one(ADD, 1) == (42,)


def test_statements_that_could_not_be_prepared_are_prepared_later() -> None:
    with pytest.raises(Error), transaction.atomic():
        with pytest.raises(Error):
            sql.fetch_one("SELECT no_such_function(%s)", 1)
        sql.fetch_one(ADD, 1)
    assert sql.fetch_one(ADD, 1) == (42,)


def test_a_new_connection_prepares_its_statements_again() -> None:
    sql.fetch_one(ADD, 1)
    connection.close()
    assert sql.fetch_one(ADD, 1) == (42,)
    assert len(prepared()) == 1


def test_statements_are_planned_again_as_tables_grow() -> None:
    """Nobody counts the rows of a temporary table, so PostgreSQL itself never makes another plan."""

    def plan() -> str:
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN EXECUTE hitserver_0 (7)")
            return "\n".join(line for (line,) in cursor.fetchall())

    def fetch(times: int) -> None:
        for _ in range(times):
            assert sql.fetch_one("SELECT number FROM growing WHERE number = %s", 7) == (7,)

    sql.execute("CREATE TEMPORARY TABLE growing AS SELECT generate_series(1, 20) AS number")
    sql.execute("CREATE INDEX ON growing (number)")
    sql.execute("ANALYZE growing")
    fetch(10)
    assert "Seq Scan" in plan()

    sql.execute("INSERT INTO growing SELECT generate_series(21, 20000)")
    fetch(sql.PLANNED_AGAIN_AFTER)
    assert "Index" in plan()


def test_plans_are_made_again_less_and_less_often() -> None:
    with CaptureQueriesContext(connection) as statements:
        for _ in range(20 * sql.PLANNED_AGAIN_AFTER):
            sql.fetch_one(ADD, 1)
    # After 1, 2, 4, 8 and 16 times as many, each with the statement that follows, so no request takes one query more.
    assert sum(statement["sql"].startswith("DISCARD PLANS; EXECUTE") for statement in statements) == 5


@override_settings(PREPARED_STATEMENTS=False)
def test_behind_a_pooler_nothing_is_prepared() -> None:
    assert sql.fetch_one(ADD, 1) == (42,)
    assert prepared() == []
