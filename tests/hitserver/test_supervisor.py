"""The real server: starting, stopping, and losing processes."""

import gzip
import json
import secrets
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import psutil
import pytest

from hitserver import supervisor
from hitserver.supervisor import Child, Supervisor
from tests.services import PATIENCE_SECONDS, ROOT, wait_for
from tests.support import Server, clean_environment, start_server

Start = Callable[..., Server]
SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
# A process that does not stop when asked to, with a child.
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); time.sleep(60)",
]


def healthy(server: Server) -> bool:
    with urllib.request.urlopen(f"{server.base_url}/healthz", timeout=PATIENCE_SECONDS) as response:
        return bool(response.status == 200)


def child_with(server: Server, word: str) -> psutil.Process:
    """The process whose command has this word and that the supervisor started itself."""
    children = psutil.Process(server.process.pid).children()
    found = [child for child in children if any(word in part for part in child.cmdline())]
    if not found:
        raise LookupError(f"no process with {word} in its command")
    return found[0]


def both_workers_run(server: Server) -> bool:
    """Each has started the process that does its tasks.

    A child has its parent's command line until it has begun its own program, so it may not be found yet.
    """
    try:
        return all(child_with(server, word).children() for word in ("gpu@", "default@"))
    except (LookupError, psutil.Error):
        return False


def gone(processes: list[psutil.Process]) -> bool:
    return not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in processes)


def test_it_starts_serves_and_stops_whole(live_processes: Start) -> None:
    server = live_processes(worker=True, from_nothing=True)
    assert healthy(server)
    for word in ("gunicorn", "default", "gpu", "beat"):
        assert child_with(server, word).is_running()
    wait_for(lambda: both_workers_run(server), "the workers")
    wait_for(lambda: any(server.var.glob("beat-schedule*")), "the scheduler")
    time.sleep(0.5)  # while it writes its file, Celery's scheduler ends with a traceback
    processes = server.processes()

    assert server.stop() == 0
    assert gone(processes)
    assert "Traceback" not in server.said()


def test_static_files_are_hashed_and_compressed(live_processes: Start) -> None:
    server = live_processes()
    names = json.loads((server.var / "static" / "staticfiles.json").read_text())["paths"]
    name = next(hashed for plain, hashed in names.items() if plain.endswith(".css"))

    request = urllib.request.Request(f"{server.base_url}/static/{name}", headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=10) as response:
        headers = response.headers
        gzip.decompress(response.read())

    assert headers["Content-Encoding"] == "gzip"
    assert "immutable" in headers["Cache-Control"]


def test_production_sends_everybody_to_https(live_processes: Start) -> None:
    server = live_processes(
        env={
            "HITSERVER_ENV": "production",
            "HITSERVER_ALLOW_ROOT": "1",
            "HITSERVER_SECRET_KEY": secrets.token_urlsafe(64),
            "HITSERVER_ALLOWED_HOSTS": "hits.example.org",
        }
    )
    port = int(server.base_url.rpartition(":")[2])

    def ask(headers: dict[str, str]) -> HTTPResponse:
        connection = HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/no-such-page", headers={"Host": "hits.example.org", **headers})
        return connection.getresponse()

    plain = ask({})
    behind_a_proxy = ask({"X-Forwarded-Proto": "https"})

    assert (plain.status, plain.headers["Location"]) == (301, "https://hits.example.org/no-such-page")
    assert behind_a_proxy.status == 404
    assert behind_a_proxy.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert ask({"X-Forwarded-Proto": "https", "Host": "other.example.org"}).status == 400


def test_a_process_that_dies_is_started_again(live_processes: Start) -> None:
    server = live_processes()
    first = child_with(server, "gunicorn")
    workers = first.children()
    first.kill()

    wait_for(lambda: child_with_other_pid(server, first.pid), "a new web server")
    assert healthy(server)  # the socket was never closed: the request waited
    wait_for(lambda: gone(workers), "the end of the old workers")
    assert "web ended with code -9; it starts again in 0.5 s." in server.said()


def child_with_other_pid(server: Server, pid: int) -> bool:
    try:
        return child_with(server, "gunicorn").pid != pid
    except (LookupError, psutil.Error):
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's help is Linux's")
def test_nothing_outlives_a_killed_supervisor(live_processes: Start) -> None:
    server = live_processes(worker=True)
    wait_for(lambda: both_workers_run(server), "the workers")
    processes = server.processes()
    assert len(processes) > 6
    server.process.kill()

    wait_for(lambda: gone(processes), "the end of all processes")


def test_a_port_in_use_is_reported_immediately(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(RuntimeError, match=f"Cannot listen on 127.0.0.1 port {port}: Address already in use"):
            start_server(tmp_path, port=port, from_nothing=True)

    assert not (tmp_path / "db.sqlite3").exists()


def test_a_server_that_cannot_start_reports_why(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="could not be prepared"):
        start_server(tmp_path, env={"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"})


def test_a_wrong_setting_is_one_line(tmp_path: Path) -> None:
    environment = clean_environment({"HITSERVER_VAR": str(tmp_path), "HITSERVER_PORT": "http"})
    done = subprocess.run(
        [sys.executable, "-m", "hitserver.supervisor"],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr == "HITSERVER_PORT is 'http'; it takes a whole number from 0 to 65535.\n"


def test_a_typing_error_in_a_name_is_reported(tmp_path: Path, live_processes: Start) -> None:
    server = live_processes(env={"HITSERVER_PROT": "9000"})

    assert "HITSERVER_PROT is set, but no setting has that name" in server.said()


def test_the_pause_doubles_while_a_process_keeps_ending() -> None:
    child = Child(name="short", command=[sys.executable, "-c", ""])
    pauses = []
    for _ in range(4):
        child.start_at = 0
        child.tend()
        assert child.process is not None
        child.process.wait()
        child.tend()
        pauses.append(round(child.start_at - time.monotonic(), 1))

    assert pauses == [0.5, 1.0, 2.0, 4.0]


def test_a_process_that_ran_well_restarts_soon() -> None:
    child = Child(name="long", command=[sys.executable, "-c", ""], pause=16.0)
    child.start()
    assert child.process is not None
    child.process.wait()
    child.started -= supervisor.WELL_AFTER_SECONDS + 1
    child.tend()

    assert child.start_at - time.monotonic() == pytest.approx(supervisor.FIRST_PAUSE, abs=0.1)


def test_a_process_that_does_not_stop_in_time_is_killed_with_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "STOP_SECONDS", 0.3)
    watch = Supervisor([Child(name="stubborn", command=STUBBORN), Child(name="sleep", command=SLEEP)])
    handlers = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)}
    try:
        watch.catch_signals()
        for child in watch.children:
            child.start()
        stubborn = psutil.Process(watch.children[0].process.pid)  # type: ignore[union-attr]
        wait_for(lambda: stubborn.children(), "the process of the stubborn one")
        processes = [stubborn, *stubborn.children()]
        begin = time.monotonic()
        watch.stop()
    finally:
        signal.set_wakeup_fd(-1)
        for each, handler in handlers.items():
            signal.signal(each, handler)

    assert time.monotonic() - begin < 3
    wait_for(lambda: gone(processes), "the end of both")


@pytest.mark.parametrize(
    ("bind", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), (".".join("0000"), False),
     ("::", False), ("192.0.2.1", False), ("lab.example", False)],
)  # fmt: skip
def test_a_development_server_that_others_can_reach_says_so(
    bind: str, loopback: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert supervisor.is_loopback(bind) is loopback
    supervisor.warn(bind)
    assert ("WARNING: this is a development server" in capsys.readouterr().err) is not loopback


def test_files_of_the_server_are_private(live_processes: Start) -> None:
    server = live_processes()
    assert stat.S_IMODE(server.var.stat().st_mode) == 0o700
    server.manage("backup", str(server.var / "b.tar.gz"))
    for path in (server.var / "secret_key", server.var / "b.tar.gz"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
