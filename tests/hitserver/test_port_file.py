"""Commands in another terminal print the addresses of the server that runs, whatever its port."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hitserver.processes import forget_port, note_port, noted_port
from tests.services import ROOT
from tests.support import clean_environment


def test_the_port_is_known_while_its_server_runs(tmp_path: Path) -> None:
    assert noted_port(tmp_path) is None
    note_port(tmp_path, 8123)
    assert noted_port(tmp_path) == 8123
    forget_port(tmp_path)
    forget_port(tmp_path)
    assert noted_port(tmp_path) is None


@pytest.mark.parametrize("content", ["", "x y", "8123", f"{2**22 + 1} 8123"])
def test_files_left_by_a_killed_server_are_ignored(content: str, tmp_path: Path) -> None:
    (tmp_path / "port").write_text(content)  # the last process ID is above the kernel's limit
    assert noted_port(tmp_path) is None


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "http://127.0.0.1:8123"),
        ({"HITSERVER_PORT": "9000"}, "http://127.0.0.1:9000"),
        ({"HITSERVER_BASE_URL": "https://hits.example.org"}, "https://hits.example.org"),
    ],
)
def test_addresses_follow_the_running_server_unless_somebody_chose(
    variables: dict[str, str], expected: str, tmp_path: Path
) -> None:
    (tmp_path / "port").write_text(f"{os.getpid()} 8123")
    show = "import json; from hitserver import settings; print(json.dumps(settings.BASE_URL))"
    environment = clean_environment({"HITSERVER_VAR": str(tmp_path)} | variables)
    done = subprocess.run([sys.executable, "-c", show], env=environment, cwd=ROOT, capture_output=True, check=True)
    assert json.loads(done.stdout) == expected
