"""script/install: what it would do, what it writes, and what it says when it cannot."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

from deploy.machine import install
from deploy.machine.layout import Layout, layout_at
from deploy.machine.steps import Failure, Steps
from tests.deploy.test_files import LAB
from tests.services import ROOT

SETTINGS = """
HITSERVER_ENV=production
HITSERVER_SECRET_KEY=
HITSERVER_ALLOWED_HOSTS=old.lab
DATABASE_URL=
"""


def layout(tmp_path: Path) -> Layout:
    return layout_at(tmp_path)


def test_a_dry_run_says_what_it_would_do_and_changes_nothing() -> None:
    done = subprocess.run(
        [ROOT / "script" / "install", "--dry-run", "--domain", "hits.example.org", "--redis"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "This was a dry run: nothing was changed." in done.stdout
    for number in range(1, 11):
        assert f"\n{number}. " in done.stdout
    assert not Path("/opt/hitserver").exists()


def test_settings_get_secrets_once_and_keep_what_somebody_wrote(tmp_path: Path) -> None:
    home = layout(tmp_path)
    install.write_settings(home, Steps(), LAB)
    first = home.settings()
    assert stat.S_IMODE(home.settings_file.stat().st_mode) == 0o600
    assert len(first["HITSERVER_SECRET_KEY"]) > 80
    assert first["HITSERVER_ALLOWED_HOSTS"] == "hits.lab"

    home.settings_file.write_text(home.settings_file.read_text() + "HITSERVER_WEB_THREADS=9\n")
    install.write_settings(home, Steps(), LAB)
    assert home.settings() == first | {"HITSERVER_WEB_THREADS": "9"}


def test_a_name_that_the_settings_do_not_allow_is_refused(tmp_path: Path) -> None:
    home = layout(tmp_path)
    home.settings_file.write_text(SETTINGS)
    with pytest.raises(Failure, match=r"allows old.lab and not hits.lab. Write it first into the list"):
        install.write_settings(home, Steps(), LAB)


def test_a_system_without_apt_is_told_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(Failure, match=r"By hand you need Python 3.11 with venv, git, PostgreSQL and a web server"):
        install.check_machine(Steps(dry_run=True))


def test_only_one_at_a_time(tmp_path: Path) -> None:
    with layout(tmp_path).locked(), pytest.raises(Failure, match="Wait until it has ended"), layout(tmp_path).locked():
        pass


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        ("upgrade", (), "Run script/install first."),
        ("rollback", ("--yes",), "There was no upgrade, so there is nothing to go back to."),
    ],
)
def test_without_an_installation_there_is_nothing_to_change(
    tmp_path: Path, script: str, arguments: tuple[str, ...], message: str
) -> None:
    command = [str(ROOT / "script" / script), "--home", str(tmp_path), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
