"""The databases, brokers and programs that tests run against, and where they come from.

Each is taken from its variable, else from its usual port on this machine, else from a private one started for this run,
else it is missing. What is missing skips its tests, or fails them when HITSERVER_REQUIRE_SERVICES is 1.
"""

import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg2
import pytest

ROOT = Path(__file__).resolve().parent.parent
AXE_CORE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
MTURK_SDK = ROOT / "node_modules" / "@aws-sdk" / "client-mturk" / "package.json"
#: A test that waits longer has failed. Quick machines never notice; a busy one may take minutes to start a process.
PATIENCE_SECONDS = 120.0


class Missing(Exception):
    """A service cannot be found or started; the message says why."""


def required() -> bool:
    return os.environ.get("HITSERVER_REQUIRE_SERVICES") == "1"


def skip_or_fail(reason: object) -> None:
    if required():
        pytest.fail(f"HITSERVER_REQUIRE_SERVICES is 1, but: {reason}", pytrace=False)
    pytest.skip(str(reason))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def wait_for(condition: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(0.02)


# --- PostgreSQL ---


def may_create_databases(url: str) -> bool:
    try:
        connection = psycopg2.connect(url, connect_timeout=2)
    except psycopg2.Error:
        return False
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user")
            row = cursor.fetchone()
            return bool(row and row[0])
    finally:
        connection.close()


def usual_postgres() -> str | None:
    if not listens("127.0.0.1", 5432):
        return None
    users = dict.fromkeys(("postgres", pwd.getpwuid(os.getuid()).pw_name))
    urls = (f"postgresql://{user}@127.0.0.1:5432/{name}" for user in users for name in ("test", "postgres"))
    return next((url for url in urls if may_create_databases(url)), None)


def postgres_programs() -> Path:
    """The folder of initdb and postgres, the newest version first."""
    folders = list(Path("/usr/lib/postgresql").glob("*/bin"))
    folders.sort(key=lambda folder: [int(number) for number in re.findall(r"\d+", folder.parent.name)], reverse=True)
    if config := shutil.which("pg_config"):
        shown = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False)
        folders.append(Path(shown.stdout.strip()))
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise Missing("no PostgreSQL answers on 127.0.0.1:5432 and no initdb is installed")


def unprivileged(folder: Path) -> list[str]:
    """The prefix for a command that refuses to run as root. The folder then belongs to the other user."""
    if os.getuid() != 0:
        return []
    user = next((u for u in pwd.getpwall() if u.pw_name == "postgres"), None) or pwd.getpwnam("nobody")
    os.chown(folder, user.pw_uid, user.pw_gid)
    if setpriv := shutil.which("setpriv"):
        return [setpriv, f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    if runuser := shutil.which("runuser"):
        return [runuser, "-u", user.pw_name, "--"]
    raise Missing("initdb refuses to run as root, and neither setpriv nor runuser is installed")


def open_folder() -> str:
    """A folder for temporary files that another user can enter: on some machines /tmp belongs to one user alone."""
    for folder in (tempfile.gettempdir(), "/var/tmp", "/dev/shm"):  # noqa: S108 - names drawn by tempfile
        path = Path(folder)
        if path.is_dir() and all(each.stat().st_mode & 0o001 for each in (path, *path.parents)):
            return folder
    raise Missing("initdb refuses to run as root, and no other user can enter /tmp, /var/tmp or /dev/shm")


@contextmanager
def private_postgres(address: str = "127.0.0.1", *settings: str) -> Iterator[str]:
    """A separate cluster in a temporary folder. It is deleted afterwards, so it need not write through to the disk.

    It listens on the address, for that network. Settings as in postgresql.conf, such as ``work_mem=8MB``.
    """
    programs = postgres_programs()
    with tempfile.TemporaryDirectory(prefix="hitserver-postgres-", dir=open_folder()) as name:
        folder = Path(name)
        folder.chmod(0o755)
        as_user = unprivileged(folder)
        data, port = folder / "data", free_port()
        initdb = [
            *as_user,
            str(programs / "initdb"),
            "-D",
            str(data),
            "-U",
            "postgres",
            "-A",
            "trust",
            "-N",
            "-E",
            "UTF8",
        ]
        made = subprocess.run(initdb, capture_output=True, text=True, check=False, cwd=folder)
        if made.returncode:
            raise Missing(f"initdb failed: {made.stderr.strip()[-300:]}")
        with (data / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {address}/24 trust\n")
        own = ("fsync=off", f"listen_addresses={address}", f"port={port}", f"unix_socket_directories={folder}")
        options = [part for each in (*own, *settings) for part in ("-c", each)]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(
                [*as_user, str(programs / "postgres"), "-D", str(data), *options], stderr=log, stdout=log, cwd=folder
            )
        url = f"postgresql://postgres@{address}:{port}/postgres"
        try:
            wait_for(lambda: may_create_databases(url), "the private PostgreSQL")
            yield url
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(timeout=20)


@contextmanager
def postgres() -> Iterator[str]:
    """The address of a server on which the tests may create databases."""
    given = os.environ.get("HITSERVER_TEST_DATABASE_URL")
    if given and not may_create_databases(given):
        raise Missing("HITSERVER_TEST_DATABASE_URL does not answer, or its user may not create databases")
    found = given or usual_postgres()
    if found:
        yield found
        return
    with private_postgres() as url:
        yield url


def postgres_template() -> str:
    """The name of a database on the server of the tests with the tables and no rows, if `tests.run` made one."""
    return os.environ.get("HITSERVER_TEST_POSTGRES_TEMPLATE", "")


@contextmanager
def new_database(server: str, template: str = "") -> Iterator[str]:
    """The address of a database, empty or a copy of the template. It is dropped at the end, even if somebody is still
    connected."""
    name = f"hitserver_{uuid.uuid4().hex[:12]}"
    run_sql(server, f'CREATE DATABASE "{name}"' + (f' TEMPLATE "{template}"' if template else ""))
    try:
        yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
    finally:
        run_sql(server, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def run_sql(url: str, statement: str) -> None:
    connection = psycopg2.connect(url)
    connection.autocommit = True
    try:
        connection.cursor().execute(statement)
    finally:
        connection.close()


# --- Redis and RabbitMQ ---


@contextmanager
def redis() -> Iterator[str]:
    given = os.environ.get("HITSERVER_TEST_REDIS_URL")
    if given:
        yield given
    elif listens("127.0.0.1", 6379):
        yield "redis://127.0.0.1:6379/9"
    elif program := shutil.which("redis-server"):
        with private_redis(program) as url:
            yield url
    else:
        raise Missing("no Redis answers on 127.0.0.1:6379 and no redis-server is installed")


@contextmanager
def private_redis(program: str, address: str = "127.0.0.1", password: str = "") -> Iterator[str]:
    """A Redis that saves nothing. If others reach it over a network, it needs a password, or it refuses them."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="hitserver-redis-") as folder:
        server = subprocess.Popen(
            [
                *(program, "--port", str(port), "--bind", address, "--save", "", "--dir", folder),
                *(("--requirepass", password) if password else ()),
            ],
            stdout=subprocess.DEVNULL,
        )
        try:
            wait_for(lambda: listens(address, port), "the private Redis")
            yield f"redis://{f':{password}@' if password else ''}{address}:{port}/0"
        finally:
            server.terminate()
            server.wait(timeout=20)


def rabbitmq() -> str:
    given = os.environ.get("HITSERVER_TEST_AMQP_URL")
    if not given and not listens("127.0.0.1", 5672):
        raise Missing("no RabbitMQ answers on 127.0.0.1:5672")
    return given or "amqp://guest:guest@127.0.0.1:5672//"


# --- programs and files ---


def chromium() -> str:
    given = os.environ.get("HITSERVER_CHROMIUM")
    if given and not shutil.which(given):
        raise Missing(f"HITSERVER_CHROMIUM is {given}, which cannot be run")
    names = (given,) if given else ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    for name in names:
        if found := shutil.which(name):
            return found
    raise Missing("no chromium or google-chrome is on PATH")


def axe_core() -> Path:
    if not AXE_CORE.exists():
        raise Missing("axe-core is not in node_modules; script/test fetches it where npm is installed")
    return AXE_CORE


def javascript_sdk() -> str:
    """The node that runs Amazon's SDK for JavaScript."""
    node = shutil.which("node")
    if node is None:
        raise Missing("node is not on PATH")
    if not MTURK_SDK.exists():
        raise Missing("@aws-sdk/client-mturk is not in node_modules; script/test fetches it where npm is installed")
    return node


def curl_that_signs() -> str:
    """A curl with --aws-sigv4, which came with 7.75."""
    curl = shutil.which("curl")
    if curl is None:
        raise Missing("curl is not on PATH")
    shown = subprocess.run([curl, "--version"], capture_output=True, text=True, check=True).stdout
    if [int(number) for number in shown.split()[1].split(".")[:2]] < [7, 75]:
        raise Missing(f"{shown.split(' (')[0]} is older than 7.75 and cannot sign for AWS")
    return curl


def released() -> Path:
    folder = Path(os.environ.get("HITSERVER_TEST_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        raise Missing("the released data sets are not beside the checkout")
    return folder
