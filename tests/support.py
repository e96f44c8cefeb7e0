"""The real server as processes, for tests and benchmarks."""

import fcntl
import hashlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import django
import psutil
import psycopg2

from tests.services import ROOT

READY = re.compile(r"HITServer is ready at (http://\S+?)/ ")
OURS = ("HITSERVER_", "DATABASE_URL", "CELERY_", "DJANGO_")


def clean_environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without any setting of the server, and with the changes."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return {**inherited, **(changes or {})}


def migrate(environment: Mapping[str, str]) -> None:
    """Makes the tables of the database in this environment, which takes seconds."""
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, env=clean_environment(environment), cwd=ROOT, check=True)


def tables_file() -> Path:
    """Where ``database_with_tables`` puts its database: another place when the migrations change, or what they call."""
    mark = hashlib.sha256(f"{sys.version} {django.__version__}".encode())
    for path in (*sorted(ROOT.glob("*/migrations/*.py")), ROOT / "common" / "append_only.py"):
        mark.update(path.read_bytes())
    return Path(tempfile.gettempdir()) / f"hitserver-tables-{os.getuid()}-{mark.hexdigest()[:16]}" / "db.sqlite3"


def database_with_tables() -> Path:
    """An empty SQLite database as ``migrate`` leaves it; made once for one state of the migrations."""
    file = tables_file()
    file.parent.mkdir(mode=0o700, exist_ok=True)
    with (file.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            with tempfile.TemporaryDirectory(dir=file.parent) as var:
                migrate({"HITSERVER_VAR": var})
                (Path(var) / file.name).rename(file)
    return file


@dataclass
class Server:
    """A running server. `base_url` has no slash at the end; `log` holds all its output."""

    process: subprocess.Popen[bytes]
    base_url: str
    var: Path
    log: Path
    environment: dict[str, str]

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def processes(self) -> list[psutil.Process]:
        """The supervisor and all its descendants."""
        with suppress(psutil.NoSuchProcess):
            supervisor = psutil.Process(self.process.pid)
            return [supervisor, *supervisor.children(recursive=True)]
        return []

    def manage(self, *arguments: str) -> str:
        """Runs manage.py with this server's settings and returns what it printed."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            env=self.environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if done.returncode:
            raise RuntimeError(f"manage.py {' '.join(arguments)}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Reads the database directly, because the server's own commands take seconds to start."""
        if url := self.environment.get("DATABASE_URL"):
            connection: Any = psycopg2.connect(url)
        else:
            connection = sqlite3.connect(f"file:{self.var / 'db.sqlite3'}?mode=ro", uri=True)
        with closing(connection) as opened, closing(opened.cursor()) as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def stop(self, seconds: float = 20) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=seconds)

    def kill_all(self) -> None:
        """SIGKILL to every process, as a power cut would."""
        processes = self.processes()
        for each in processes:
            with suppress(psutil.NoSuchProcess):
                each.suspend()
        for each in processes:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self.process.wait(timeout=10)
        psutil.wait_procs(processes, timeout=10)


def start_server(
    var: Path,
    *,
    env: Mapping[str, str] | None = None,
    worker: bool = False,
    port: int = 0,
    seconds: float = 120,
    from_nothing: bool = False,
) -> Server:
    """Starts a server with its data in `var` and returns when it answers. The caller stops it. It finds its tables
    made, unless it is to begin `from_nothing`."""
    var.mkdir(mode=0o700, parents=True, exist_ok=True)
    environment = clean_environment({"HITSERVER_VAR": str(var), **(env or {})})
    if not from_nothing and "DATABASE_URL" not in environment and not (var / "db.sqlite3").exists():
        shutil.copy(database_with_tables(), var)
    command = [sys.executable, "-m", "hitserver.supervisor", "--port", str(port)]
    log = var / "server.log"
    with log.open("ab") as output:
        begin = output.tell()
        process = subprocess.Popen(
            command + ([] if worker else ["--no-worker"]), env=environment, cwd=ROOT, stdout=output, stderr=output
        )
    server = Server(process=process, base_url="", var=var, log=log, environment=environment)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := READY.search(log.read_bytes()[begin:].decode(errors="replace")):
            server.base_url = found[1]
            environment["HITSERVER_PORT"] = found[1].rpartition(":")[2]
            return server
        if process.poll() is not None:
            break
        time.sleep(0.02)
    server.kill_all()
    raise RuntimeError(f"The server did not start:\n{server.said()}")


@contextmanager
def running_server(
    var: Path, *, env: Mapping[str, str] | None = None, worker: bool = False, port: int = 0, from_nothing: bool = False
) -> Iterator[Server]:
    """A server for the length of a block."""
    server = start_server(var, env=env, worker=worker, port=port, from_nothing=from_nothing)
    try:
        yield server
    finally:
        try:
            server.stop()
        except subprocess.TimeoutExpired:
            server.kill_all()
            raise
