"""Every command on the page about replications can be read by its program, and every file that it names exists."""

from __future__ import annotations

import re
import shlex
from importlib import import_module

import pytest
from django.core.management import load_command_class

from analysis.__main__ import COMMANDS
from analysis.commands.options import Parser
from tests.services import ROOT

PAGE = (ROOT / "docs" / "replicating.md").read_text()
APPS = {"study": "annotation", "simulate": "annotation", "generate": "generation", "samples": "generation"}
LINES = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


def words_of(line: str) -> list[str]:
    return shlex.split(line, comments=True)


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("python -m analysis")])
def test_a_command_of_the_analysis_can_be_read(line: str) -> None:
    name, *words = words_of(line)[3:]
    parser = Parser(prog="analysis")
    command = next(command for command in COMMANDS if command.name == name)
    import_module(f"analysis.commands.{command.module}").add_parser(parser.add_subparsers())
    _, unknown = parser.parse_known_args([name, *words])
    assert not unknown


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("manage.py")])
def test_a_command_of_the_server_can_be_read(line: str) -> None:
    name, *words = words_of(line)[1:]
    parser = load_command_class(APPS[name], name).create_parser("manage.py", name)
    parser.parse_args(words)


def test_every_line_is_a_command_and_every_example_exists() -> None:
    assert all(line.startswith(("python -m analysis ", "manage.py ")) for line in LINES)
    assert len(LINES) > 25
    for path in re.findall(r"examples/[\w/.]+\.(?:run\.)?yaml", PAGE):
        assert (ROOT / path).is_file(), path
    for name in re.findall(r"`((?:clark|zhang|tevet|giulianelli)_\w+?)(?:\.yaml)?`", PAGE):
        assert (ROOT / "examples" / "published" / f"{name}.yaml").is_file(), name
    for path in (ROOT / "examples" / "published").glob("*.yaml"):
        assert path.stem in PAGE, f"the page does not name {path.name}"
