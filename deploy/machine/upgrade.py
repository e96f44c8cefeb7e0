"""Upgrades a server to another version, and returns to the old one if the new one does not work.

    script/upgrade [VERSION] [--from REPOSITORY_OR_FOLDER]

Until the old version has stopped, nothing of it is touched. The new version first runs on a port of its own, where
only this program asks it: if it fails there, nobody's work is in the tables that are put back.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import NoReturn

from deploy.machine.install import install_units
from deploy.machine.layout import Layout, layout_at
from deploy.machine.releases import Source, discard, fetch, has_models, install_packages, prune, source_file, touch
from deploy.machine.services import STOP_SECONDS, Services, services_of, start_unit, wait_until_healthy
from deploy.machine.steps import Failure, Steps, output, succeeds

#: A restore unpacks the backup beside the tables that it replaces, and backs those up first.
ROOM_FOR_RESTORING = 3


@dataclass(frozen=True)
class Record:
    """What ``script/rollback`` needs. Written before the tables change."""

    before: str
    after: str
    backup: str
    tables_changed: bool
    at: str

    def write(self, path: Path) -> None:
        draft = path.with_suffix(".new")
        draft.write_text(json.dumps(asdict(self), indent=2) + "\n")
        draft.replace(path)


def read_record(layout: Layout) -> Record:
    """The upgrade to undo: one that was cut off, or else the last."""
    try:
        path = layout.unfinished if layout.unfinished.exists() else layout.record
        return Record(**json.loads(path.read_text()))
    except FileNotFoundError:
        raise Failure("There was no upgrade, so there is nothing to go back to.") from None


def manage(layout: Layout, release: Path, *arguments: str) -> list[str]:
    return [str(release / ".venv" / "bin" / "python"), str(release / "manage.py"), *arguments]


def upgrade(layout: Layout, steps: Steps, *, source: Source, version: str) -> None:
    """Raises Failure if the server still runs the old version; its text says why."""
    began = time.monotonic()
    old = layout.current_release()
    if layout.unfinished.exists():
        raise Failure("An earlier upgrade was cut off while it changed the tables. Run script/rollback first.")
    steps.step(f"1. Get the new version from {source.address}")
    new = fetch(layout, steps, source, version)
    if new == old:
        steps.say(f"\n{new.name} is running already. Nothing was changed.")
        return
    changes = install_beside(layout, steps, old, new)
    services = services_of(layout, steps)
    steps.step("3. Back up" + (", with the server stopped, because the new version changes tables" if changes else ""))
    stopped = time.monotonic()
    try:
        if changes:
            services.stop()
        backup = back_up(layout, steps, old, f"before-{new.name}", new_tables=changes)
    except BaseException:
        steps.say("\nThere is no backup, so nothing was changed. The old version runs.")
        if changes:
            services.start()
        raise
    record = Record(old.name, new.name, str(backup), changes, datetime.now(UTC).isoformat(timespec="seconds"))
    record.write(layout.unfinished)
    try:
        steps.step("4. Try the new version on a port of its own" + (", which changes the tables" if changes else ""))
        try_out(layout, steps, new)
        steps.step("5. Start the new version")
        if not changes:
            stopped = time.monotonic()
            services.stop()
        switch(layout, steps, new)
        services.start()
        wait_until_healthy(layout)
    except BaseException as error:
        if changes or layout.current_release() != old:
            go_back(layout, steps, services, record)
        else:
            layout.unfinished.unlink()
        if isinstance(error, Failure):
            raise Failure(f"{error}\n\nThe upgrade failed, and {old.name} runs again with its data.") from None
        raise
    finish(layout, steps, old, new)
    away, took = time.monotonic() - stopped, time.monotonic() - began
    steps.say(f"\n{new.name} runs. The server was away for {away:.0f} s; everything took {took:.0f} s.")
    steps.say(f"The backup from before is {backup}. script/rollback goes back to {old.name}.")


def install_beside(layout: Layout, steps: Steps, old: Path, new: Path) -> bool:
    """Installs the new version's packages while the old one runs. Returns whether the new one changes tables."""
    steps.step("2. Install its packages, while the old version runs")
    environment = layout.environment()
    try:
        install_packages(layout, steps, new, models=has_models(old))
        output(manage(layout, new, "check"), user=layout.user, environment=environment)
    except (Failure, KeyboardInterrupt):
        discard(layout, new)
        raise
    return not succeeds(*manage(layout, new, "migrate", "--check"), user=layout.user, environment=environment)


def finish(layout: Layout, steps: Steps, old: Path, new: Path) -> None:
    """Makes this the upgrade that ``script/rollback`` undoes, and deletes versions that nobody needs any more."""
    layout.unfinished.replace(layout.record)
    touch(new)
    prune(layout, steps, kept={old, new})


def back_up(layout: Layout, steps: Steps, release: Path, name: str, *, new_tables: bool) -> Path:
    """A backup by the version that has the tables as they are. Raises Failure if there is no room to restore it."""
    file = layout.backups / f"{name}-{datetime.now(UTC):%Y-%m-%d-%H%M%S}.tar.gz"
    try:
        command = manage(layout, release, "backup", str(file))
        said = steps.run(*command, user=layout.user, environment=layout.environment())
    except Failure:
        file.unlink(missing_ok=True)
        raise
    steps.say("".join(f"  {line}\n" for line in said.splitlines()[:1]).rstrip())
    with tarfile.open(file) as tar:
        size = sum(member.size for member in tar)
    folder = Path(layout.environment()["HITSERVER_VAR"])
    free = shutil.disk_usage(folder).free
    if new_tables and free < ROOM_FOR_RESTORING * size:
        file.unlink()
        needed = ROOM_FOR_RESTORING * size / 1024**2
        raise Failure(
            f"There is too little space: {folder} has {free / 1024**2:,.0f} MB left. To change the tables, and to "
            f"put them back if that fails, takes {needed:,.0f} MB. Make room, then run this again."
        )
    return file


def try_out(layout: Layout, steps: Steps, release: Path) -> None:
    """Lets the version change the tables, start and answer. Raises Failure with its messages if it does not."""
    with tempfile.TemporaryDirectory(prefix="hitserver-") as folder:
        log = Path(folder) / "log"
        process = start_unit(layout, release, "--port", "0", "--no-worker", log=log)
        try:
            port = 0
            while process.poll() is None and not port:
                ready = re.search(r"ready at http://\S+?:(\d+)/", log.read_text(errors="replace"))
                port = int(ready[1]) if ready else 0
                time.sleep(0.1)
            wait_until_healthy(layout, port=port, process=process)
        except Failure as error:
            ending = "\n".join(f"    {line}" for line in log.read_text(errors="replace").splitlines()[-25:])
            raise Failure(f"{release.name} does not start. {error}\nIts last messages:\n{ending}") from None
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS)
    steps.say(f"  {release.name} works")


def switch(layout: Layout, steps: Steps, release: Path) -> None:
    """Makes this the version that runs. Its units may differ from those of the version before."""
    steps.link(layout.current, release)
    if layout == Layout():
        install_units(steps, release)


def go_back(layout: Layout, steps: Steps, services: Services, record: Record) -> None:
    """Puts the old version back, and its tables if they may have changed. What is in them now is backed up first."""
    old = layout.releases / record.before
    steps.step(f"Back to {record.before}")
    services.stop()
    switch(layout, steps, old)
    if record.tables_changed:
        try:
            restore = manage(layout, old, "restore", "--force", record.backup)
            said = steps.run(*restore, user=layout.user, environment=layout.environment())
            # Otherwise a backup would bring back what a worker had asked to delete.
            again = manage(layout, old, "study", "redact", "--again")
            steps.run(*again, user=layout.user, environment=layout.environment(), quiet=True)
        except Failure as error:
            raise Failure(
                f"{error}\n\nThe data could not be put back, and the server is stopped. All of them are in\n"
                f"{record.backup}. Fix what is written above (a full disk?), then run script/rollback."
            ) from None
        steps.say("".join(f"  {line}\n" for line in said.splitlines()).rstrip())
    services.start()
    wait_until_healthy(layout)
    (layout.unfinished if layout.unfinished.exists() else layout.record).unlink()


def run(name: str, work: Callable[[], None]) -> NoReturn:
    """Ends with the code of a command. A hang-up or a request to end is an interruption like any other."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        work()
    except Failure as failure:
        sys.exit(f"\n{failure}")
    except KeyboardInterrupt:
        sys.exit(f"\n{name} was interrupted.")
    sys.exit(0)


def main() -> None:
    os.umask(0o022)
    parser = argparse.ArgumentParser(prog="script/upgrade", description="Upgrade this machine's HITServer.")
    parser.add_argument("version", nargs="?", default="", help="a tag, branch or commit (default: the newest tag)")
    parser.add_argument(
        "--from", dest="source", metavar="SOURCE", help="git repository or folder (default: that of the installation)"
    )
    parser.add_argument("--home", type=Path, default=Layout.home, help=argparse.SUPPRESS)
    options = parser.parse_args()
    layout, steps = layout_at(options.home), Steps()

    def work() -> None:
        layout.current_release()
        source = options.source or source_file(layout).read_text().strip()
        with layout.locked():
            upgrade(layout, steps, source=Source(source), version=options.version)

    run("script/upgrade", work)


if __name__ == "__main__":
    main()
