"""Commands that consist of actions."""

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.db import OperationalError

from common.commands import ActionCommand, AddAction, aligned, progress_bar
from common.problems import invalid
from tests.services import ROOT
from tests.support import clean_environment


class Command(ActionCommand):
    """Three ways to fail, one to succeed."""

    def add_actions(self, add: AddAction) -> None:
        add("greet", "greet somebody", self.greet).add_argument("name")
        failing: CommandParser = add("fail", "fail in some way", self.fail)
        failing.add_argument("how", choices=sorted(FAILURES))

    def greet(self, *, name: str) -> None:
        self.say([f"Hello {name}."])

    def fail(self, *, how: str) -> None:
        raise FAILURES[how]


FAILURES: dict[str, BaseException] = {
    "refused": invalid("reward", "It is negative.", "Write 0 or more."),
    "file": FileNotFoundError(2, "No such file", "items.csv"),
    "table": OperationalError("no such table: annotation_study"),
    "bug": ZeroDivisionError(),
    "stopped": KeyboardInterrupt(),
}


def run(*arguments: str) -> tuple[str, str]:
    out, complaints = StringIO(), StringIO()
    try:
        call_command(Command(stdout=out, stderr=complaints), *arguments)
    except CommandError as error:
        return complaints.getvalue().strip(), str(error)
    return complaints.getvalue(), out.getvalue()


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("refused", ("reward: It is negative. Write 0 or more.", "Nothing was written.")),
        ("file", ("", "items.csv: No such file.")),
        ("table", ("", "The database is not set up (no such table: annotation_study). Run: manage.py migrate")),
        ("stopped", ("", "Stopped.")),
    ],
)
def test_refusals_are_explained_without_a_stack_trace(how: str, expected: tuple[str, str]) -> None:
    assert run("fail", how) == expected


def test_a_bug_keeps_its_stack_trace() -> None:
    with pytest.raises(ZeroDivisionError):
        run("fail", "bug")


def test_an_action_gets_its_own_options_alone() -> None:
    assert run("greet", "Ann") == ("", "Hello Ann.\n")


def test_a_progress_bar_of_totals_does_not_add_them_up(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(True, "HITs", total=3, so_far=True) as step:
        for done in (1, 2, 3):
            step(done)
    shown = capsys.readouterr().err
    assert "3/3" in shown and "6/3" not in shown and "6 HITs [" not in shown


def test_columns_are_as_wide_as_their_longest_cell_or_the_limit() -> None:
    assert list(aligned([("a", "bb"), ("ccc", "d")])) == ["  a    bb", "  ccc  d"]
    assert list(aligned([("a", "b"), ("cccccc", "d")], most=(3,))) == ["  a    b", "  cccccc  d"]


@pytest.mark.slow
def test_a_reader_who_stops_early_sees_no_stack_trace(tmp_path: Path) -> None:
    environment = clean_environment({"HITSERVER_VAR": str(tmp_path)})
    command = f"{sys.executable} -u manage.py study keys abs_hds | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("slug:")


@pytest.mark.slow
@pytest.mark.parametrize("action", ["keys abs_hds", "keys"])
def test_a_full_disk_is_reported_without_a_stack_trace(action: str, tmp_path: Path) -> None:
    environment = clean_environment({"HITSERVER_VAR": str(tmp_path)})
    command = f"{sys.executable} manage.py study {action} > /dev/full"
    done = subprocess.run(
        ["bash", "-c", command], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )

    what = "CommandError: The output could not be written: No space left on device."
    assert (done.returncode, done.stderr.strip()) == (1, f"{what} Free some space, or write somewhere else.")


@pytest.mark.slow
def test_a_pipe_that_closes_early_is_not_an_error(tmp_path: Path) -> None:
    """Little output stays in Python's buffer until the command ends."""
    environment = clean_environment({"HITSERVER_VAR": str(tmp_path)})
    command = f"{sys.executable} manage.py study keys | true"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
