"""Starting and stopping the server: through systemd, or by hand where it does not run, as in a container or a test."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from configparser import RawConfigParser
from contextlib import suppress
from fcntl import LOCK_EX, flock
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import IO, Protocol

from deploy.machine.layout import Layout
from deploy.machine.steps import Failure, Steps, identity, succeeds

SERVICES = ("hitserver.service", "hitserver-models.service")
START_SECONDS = 180.0
STOP_SECONDS = 30.0


class Services(Protocol):
    def stop(self) -> None: ...

    def start(self) -> None:
        """Returns when the server has started. Raises Failure if it does not."""


def systemd_runs() -> bool:
    return Path("/run/systemd/system").is_dir()


def services_of(layout: Layout, steps: Steps) -> Services:
    return Systemd(layout, steps) if systemd_runs() and layout.home == Layout().home else ByHand(layout, steps)


class Systemd:
    """The socket stays open: visitors wait while the server is away. The first of them would start the server again, so
    its unit waits for a lock that this holds."""

    def __init__(self, layout: Layout, steps: Steps) -> None:
        self.steps = steps
        self.lock_file = layout.home / "stopped.lock"
        self.lock: IO[str] | None = None

    def stop(self) -> None:
        if self.lock is None:
            self.lock = self.lock_file.open("w")
            flock(self.lock, LOCK_EX)
        # A backup that runs is waited for; the timer begins no other.
        self.steps.run("systemctl", "stop", "hitserver-backup.timer")
        self.steps.run("systemctl", "stop", *SERVICES)

    def start(self) -> None:
        if self.lock is not None:
            self.lock.close()
            self.lock = None
        enabled = [name for name in SERVICES if succeeds("systemctl", "is-enabled", "--quiet", name)]
        self.steps.run("systemctl", "reset-failed", *enabled)
        self.steps.run("systemctl", "start", *enabled, "hitserver-backup.timer")


class ByHand:
    """Runs what ``ExecStart`` in hitserver.service says, and remembers the process in the server's folder."""

    def __init__(self, layout: Layout, steps: Steps) -> None:
        self.layout, self.steps = layout, steps
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def _folder(self) -> Path:
        return Path(self.layout.environment()["HITSERVER_VAR"])

    def stop(self) -> None:
        self.steps.say("  stops the server")
        with suppress(FileNotFoundError, ValueError, ProcessLookupError):
            number = int((self._folder / "server.pid").read_text())
            os.kill(number, signal.SIGTERM)
            deadline = time.monotonic() + STOP_SECONDS
            while time.monotonic() < deadline:
                if self.process is not None:
                    self.process.poll()
                os.kill(number, 0)
                time.sleep(0.1)
            os.kill(number, signal.SIGKILL)

    def start(self) -> None:
        self.steps.say("  starts the server")
        process = self.process = start_unit(self.layout, self.layout.current_release(), log=self._folder / "server.log")
        (self._folder / "server.pid").write_text(str(process.pid))


def start_unit(
    layout: Layout, release: Path, *arguments: str, log: Path, environment: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Starts what the unit of the server runs, in this version, with further ``arguments``."""
    unit = RawConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # systemd's names have capital letters
    unit.read(release / "deploy" / "systemd" / "hitserver.service")
    command = shlex.split(unit["Service"]["ExecStart"].replace(str(Layout().current), str(release)))
    with log.open("ab") as output:
        process: subprocess.Popen[bytes] = subprocess.Popen(
            [*command, *arguments],
            env=layout.environment() | (environment or {}),
            cwd=release,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            **identity(layout.user),
        )
    return process


def wait_until_healthy(layout: Layout, *, port: int = 0, process: subprocess.Popen[bytes] | None = None) -> None:
    """Waits until /healthz says that pages work. Raises Failure after a while, or when the process has ended."""
    settings = layout.environment()
    host = settings.get("HITSERVER_BIND", "127.0.0.1")
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - not listened on
    address = (host, port or int(settings.get("HITSERVER_PORT", "8000")))
    headers = {"Host": settings.get("HITSERVER_ALLOWED_HOSTS", host).split(",")[0].strip().lstrip(".")}
    deadline, answer = time.monotonic() + START_SECONDS, "It does not answer."
    while time.monotonic() < deadline and (process is None or process.poll() is None):
        try:
            connection = HTTPConnection(*address, timeout=10)
            connection.request("GET", "/healthz", headers=headers)
            response = connection.getresponse()
            answer = f"/healthz answers {response.status}: {response.read(2000).decode(errors='replace').strip()}"
            connection.request("GET", "/console/login/", headers=headers | {"X-Forwarded-Proto": "https"})
            page = connection.getresponse()
            if response.status == 200 and page.status < 500:
                return
            answer += f"; a page answers {page.status}"
        except (OSError, HTTPException):
            pass
        time.sleep(0.3)
    raise Failure(f"The server does not work. {answer}")
