"""script/upgrade and script/rollback with a real server and its data, on both databases."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest

from deploy.machine.layout import Layout, layout_at
from deploy.machine.releases import NOT_CODE, Source, fetch
from deploy.machine.services import ByHand, wait_until_healthy
from deploy.machine.steps import Steps
from tests import services
from tests.services import ROOT
from tests.support import clean_environment

BOTH = pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
#: Everything else of a checkout is not needed to run it.
NOT_NEEDED = NOT_CODE | {"tests", "bench", "docs", ".pytest_cache", ".hypothesis", "secrets"}
MIGRATION = """
from django.db import migrations

def work(apps, schema_editor):
    {work}

class Migration(migrations.Migration):
    dependencies = [("accounts", {before!r})]
    operations = [
        migrations.RunSQL("CREATE TABLE {table} (number integer)", "DROP TABLE {table}"),
        migrations.RunPython(work, migrations.RunPython.noop),
    ]
"""
WORKS, BREAKS = "pass", 'raise RuntimeError("this migration is broken")'


class Machine:
    """An installation in a folder of its own, whose server is started by hand."""

    def __init__(self, layout: Layout, source: Path) -> None:
        self.layout, self.source, self.hand = layout, source, ByHand(layout, Steps())

    def script(self, name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [ROOT / "script" / name, "--home", self.layout.home, *arguments],
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    def upgrade(self) -> subprocess.CompletedProcess[str]:
        return self.script("upgrade", "--from", self.source)

    def manage(self, *arguments: str) -> str:
        python, command = self.layout.current / ".venv" / "bin" / "python", self.layout.current / "manage.py"
        return subprocess.check_output(
            [str(python), str(command), *arguments], env=self.layout.environment(), text=True
        )

    def users(self) -> set[str]:
        return {line.split()[0] for line in self.manage("user", "list").splitlines() if line.strip()}

    def add_migration(self, *, work: str, table: str) -> None:
        folder = self.source / "accounts" / "migrations"
        before = sorted(path.stem for path in folder.glob("0*.py"))[-1]
        number = int(before[:4]) + 1
        (folder / f"{number:04}_{table}.py").write_text(MIGRATION.format(work=work, before=before, table=table))

    def healthy(self) -> bool:
        with urlopen(f"http://127.0.0.1:{self.layout.settings()['HITSERVER_PORT']}/healthz", timeout=20) as response:
            return bool(response.status == 200)


@pytest.fixture
def machine(tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> Iterator[Machine]:
    source = tmp_path / "source"
    shutil.copytree(ROOT, source, ignore=lambda _, names: NOT_NEEDED.intersection(names), symlinks=True)
    layout = layout_at(tmp_path / "home")
    for folder in (layout.releases, layout.backups, layout.home / "var"):
        folder.mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lines = [f"HITSERVER_VAR={layout.home / 'var'}", f"HITSERVER_PORT={port}", "HITSERVER_WEB_WORKERS=1"]
    stack = ExitStack()
    if kind == "postgresql":
        database = services.new_database(request.getfixturevalue("postgres_server"), "")
        lines.append(f"DATABASE_URL={stack.enter_context(database)}")
    layout.settings_file.write_text("\n".join(lines))
    release = fetch(layout, Steps(), Source(str(source)), "")
    (release / ".venv").symlink_to((ROOT / ".venv").resolve())
    layout.current.symlink_to(release)
    prepare = [str(release / ".venv" / "bin" / "python"), "-m", "hitserver.prepare"]
    subprocess.run(prepare, env=layout.environment(), cwd=release, check=True, capture_output=True)
    machine = Machine(layout, source)
    machine.hand.start()
    with stack:
        stack.callback(machine.hand.stop)
        wait_until_healthy(layout, process=machine.hand.process)
        yield machine


@pytest.mark.long
@pytest.mark.slow(on_every_database=True)
@BOTH
def test_a_broken_upgrade_comes_back_and_a_good_one_can_be_undone(machine: Machine) -> None:
    machine.manage("user", "add", "anna")
    first = machine.layout.current_release()

    machine.add_migration(work=WORKS, table="first_table")
    machine.add_migration(work=BREAKS, table="second_table")
    failed = machine.upgrade()
    assert failed.returncode == 1
    assert "this migration is broken" in failed.stderr
    assert f"{first.name} runs again with its data" in failed.stderr
    assert machine.layout.current_release() == first and machine.healthy()
    assert "anna" in machine.users()

    broken = sorted((machine.source / "accounts" / "migrations").glob("0*_second_table.py"))[0]
    broken.write_text(broken.read_text().replace(BREAKS, WORKS))
    worked = machine.upgrade()
    assert worked.returncode == 0, worked.stdout + worked.stderr
    second = machine.layout.current_release()
    assert second != first and machine.healthy()
    machine.manage("user", "add", "bertha")
    assert {"anna", "bertha"} <= machine.users()

    asked = machine.script("rollback")
    assert asked.returncode == 1 and "Add --yes." in asked.stderr
    assert machine.layout.current_release() == second
    undone = machine.script("rollback", "--yes")
    assert undone.returncode == 0, undone.stdout + undone.stderr
    assert "auth_user: 1 row more" in undone.stdout
    assert machine.layout.current_release() == first and machine.healthy()
    assert "anna" in machine.users() and "bertha" not in machine.users()
    copies = list((machine.layout.home / "var" / "copies").glob("before-restoring-*.tar.gz"))
    assert len(copies) == 2


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_version_that_does_not_start_stops_nobody(machine: Machine) -> None:
    """It changes no tables, so the old version runs all the time, and what is written meanwhile stays."""
    first = machine.layout.current_release()
    (machine.source / "hitserver" / "wsgi.py").write_text('raise RuntimeError("this version does not start")')
    pid = (machine.layout.home / "var" / "server.pid").read_text()
    failed = machine.upgrade()
    assert failed.returncode == 1
    assert "this version does not start" in failed.stderr
    assert machine.layout.current_release() == first and machine.healthy()
    assert machine.layout.current.readlink() == first
    assert (machine.layout.home / "var" / "server.pid").read_text() == pid
