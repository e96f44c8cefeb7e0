"""How the server and systemd talk to each other."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hitserver.processes import tell_systemd
from tests.services import ROOT

ADOPT = """
import os
os.environ["LISTEN_PID"] = str(os.getpid() + {other})
from hitserver.processes import socket_from_systemd
adopted = socket_from_systemd()
print(adopted and adopted.getsockname()[1], [name for name in os.environ if name.startswith("LISTEN_")])
"""


def adopted(listener: socket.socket, *, other: int) -> str:
    """What a process prints to which systemd passes this socket as number 3."""
    code = ADOPT.format(other=other)
    shell = ["bash", "-c", f'exec "$0" "$@" 3<&{listener.fileno()}', sys.executable, "-c", code]
    environment = os.environ | {"LISTEN_FDS": "1", "LISTEN_FDNAMES": "hitserver.socket"}
    return subprocess.check_output(shell, env=environment, pass_fds=[listener.fileno()], cwd=ROOT, text=True).strip()


def test_a_socket_from_systemd_is_used_and_kept_from_children() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert adopted(listener, other=0) == f"{listener.getsockname()[1]} []"


def test_a_socket_for_another_process_is_left_alone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert adopted(listener, other=1) == "None []"


def test_systemd_hears_when_the_server_is_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        tell_systemd("READY=1")
        assert systemd.recv(100) == b"READY=1"


def test_without_systemd_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "/nonexistent/notify")
    tell_systemd("READY=1")
    monkeypatch.delenv("NOTIFY_SOCKET")
    tell_systemd("READY=1")
