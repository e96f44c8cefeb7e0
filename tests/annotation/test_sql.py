"""Prepared statements on PostgreSQL: what a connection has prepared is known, whatever happens to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import Error, connection, transaction
from django.test import override_settings

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


@override_settings(PREPARED_STATEMENTS=False)
def test_behind_a_pooler_nothing_is_prepared() -> None:
    assert sql.fetch_one(ADD, 1) == (42,)
    assert prepared() == []
