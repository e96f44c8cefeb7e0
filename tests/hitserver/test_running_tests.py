"""How `tests.run` prepares what all tests share."""

from __future__ import annotations

import ast
import sqlite3
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest

from tests import fast, processor_time, run, services
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


def test_every_test_that_takes_long_exists() -> None:
    listed: defaultdict[str, set[str]] = defaultdict(set)
    for name in fast.LONG.read_text(encoding="utf-8").splitlines():
        file, *_, function = name.split("::")
        listed[file].add(function)
    assert listed
    for file, functions in listed.items():
        nodes = ast.walk(ast.parse((services.ROOT / file).read_text(encoding="utf-8")))
        assert functions <= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}, f"Not in {file}"


def chosen(config: pytest.Config, *names: str) -> list[str]:
    """Which of these tests ``--fast`` runs."""
    items: list[pytest.Item] = [
        Mock(pytest.Item, nodeid=name, fixturenames=(), get_closest_marker=lambda marker: None) for name in names
    ]
    fast.pytest_collection_modifyitems(config, items)
    return [item.nodeid for item in items]


def test_fast_leaves_out_all_cases_of_a_test_that_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "LONG", tmp_path / "list.txt")
    fast.LONG.write_text("tests/test_a.py::test_long\n")
    config = Mock()
    names = ("tests/test_a.py::test_long", "tests/test_a.py::test_long[case]", "tests/test_a.py::test_longer")
    config.pluginmanager.hasplugin.return_value = False
    assert chosen(config, *names) == ["tests/test_a.py::test_longer"]
    config.pluginmanager.hasplugin.return_value = True
    assert chosen(config, *names) == list(names), "They are measured again."


def test_tests_are_listed_by_the_mean_of_their_cases_and_those_not_run_stay(tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    file.write_text("a.py::test_now_short\na.py::test_not_run\n")
    limit = processor_time.LIMIT
    seconds = {"a.py::test_now_short": limit / 2, "a.py::test_long[1]": limit * 3, "a.py::test_long[2]": limit / 2}
    processor_time.write_long(seconds | {"a.py::test_short[1]": limit, "a.py::test_short[2]": limit / 2}, file)
    assert file.read_text() == "a.py::test_long\na.py::test_not_run\n"
