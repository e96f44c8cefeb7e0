"""Writers on SQLite wait in a line; whoever does not get a turn falls back on SQLite's own lock."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

import pytest
from django.db import OperationalError, connections, transaction
from django.db.utils import ConnectionHandler

from hitserver.databases import sqlite_database


@pytest.fixture
def make_connection(tmp_path: Path):  # type: ignore[no-untyped-def]
    settings = sqlite_database(tmp_path / "queue.sqlite3")
    settings["OPTIONS"] = settings["OPTIONS"] | {"timeout": 0.3}
    handlers: list[ConnectionHandler] = []

    def make():  # type: ignore[no-untyped-def]
        handler = ConnectionHandler({"default": dict(settings)})
        handlers.append(handler)
        return handler["default"]

    yield make
    for handler in handlers:
        handler.close_all()


def begin(connection) -> None:  # type: ignore[no-untyped-def]
    connection.ensure_connection()
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)


def test_a_second_writer_begins_as_soon_as_the_first_commits(make_connection) -> None:  # type: ignore[no-untyped-def]
    first, begun = make_connection(), []
    begin(first)

    def second() -> None:
        mine = make_connection()
        mine.inc_thread_sharing()
        begin(mine)
        begun.append(time.monotonic())
        mine.rollback()
        mine.close()

    thread = threading.Thread(target=second)
    thread.start()
    time.sleep(0.15)
    assert begun == []
    released = time.monotonic()
    first.commit()
    thread.join(5)
    assert 0 <= begun[0] - released < 0.05


def test_an_error_while_beginning_leaves_the_line(make_connection, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    mine = make_connection()
    mine.ensure_connection()
    stranger = sqlite3.connect(tmp_path / "queue.sqlite3", isolation_level=None)
    stranger.execute("BEGIN IMMEDIATE")
    with pytest.raises(OperationalError, match="locked"):
        begin(mine)
    stranger.rollback()
    mine.close()
    other = make_connection()
    begin(other)
    other.rollback()


def test_the_project_uses_it() -> None:
    assert sqlite_database(Path("x"))["ENGINE"] == "hitserver.sqlite"
    assert connections and transaction
