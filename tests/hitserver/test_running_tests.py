"""How `tests.run` prepares what all tests share."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from tests import run, services
from tests.support import database_with_tables


def test_python_saves_what_it_compiles_even_where_it_was_told_not_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "PYTHONDONTWRITEBYTECODE" not in run.for_tests()


def test_the_tables_for_sqlite_are_made_once() -> None:
    file = database_with_tables()
    before = file.stat().st_mtime_ns
    assert database_with_tables().stat().st_mtime_ns == before
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        assert database.execute("SELECT count(*) FROM annotation_study").fetchall() == [(0,)]


@pytest.mark.postgres
def test_a_new_database_on_postgresql_can_begin_as_a_copy(postgres_server: str) -> None:
    with services.new_database(postgres_server) as template:
        services.run_sql(template, "CREATE TABLE numbers AS SELECT 7 AS number")
        with services.new_database(postgres_server, urlsplit(template).path.lstrip("/")) as copy:
            services.run_sql(copy, "UPDATE numbers SET number = 8")
