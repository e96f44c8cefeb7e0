"""Backups: made while people work, restored elsewhere, refused if something would be lost or is wrong."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hitserver.backup import archive
from hitserver.backup.databases import copy_sqlite
from tests import services
from tests.integration.studies import make_study
from tests.services import ROOT
from tests.support import Server, clean_environment, database_with_tables

BOTH = pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
#: What must hold between tables that are written in one transaction, whenever a backup is made.
WHOLE = """
import json
from django.db.models import Count, F
from annotation.models import Assignment, Hit, Rating, Step, Submission
submitted = Assignment.objects.filter(state="submitted")
print(json.dumps({
    "submissions": Submission.objects.count(),
    "without submission": submitted.filter(submission__isnull=True).count(),
    "without ratings": Submission.objects.filter(ratings__isnull=True).count(),
    "without steps": submitted.filter(steps__isnull=True).count(),
    "miscounted": Hit.objects.annotate(n=Count("assignments__submission")).exclude(n=F("n_submitted")).count(),
}))
"""


def manage(*arguments: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=dict(environment), capture_output=True, text=True, check=False)


def environment(var: Path, **changes: str) -> dict[str, str]:
    return clean_environment({"HITSERVER_VAR": str(var), **changes})


def manifest(path: Path) -> dict[str, Any]:
    with tarfile.open(path) as tar:
        file = tar.extractfile(archive.MANIFEST)
        assert file is not None
        found: dict[str, Any] = json.load(file)
        return found


# --- under load, on both databases ---


@contextmanager
def people_at_work(server: Server) -> Iterator[None]:
    """Thirty people do the study until the end of the block. That there is still work for them is no reason to wait."""
    simulate = ("simulate", "load", "--base-url", server.base_url, "--workers", "30")
    with (server.var / "simulate.log").open("wb") as log:
        bots = subprocess.Popen(
            [sys.executable, "manage.py", *simulate], cwd=ROOT, env=server.environment, stdout=log, stderr=log
        )
    try:
        yield
    finally:
        bots.kill()
        bots.wait(timeout=10)


@pytest.mark.slow
@BOTH
def test_a_backup_made_while_people_work_is_whole_and_can_be_restored(
    kind: str, request: pytest.FixtureRequest, live_processes: Callable[..., Server], tmp_path: Path
) -> None:
    with ExitStack() as stack:
        here = there = {}
        if kind == "postgresql":
            server = request.getfixturevalue("postgres_server")
            databases = (services.new_database(server, name) for name in (services.postgres_template(), ""))
            here, there = ({"DATABASE_URL": stack.enter_context(database)} for database in databases)
        running = live_processes(env=here)
        make_study(running, items=60, ratings=30)
        backups = [tmp_path / f"{number}.tar.gz" for number in range(3)]
        with people_at_work(running):
            for path in backups:
                running.manage("backup", str(path))
        counts = [manifest(path)["rows"]["annotation_submission"] for path in backups]
        total = json.loads(running.manage("shell", "-v", "0", "-c", WHOLE).splitlines()[-1])["submissions"]
        assert counts == sorted(counts)
        during = [path for path, count in zip(backups, counts, strict=True) if 0 < count < total]
        assert during, (counts, total)

        target = environment(tmp_path / "restored", **there)
        done = manage("restore", str(during[0]), environment=target)
        assert done.returncode == 0, done.stderr
        found = manage("shell", "-v", "0", "-c", WHOLE, environment=target)
        assert json.loads(found.stdout.splitlines()[-1]) == {
            "submissions": manifest(during[0])["rows"]["annotation_submission"],
            "without submission": 0,
            "without ratings": 0,
            "without steps": 0,
            "miscounted": 0,
        }
        again = manage("restore", str(during[0]), environment=target)
        assert again.returncode == 1
        assert "the database: It holds data (annotation_" in again.stderr
        forced = manage("restore", str(backups[0]), "--force", environment=target)
        assert forced.returncode == 0, forced.stderr
        assert "The previous data are in" in forced.stdout
        (kept,) = (tmp_path / "restored" / "copies").iterdir()
        assert manifest(kept)["rows"] == manifest(during[0])["rows"]


# --- what is in it, and what is refused ---


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """A server's folder and a backup of it, with one user, one uploaded file, one image and a key."""
    var = tmp_path_factory.mktemp("made") / "var"
    files = var / "marketplace-files" / "ab"
    files.mkdir(parents=True)
    (files / "abcd").write_bytes(b"uploaded")
    images = var / "media" / "cd"
    images.mkdir(parents=True)
    (images / "cdef.png").write_bytes(b"an image")
    copies = var / "media" / "copies" / "cd"
    copies.mkdir(parents=True)
    (copies / "cdef-480.png").write_bytes(b"a copy that can be made again")
    (var / "media" / "uploads").mkdir()
    (var / "media" / "uploads" / "1-1-ab.data").write_bytes(b"a file that waits to be imported")
    copy_sqlite(database_with_tables(), var / "db.sqlite3")
    with closing(sqlite3.connect(var / "db.sqlite3")) as database, database:
        database.execute(
            "INSERT INTO auth_user (password, is_superuser, username, first_name, last_name, email, is_staff, "
            "is_active, date_joined) VALUES ('x', 0, 'ada', '', '', '', 0, 1, '2026-01-01')"
        )
    path = var.parent / "b.tar.gz"
    done = manage("backup", str(path), environment=environment(var))
    assert done.returncode == 0, done.stderr
    assert "2 files," in done.stdout
    yield var, path


def test_a_restored_server_has_users_files_and_key_for_its_user_alone(made: tuple[Path, Path], tmp_path: Path) -> None:
    var, path = made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    done = manage("restore", str(path), environment=environment(tmp_path / "var"))
    assert done.returncode == 0, done.stderr
    assert "The secret key was restored from the backup." in done.stdout
    restored = tmp_path / "var"
    assert (restored / "secret_key").read_text() == (var / "secret_key").read_text()
    assert (restored / "marketplace-files" / "ab" / "abcd").read_bytes() == b"uploaded"
    assert (restored / "media" / "cd" / "cdef.png").read_bytes() == b"an image"
    assert not (restored / "media" / "copies").exists()
    assert not (restored / "media" / "uploads").exists()
    with closing(sqlite3.connect(restored / "db.sqlite3")) as database:
        assert database.execute("SELECT username FROM auth_user").fetchall() == [("ada",)]
    for name in ("db.sqlite3", "secret_key", "marketplace-files/ab/abcd", "media/cd/cdef.png"):
        assert stat.S_IMODE((restored / name).stat().st_mode) == 0o600
    assert not list(restored.glob(".backup-*"))


def test_without_the_key_it_says_which_key_is_needed(made: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "b.tar.gz"
    manage("backup", str(path), "--without-key", environment=environment(made[0]))
    assert "secret_key" not in manifest(path)["members"]
    done = manage("restore", str(path), environment=environment(tmp_path / "var"))
    assert "Set HITSERVER_SECRET_KEY to the old server's key." in done.stdout


def rewritten(path: Path, target: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    with tarfile.open(path) as source, tarfile.open(target, "w:gz") as tar:
        for member in source:
            file = source.extractfile(member)
            data = change(member.name, file.read() if file else b"")
            if data is not None:
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    return target


def edited(name: str, **facts: object) -> Callable[[str, bytes], bytes | None]:
    def change(member: str, data: bytes) -> bytes | None:
        return json.dumps(json.loads(data) | facts).encode() if member == name else data

    return change


def without(name: str) -> Callable[[str, bytes], bytes | None]:
    return lambda member, data: None if member == name else data


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda name, data: data[:-1] + b"?" if name.startswith("files/") else data,
            "files/ab/abcd is damaged or missing",
        ),
        (without("files/ab/abcd"), "files/ab/abcd is damaged or missing"),
        (without(archive.MANIFEST), "manifest.json is missing"),
        (edited(archive.MANIFEST, format=2), "does not have the format 1"),
        (edited(archive.MANIFEST, database="database.pgdump"), "of a PostgreSQL database, and this server uses SQLite"),
        (edited(archive.MANIFEST, migrations=[["annotation", "9999_later"]]), "annotation.9999_later"),
        (edited(archive.MANIFEST, rows={"auth_user": 2}), "do not have the rows that the backup names"),
    ],
    ids=["changed", "left out", "no manifest", "format", "database", "newer", "rows"],
)
def test_a_backup_that_is_not_right_is_refused(
    made: tuple[Path, Path], tmp_path: Path, change: Callable[[str, bytes], bytes | None], said: str
) -> None:
    path = rewritten(made[1], tmp_path / "changed.tar.gz", change)
    done = manage("restore", str(path), environment=environment(tmp_path / "var"))
    assert done.returncode == 1
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["../evil", "/evil", "files/../../evil"])
def test_a_backup_never_writes_outside_its_folder(tmp_path: Path, name: str) -> None:
    path = tmp_path / "evil.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    done = manage("restore", str(path), environment=environment(tmp_path / "a" / "var"))
    assert done.returncode == 1
    assert "which does not belong in a backup" in done.stderr
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize("data", [b"", b"no archive", gzip.compress(b"x" * 2000)], ids=["empty", "text", "gzip"])
def test_a_file_that_is_not_a_backup_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "b.tar.gz"
    path.write_bytes(data)
    done = manage("restore", str(path), environment=environment(tmp_path / "var"))
    assert done.returncode == 1
    assert "not a complete backup" in " ".join(done.stderr.split())


def test_half_a_backup_is_refused(made: tuple[Path, Path], tmp_path: Path) -> None:
    data = made[1].read_bytes()
    path = tmp_path / "half.tar.gz"
    path.write_bytes(data[: len(data) // 2])
    done = manage("restore", str(path), environment=environment(tmp_path / "var"))
    assert "not a complete backup" in " ".join(done.stderr.split())


def test_a_backup_into_a_folder_that_does_not_exist_is_refused(made: tuple[Path, Path], tmp_path: Path) -> None:
    done = manage("backup", str(tmp_path / "none" / "b.tar.gz"), environment=environment(made[0]))
    assert done.returncode == 1
    assert "there is no folder" in done.stderr


#: Finds what the second migration of the marketplace adds, on which no other app depends.
UNDONE = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'marketplace_%append_only%'"


def test_the_last_copies_from_before_a_migration_are_kept(made: tuple[Path, Path], tmp_path: Path) -> None:
    var = tmp_path / "var"
    manage("restore", str(made[1]), environment=environment(var))
    settings = environment(var, HITSERVER_MIGRATION_COPIES="2")
    for _ in range(3):
        with closing(sqlite3.connect(var / "db.sqlite3")) as database, database:
            database.execute("DELETE FROM django_migrations WHERE app = 'marketplace' AND name > '0002'")
            for (name,) in database.execute(UNDONE).fetchall():
                database.execute(f"DROP TRIGGER {name}")
        done = subprocess.run(
            [sys.executable, "-m", "hitserver.prepare"],
            env=settings,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "A copy from before is in" in done.stderr
    copies = sorted((var / "copies").glob("before-migrating-*"))
    assert len(copies) == 2
    with closing(sqlite3.connect(copies[-1])) as copy:
        assert copy.execute("SELECT username FROM auth_user").fetchall() == [("ada",)]
        assert not copy.execute(UNDONE).fetchall()
