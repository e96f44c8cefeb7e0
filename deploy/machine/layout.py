"""Where everything of one server is on its machine, and its settings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

from deploy.machine.steps import Failure

#: What pip reads: a machine may be behind a mirror or a proxy.
PASSED_ON = (
    "PIP_",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_",
    "UV_",
)


@dataclass(frozen=True)
class Layout:
    """An installation.

    home/releases/<version>     the code, never changed after it was put there
    home/packages/<version>     Python packages; versions with the same packages share them
    home/current                a link to the version that runs
    home/repository.git         where versions come from
    home/last-upgrade.json      what script/rollback goes back to
    """

    home: Path = Path("/opt/hitserver")
    settings_file: Path = Path("/etc/hitserver/hitserver.env")
    backups: Path = Path("/var/backups/hitserver")
    user: str = "hitserver"

    @property
    def releases(self) -> Path:
        return self.home / "releases"

    @property
    def packages(self) -> Path:
        return self.home / "packages"

    @property
    def current(self) -> Path:
        return self.home / "current"

    @property
    def record(self) -> Path:
        return self.home / "last-upgrade.json"

    @property
    def unfinished(self) -> Path:
        """The record of an upgrade while it runs. If nothing else runs, that upgrade was cut off."""
        return self.home / "unfinished-upgrade.json"

    def current_release(self) -> Path:
        """The folder of the version that runs. Raises Failure if there is none."""
        if not (self.current / "manage.py").is_file():
            raise Failure(f"There is no installation in {self.home}. Run script/install first.")
        return self.current.resolve()

    def settings(self) -> dict[str, str]:
        """The variables in the settings file."""
        try:
            lines = self.settings_file.read_text().splitlines()
        except FileNotFoundError:
            raise Failure(f"There is no file {self.settings_file}. Run script/install first.") from None
        except PermissionError:
            raise Failure(f"Only root can read {self.settings_file}. Run this with sudo.") from None
        pairs = (line.partition("=") for line in lines if line.strip() and not line.lstrip().startswith("#"))
        return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}

    def environment(self) -> dict[str, str]:
        """What the server's programs run with: its settings and nothing of the caller's, except how to download."""
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        passed_on = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
        settings = self.settings() if self.settings_file.exists() else {}
        return {"PATH": path, "LANG": "C.UTF-8", "HOME": settings.get("HITSERVER_VAR", "/"), **passed_on, **settings}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Only one of install, upgrade and rollback at a time."""
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "lock").open("w") as lock:
            try:
                flock(lock, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                raise Failure("Another install, upgrade or rollback is running. Wait until it has ended.") from None
            yield


def layout_at(home: Path) -> Layout:
    """The machine's installation. In another folder: one with its settings and backups in there, run by its owner."""
    if home == Layout.home:
        return Layout()
    home = home.absolute()
    return Layout(home=home, settings_file=home / "hitserver.env", backups=home / "backups", user="")
