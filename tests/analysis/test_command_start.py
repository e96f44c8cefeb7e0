"""``python -m analysis`` imports the module of the command that runs, and nothing of the others."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from analysis.__main__ import COMMANDS, main

LOADED = """
import contextlib, io, json, sys
from analysis.__main__ import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(json.dumps(sorted(sys.modules)))
"""


def modules_after(*words: str) -> set[str]:
    """The modules that a new process has imported when the command ends."""
    run = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def test_the_list_of_commands_needs_neither_numpy_nor_pandas() -> None:
    assert not {"numpy", "pandas", "scipy"} & modules_after("--help")


def test_help_of_a_command_does_not_import_the_modules_of_the_others() -> None:
    loaded = modules_after("preference", "--help")
    others = {f"analysis.commands.{module}" for module, _ in COMMANDS.values()} - {"analysis.commands.preference"}
    assert "analysis.commands.preference" in loaded
    assert not others & loaded
    assert not {"matplotlib", "statsmodels", "analysis.report", "analysis.writing"} & loaded


@pytest.mark.parametrize("command", COMMANDS)
def test_every_listed_command_has_a_parser_of_its_own(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m analysis {command} ")


def test_the_list_names_every_command_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    words = " ".join(capsys.readouterr().out.split())
    for command, (_, line) in COMMANDS.items():
        assert f"{command} {line}" in words


def test_an_option_before_the_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--jsn", "agreement", "ratings.csv", "--unit=u", "--rater=r", "--value=v", "--level=nominal"])
    assert stop.value.code == 2
    assert "there is no option --jsn" in capsys.readouterr().err
