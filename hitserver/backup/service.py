"""What belongs in a backup, and when one can be restored."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from annotation.studies.image_files import COPIES, UPLOADS
from common.problems import Problem, invalid, refuse_if_any
from common.words import counted
from hitserver.backup import archive
from hitserver.backup.databases import ALWAYS_FILLED, Database, Sqlite, copy_sqlite, holds_data, this_database
from hitserver.backup.outdated import deletions_since
from hitserver.version import version

KEY = "secret_key"
ONE_UNDONE = "This undid the deletion of a worker's data."
#: Folders with files: their name in a backup, and the setting that contains their path.
FOLDERS = {"files": "MARKETPLACE_FILES", "media": "MEDIA_FILES"}


@dataclass(frozen=True)
class Outcome:
    """What was written or restored. ``notes`` are for the person who runs the command."""

    rows: int
    files: int
    made_at: str
    notes: tuple[str, ...] = ()


def back_up(path: Path, *, with_key: bool = True) -> Outcome:
    """Backs up everything into one file while the server runs. Raises Invalid or OSError."""
    database = this_database()
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    with _workplace(path.parent) as folder, archive.writing(path) as writer:
        copy = folder / database.member
        # The database first: every file that it refers to already exists, and one that is added later does no harm.
        rows = database.copy_to(copy)
        writer.add(database.member, copy)
        copy.unlink()
        files = sum(_add_files(writer, name) for name in FOLDERS)
        if with_key:
            writer.add_text(KEY, settings.SECRET_KEY)
        writer.finish(
            {
                "made_at": made_at,
                "version": version(),
                "database": database.member,
                "migrations": sorted(map(list, MigrationRecorder(connection).applied_migrations())),
                "rows": rows,
            }
        )
    return Outcome(sum(rows.values()), files, made_at)


def restore(path: Path, *, force: bool = False) -> Outcome:
    """Restores this server from a backup.

    Raises Invalid and changes nothing if the backup is damaged or does not fit this server. Without ``force``, the same
    holds if this server has data. With ``force``, those are backed up first.
    """
    database = this_database()
    with _workplace(Path(settings.VAR)) as folder:
        manifest = archive.unpack(path, folder)
        check_fits(path, manifest, database)
        notes = _make_room(database, force=force)
        database.load(folder / database.member)
        if database.rows() != manifest["rows"]:
            raise invalid(path.name, "The restored tables do not have the rows that the backup names.", "Try again.")
        database.check_references()
        files = sum(_put_files(folder, name) for name in FOLDERS)
        notes += _put_key(folder / KEY)
        if undone := deletions_since(manifest["made_at"]):
            what = f"This undid the deletion of {counted(undone, 'worker')}' data." if undone > 1 else ONE_UNDONE
            notes.append(f"{what} Now run: manage.py study redact --again")
        if migrations_due():
            call_command("migrate", interactive=False, verbosity=0)
            notes.append("The backup was made by an older version; its tables were brought up to date.")
    return Outcome(sum(manifest["rows"].values()), files, manifest["made_at"], tuple(notes))


def changed_rows(path: Path) -> dict[str, int]:
    """How many rows more (or fewer) each table has than in a backup. Raises Invalid if the backup is damaged."""
    with _workplace(Path(settings.VAR)) as folder:
        before = archive.unpack(path, folder)["rows"]
    now = this_database().rows()
    tables = sorted((before.keys() | now.keys()) - ALWAYS_FILLED)
    return {table: more for table in tables if (more := now.get(table, 0) - before.get(table, 0))}


def copy_before_migrating() -> Path | None:
    """Copies the SQLite database into the folder ``copies`` and keeps the last few. None if there is nothing to copy.

    PostgreSQL itself undoes a migration that fails.
    """
    database = this_database()
    if not isinstance(database, Sqlite) or not settings.MIGRATION_COPIES or not holds_data(database.rows()):
        return None
    folder = _private(Path(settings.VAR) / "copies")
    copy = folder / f"before-migrating-{_stamp()}.sqlite3"
    copy_sqlite(database.path, copy)
    for old in sorted(folder.glob("before-migrating-*.sqlite3"))[: -settings.MIGRATION_COPIES]:
        old.unlink()
    return copy


def migrations_due() -> bool:
    """Whether the database lacks a migration of this version."""
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


# --- parts ---


@contextmanager
def _workplace(beside: Path) -> Iterator[Path]:
    """A private folder on the same disk."""
    if not beside.is_dir():
        raise FileNotFoundError(2, f"there is no folder {beside}", str(beside))
    with tempfile.TemporaryDirectory(prefix=".backup-", dir=beside) as folder:
        yield Path(folder)


def _private(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder


def _stamp() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"


def _home(name: str) -> Path:
    return Path(getattr(settings, FOLDERS[name]))


def _add_files(writer: archive.Writer, name: str) -> int:
    home, count = _home(name), 0
    for path in sorted(home.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        if path.is_relative_to(home / COPIES) or path.is_relative_to(home / UPLOADS):
            continue  # smaller copies of images, made again when they are needed; files that wait to be imported
        try:
            writer.add(f"{name}/{path.relative_to(home).as_posix()}", path)
            count += 1
        except FileNotFoundError:
            continue  # it was deleted while the backup ran
    return count


def check_fits(path: Path, manifest: dict[str, Any], database: Database) -> None:
    """Raises Invalid if the backup is of another kind of database or of a newer version."""
    if manifest["database"] != database.member:
        kinds = ("SQLite", "PostgreSQL")
        server_kind, backup_kind = kinds if database.member == Sqlite.member else kinds[::-1]
        what = f"The backup is of a {backup_kind} database, and this server uses {server_kind}."
        raise invalid(path.name, what, f"Set DATABASE_URL to a {backup_kind} database (for SQLite: leave it empty).")
    loader = MigrationExecutor(connection).loader
    replaced = {old for migration in loader.disk_migrations.values() for old in migration.replaces}
    migrations = set(loader.disk_migrations) | replaced
    unknown = [f"{app}.{name}" for app, name in manifest["migrations"] if (app, name) not in migrations]
    if unknown:
        what = f"This backup is of HITServer {manifest['version']} and is newer: {', '.join(unknown[:3])}."
        raise invalid(path.name, what, f"Install that version or a newer one; this is {version()}.")


def _make_room(database: Database, *, force: bool) -> list[str]:
    """Refuses to overwrite anything unless forced. If forced, first backs up the current data."""
    filled = holds_data(database.rows())
    files = [home for home in map(_home, FOLDERS) if home.is_dir() and any(home.iterdir())]
    shown = ", ".join(filled[:3]) + (" …" if filled[3:] else "")
    problems = [Problem("the database", f"It holds data ({shown}).")] if filled else []
    problems += [Problem(str(home), "The folder is not empty.") for home in files]
    if not problems:
        return []
    if not force:
        fix = "Restore into a new folder (HITSERVER_VAR) or database. Or add --force: it backs up what is here first."
        refuse_if_any([*problems, Problem("restore", "Nothing was changed.", fix)])
    previous = _private(Path(settings.VAR) / "copies") / f"before-restoring-{_stamp()}.tar.gz"
    back_up(previous)
    for home in files:
        shutil.rmtree(home)
    return [f"The previous data are in {previous}."]


def _put_files(unpacked: Path, name: str) -> int:
    home, folder = _private(_home(name)), unpacked / name
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    for path in files:
        target = home / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.move(path, target)
        target.chmod(0o600)
    return len(files)


def _put_key(file: Path) -> list[str]:
    """Restores the secret key: signed links and sealed keys need the secret of the server that made them."""
    if not file.exists():
        return ["The backup contains no secret key. Set HITSERVER_SECRET_KEY to the old server's key."]
    if file.read_text().strip() == settings.SECRET_KEY:
        return []
    target = Path(settings.VAR) / ("secret_key.restored" if settings.SECRET_KEY_IS_SET else "secret_key")
    target.unlink(missing_ok=True)
    shutil.move(file, target)
    target.chmod(0o600)
    if not settings.SECRET_KEY_IS_SET:
        return ["The secret key was restored from the backup."]
    return [f"The backup has another secret key: set HITSERVER_SECRET_KEY to the text in {target}, then delete that."]
