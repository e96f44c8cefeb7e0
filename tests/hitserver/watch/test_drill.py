"""Backups are tried by restoring them: beside the data, with nothing left behind, and a damaged one is noticed."""

from __future__ import annotations

import fcntl
import gzip
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from annotation.models import Study
from common.problems import Refused
from hitserver.backup import archive, drill
from hitserver.backup.databases import Postgres, Sqlite
from hitserver.models import BackupNote
from hitserver.tasks import try_backup as scheduled
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def backup(settings: Any, tmp_path: Path) -> Iterator[Path]:
    """A backup of this database that the command made, with the name of its file."""
    settings.VAR, settings.MEDIA_FILES = tmp_path / "var", tmp_path / "var" / "media"
    settings.MARKETPLACE_FILES = tmp_path / "var" / "files"
    settings.MEDIA_FILES.mkdir(parents=True)
    (settings.MEDIA_FILES / "cat.png").write_bytes(b"a picture")
    path = tmp_path / "b.tar.gz"
    call_command("backup", str(path), stdout=StringIO())
    yield path
    assert not (tmp_path / "var" / "restore-test" / "unpacked").exists()


def verify(*arguments: str) -> str:
    out = StringIO()
    call_command("backup", *arguments, "--verify", stdout=out)
    return out.getvalue()


def changed(path: Path, **facts: Any) -> None:
    """The same backup with other facts in its manifest."""
    folder = path.parent / "changed"
    folder.mkdir()
    manifest = archive.unpack(path, folder)
    with archive.writing(path) as writer:
        for member in manifest.pop("members"):
            writer.add(member, folder / member)
        manifest.pop("format")
        writer.finish(manifest | facts)
    shutil.rmtree(folder)


def test_a_good_backup_is_restored_checked_and_noted(backup: Path) -> None:
    n_rows = BackupNote.objects.get().n_rows
    assert f"{n_rows:,} rows, all references, 2 other files by checksum" in verify()
    note = BackupNote.objects.get()

    assert note.works
    assert note.path == str(backup)
    assert not databases_for_tests()


def databases_for_tests() -> list[str]:
    """Scratch databases that were left behind."""
    if connection.vendor != "postgresql":
        return []
    with connection.cursor() as cursor:
        name = f"{str(connection.settings_dict['NAME'])[:40]}%{drill.SCRATCH}"
        cursor.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", [name])
        return [name for (name,) in cursor.fetchall()]


def test_the_servers_own_data_stay_as_they_are(backup: Path) -> None:
    make_study(items=1)
    verify()

    assert Study.objects.count() == 1


def test_a_damaged_backup_is_noticed_noted_and_named(backup: Path) -> None:
    data = bytearray(gzip.decompress(backup.read_bytes()))
    data[len(data) // 2] ^= 1
    backup.write_bytes(gzip.compress(bytes(data)))

    with pytest.raises(CommandError, match=r"is damaged or missing|not a complete backup"):
        verify()
    assert BackupNote.objects.get().works is False


def test_rows_that_are_missing_are_noticed(backup: Path) -> None:
    changed(backup, rows={"auth_user": 10**6})

    with pytest.raises(CommandError, match="do not have the rows that it names"):
        verify(str(backup))


def test_migrations_that_differ_are_noticed(backup: Path) -> None:
    changed(backup, migrations=[["auth", "0001_initial"]])

    with pytest.raises(CommandError, match="Its migrations are not those"):
        verify(str(backup))


@pytest.mark.skipif("connection.vendor != 'sqlite'")
def test_a_row_that_refers_to_nothing_is_noticed(backup: Path) -> None:
    folder = backup.parent / "broken"
    folder.mkdir()
    manifest = archive.unpack(backup, folder)
    with closing(sqlite3.connect(folder / "database.sqlite3")) as database, database:
        database.execute("INSERT INTO auth_user_groups (user_id, group_id) VALUES (77, 88)")
    with archive.writing(backup) as writer:
        writer.add("database.sqlite3", folder / "database.sqlite3")
        facts = {name: value for name, value in manifest.items() if name not in ("members", "format")}
        writer.finish({**facts, "rows": Sqlite(folder / "database.sqlite3").rows()})

    with pytest.raises(CommandError, match="auth_user_groups: Row 1 refers to a row of auth_"):
        verify(str(backup))


def test_a_full_disk_is_left_alone(backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drill, "LEAST_FREE", 10**18)

    with pytest.raises(CommandError, match="would fill the disk"):
        verify()


def test_two_tests_at_once_are_one(backup: Path, settings: Any) -> None:
    home = settings.VAR / "restore-test"
    home.mkdir()
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="Another test runs now"):
            drill.try_backup(backup)


def test_without_a_backup_the_command_says_what_to_do(settings: Any, tmp_path: Path) -> None:
    settings.VAR = tmp_path
    with pytest.raises(CommandError, match="has made no backup"):
        verify()


def test_the_schedule_tries_the_newest_backup_once_a_week(backup: Path, settings: Any) -> None:
    settings.RESTORE_TEST_DAYS = 7
    assert scheduled()
    assert not scheduled()  # it was tried
    call_command("backup", str(backup), stdout=StringIO())
    assert not scheduled()  # another was tried a moment ago
    BackupNote.objects.filter(tried_at__isnull=False).update(tried_at=timezone.now() - timedelta(days=7))
    settings.RESTORE_TEST_DAYS = 0
    assert not scheduled()
    settings.RESTORE_TEST_DAYS = 7
    assert scheduled()


def test_a_backup_that_was_deleted_is_not_the_newest(backup: Path) -> None:
    call_command("backup", str(backup.with_name("c.tar.gz")), stdout=StringIO())
    backup.with_name("c.tar.gz").unlink()

    note = drill.newest_backup()
    assert note is not None
    assert note.path == str(backup)


@pytest.mark.postgres
@pytest.mark.skipif("connection.vendor != 'postgresql'")
def test_a_database_user_without_the_right_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Postgres()._connect()) as opened:
        opened.autocommit = True
        with opened.cursor() as cursor:
            cursor.execute("DROP ROLE IF EXISTS restore_test_nobody")
            cursor.execute("CREATE ROLE restore_test_nobody LOGIN")
            try:
                monkeypatch.setitem(connection.settings_dict, "USER", "restore_test_nobody")
                with pytest.raises(Refused, match='ALTER ROLE "restore_test_nobody" CREATEDB'):
                    Postgres("whatever_restore_test").create()
            finally:
                cursor.execute("DROP ROLE restore_test_nobody")
