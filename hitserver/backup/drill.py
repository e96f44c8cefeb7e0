"""Tries a backup by restoring it beside the server's data, and notes what came of it.

Only the database is restored, into a file or a database of its own that is removed afterwards. Of all other files the
checksums are compared, and nothing of them is written.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from common.problems import Refused, invalid
from common.words import counted, duration
from hitserver.backup import archive
from hitserver.backup.databases import Database, Postgres, Sqlite, this_database
from hitserver.backup.service import Outcome, check_fits
from hitserver.models import BackupNote
from hitserver.watch.signs import machine

#: What a test leaves free on the disk.
LEAST_FREE = 500 * 1000**2
#: Added to the name of the database; PostgreSQL cuts names at 63 characters.
SCRATCH = "_restore_test"


def note_backup(path: Path, outcome: Outcome) -> None:
    """Note that a backup was written. A database without this table, before an update, is left alone."""
    with suppress(DatabaseError), transaction.atomic():
        BackupNote.objects.create(
            machine=machine(),
            path=str(path.absolute())[:500],
            n_bytes=path.stat().st_size,
            n_rows=outcome.rows,
            made_at=outcome.made_at,
        )


def newest_backup() -> BackupNote | None:
    """The newest backup that this machine wrote and still has."""
    notes = BackupNote.objects.filter(machine=machine()).order_by("-made_at", "-pk")
    return next((note for note in notes[:100] if Path(note.path).is_file()), None)


def try_newest() -> BackupNote | None:
    """Try the newest backup and note the outcome. None if this machine has none."""
    note = newest_backup()
    if note is None:
        return None
    try:
        outcome = try_backup(Path(note.path))
        note.works, note.outcome = True, outcome
    except Refused as refused:
        note.works, note.outcome = False, str(refused)[:2000]
    except OSError as error:
        note.works, note.outcome = False, f"{error.filename or note.path}: {error.strerror or error}."
    note.tried_at = timezone.now()
    note.save(update_fields=["works", "outcome", "tried_at"])
    return note


def note_time_up() -> None:
    """Note that a test took longer than a background task may."""
    note = newest_backup()
    if note is not None:
        fix = "Run manage.py backup --verify by cron instead, or set HITSERVER_TASK_SECONDS higher."
        note.works, note.outcome, note.tried_at = False, f"It took longer than a task may. {fix}", timezone.now()
        note.save(update_fields=["works", "outcome", "tried_at"])


def is_due() -> bool:
    """Whether the newest backup was not tried yet, and the last try of any is long enough ago."""
    days = settings.RESTORE_TEST_DAYS
    note = newest_backup() if days else None
    if note is None:
        return False
    since = timezone.now() - timedelta(days=days) + timedelta(hours=1)
    return note.tried_at is None and not BackupNote.objects.filter(tried_at__gte=since).exists()


def try_backup(path: Path) -> str:
    """Restore the backup beside the server's data and check it. Returns what was checked, in words. Raises Invalid."""
    began = timezone.now()
    member = this_database().member
    with _scratch_folder() as folder:
        manifest = archive.unpack(path, folder, wanted=lambda name: name == member, least_free=LEAST_FREE)
        check_fits(path, manifest, this_database())
        with _restored(folder / member) as database:
            rows = database.rows()
            if rows != manifest["rows"]:
                different = sorted({table for table, _ in rows.items() ^ manifest["rows"].items()})
                what = f"The restored tables do not have the rows that it names: {', '.join(different[:5])}."
                raise invalid(path.name, what, "Make a new backup and try that.")
            database.check_references()
            if database.migrations() != {(app, name) for app, name in manifest["migrations"]}:
                raise invalid(path.name, "Its migrations are not those that it names.", "Make a new backup.")
    seconds = (timezone.now() - began).total_seconds()
    files = len(manifest["members"]) - 1
    total = counted(sum(rows.values()), "row")
    return f"Restored in {duration(seconds)}: {total}, all references, {counted(files, 'other file')} by checksum."


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """An empty folder for one test at a time. What a test that was killed left there is removed first."""
    home = Path(settings.VAR) / "restore-test"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise invalid("restore test", "Another test runs now.", "Wait until it has ended.") from None
        folder = home / "unpacked"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _restored(copy: Path) -> Iterator[Database]:
    """The copy as a database: an SQLite copy is one already."""
    if connection.vendor != "postgresql":
        yield Sqlite(copy)
        return
    database = Postgres(f"{str(connection.settings_dict['NAME'])[: 63 - len(SCRATCH)]}{SCRATCH}")
    database.create()
    try:
        database.fill(copy)
        yield database
    finally:
        database.drop()
