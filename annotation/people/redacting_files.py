"""What a redaction does outside the rows of the database: saved reports, the journal, old content of the file."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from annotation.models import Participant
from annotation.redaction_journal import journal

log = logging.getLogger(__name__)


def note_in_journal(participants: Collection[Participant]) -> None:
    """Append the participants. Several processes may append at once."""
    now = timezone.now().isoformat()
    lines = [
        json.dumps({"participant": participant.pk, "study": participant.study_id, "at": now})
        for participant in participants
    ]
    with os.fdopen(os.open(journal(), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a") as file:
        file.write("".join(f"{line}\n" for line in lines))
        file.flush()
        os.fsync(file.fileno())


def remove_reports(studies: Collection[int]) -> None:
    """Delete the saved reports and papers of these studies, and the files that jobs of the API made. Reports and papers
    are made again when somebody opens them."""
    for number in studies:
        for kind in ("reports", "papers", "job-files"):
            shutil.rmtree(Path(settings.VAR) / kind / str(number), ignore_errors=True)


def copies_on_disk() -> list[Path]:
    """Copies of the database that the server itself made: before it changed tables, or before a restore."""
    return sorted(path for path in (Path(settings.VAR) / "copies").glob("*") if path.is_file())


def overwrite_deleted() -> bool:
    """Remove the old content of changed and deleted rows from the database's files. False if that was not possible now.

    SQLite writes its file again without them. PostgreSQL frees their space, to be overwritten later, and makes its
    statistics again: they contain some values of every column.
    """
    if connection.in_atomic_block:
        return False
    try:
        with connection.cursor() as cursor:
            cursor.execute("VACUUM" if connection.vendor == "sqlite" else "VACUUM ANALYZE")
            if connection.vendor == "sqlite":
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            else:
                _forget_statistics_of_empty_tables(cursor)
    except DatabaseError:
        log.exception("The database could not be vacuumed after a redaction; old content may remain in its files")
        return False
    return True


def _forget_statistics_of_empty_tables(cursor: Any) -> None:
    """ANALYZE leaves the statistics of a table without rows as they are. A column that is given its own type again
    loses them. PostgreSQL refuses that for a column that a trigger names; the search then shows it."""
    cursor.execute(
        "SELECT format('ALTER TABLE %I ALTER COLUMN %I TYPE %s', c.relname, a.attname, "
        "format_type(a.atttypid, a.atttypmod)) FROM pg_stats AS s "
        "JOIN pg_class AS c ON c.relname = s.tablename AND c.relnamespace = current_schema()::regnamespace "
        "JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = s.attname "
        "WHERE s.schemaname = current_schema() AND c.reltuples = 0 "
        "AND a.atttypid IN ('text'::regtype, 'varchar'::regtype, 'jsonb'::regtype)"
    )
    statements = [statement for (statement,) in cursor.fetchall()]
    cursor.execute("SET lock_timeout = '2s'")
    for statement in statements:
        with suppress(DatabaseError):
            cursor.execute(statement)
    cursor.execute("RESET lock_timeout")
