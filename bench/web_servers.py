"""Our web server beside others: ``python -m bench.web_servers [--servers ours,gthread,granian,waitress] [--rounds 3]``.

Starts each with the same application, processes and threads, in turns. Measures ratings per second, processor time per
rating, memory, pages while 2,000 connections send a byte now and then, a body over the limit, and a stop under load.
``ours`` is Gunicorn with `hitserver.web_worker`, ``gthread`` is Gunicorn's own threaded worker. The others have to be
installed: ``pip install --no-deps --target FOLDER granian waitress``, then run this with ``PYTHONPATH=FOLDER``.
"""

from __future__ import annotations

import argparse
import json
import select
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from bench.serve import ITEMS, RATINGS, ROOT, measure
from hitserver.processes import allow_open_files
from tests.integration.studies import count, make_study
from tests.support import Server, clean_environment, database_with_tables

PAGE = "/healthz/live"
HEAD = b"HTTP/1.1\r\nHost: 127.0.0.1\r\n"
FORM = b"Content-Type: multipart/form-data; boundary=b\r\n"
SLOW_CLIENTS = 2000
SLOW_BEGINNINGS = {
    "headers": b"GET /healthz/live " + HEAD + b"X-Slow: ",
    "body": b"POST /s/load/ " + HEAD + FORM + b"Content-Length: 50000\r\n\r\n",
    # With this cookie, Django reads the body to find the token.
    "upload": b"POST /console/login/ " + HEAD + FORM + b"Cookie: csrftoken=" + b"x" * 32 + b"\r\n"
    b"Content-Length: 50000000\r\n\r\n" + b"x" * 1000,
}
#: How long a visitor waits before giving up.
PATIENCE_SECONDS = 5.0
TOO_LARGE = 50_000_000
CLIENTS = 16
Figures = dict[str, float]


@contextmanager
def candidate(name: str) -> Iterator[Server]:
    """The server with this name, and a live study."""
    with tempfile.TemporaryDirectory(prefix="hitserver-bench-") as folder, socket.socket() as listener:
        var = Path(folder)
        shutil.copy(database_with_tables(), var)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        settings = {"HITSERVER_VAR": folder, "HITSERVER_PORT": str(port), "HITSERVER_UNSENT_PER_ADDRESS": "0"}
        environment = clean_environment(settings | {"DJANGO_SETTINGS_MODULE": "hitserver.settings"})
        subprocess.run([sys.executable, "-m", "hitserver.prepare"], env=environment, cwd=ROOT, check=True)
        if name == "granian":  # it binds the port itself
            listener.close()
            pass_fds: tuple[int, ...] = ()
        else:
            listener.listen(2048)
            pass_fds = (listener.fileno(),)
        command = [sys.executable, "-m", "bench.web_candidates", name, *map(str, pass_fds or (-1,)), str(port)]
        log = var / "server.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, env=environment, cwd=ROOT, pass_fds=pass_fds, stdout=output, stderr=output
            )
        listener.close()
        server = Server(process, f"http://127.0.0.1:{port}", var, log, environment)
        try:
            wait_until_ready(server)
            make_study(server, items=ITEMS, ratings=RATINGS)
            yield server
        finally:
            server.kill_all()


def wait_until_ready(server: Server) -> None:
    deadline = time.monotonic() + 180
    while seconds_for_page(server) is None:
        if time.monotonic() > deadline or server.process.poll() is not None:
            raise RuntimeError(f"The server did not start:\n{server.said()}")
        time.sleep(0.1)


def connect(server: Server) -> socket.socket:
    parts = urlsplit(server.base_url)
    return socket.create_connection((parts.hostname or "", parts.port or 0), timeout=PATIENCE_SECONDS)


def seconds_for_page(server: Server, path: str = PAGE, patience: float = PATIENCE_SECONDS) -> float | None:
    """How long a page on a new connection takes. None if it fails."""
    begin = time.monotonic()
    connection = HTTPConnection("127.0.0.1", urlsplit(server.base_url).port, timeout=patience)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        return time.monotonic() - begin if response.status == 200 else None
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()


def processor_seconds(server: Server) -> float:
    times = [process.cpu_times() for process in server.processes()]
    return sum(used.user + used.system for used in times)


def memory(server: Server) -> float:
    """MB of all processes; what they share counts once."""
    rollups = [Path(f"/proc/{process.pid}/smaps_rollup").read_text() for process in server.processes()]
    return sum(int(line.split()[1]) for text in rollups for line in text.splitlines() if line[:4] == "Pss:") / 1024


def rating(server: Server, seconds: float) -> Figures:
    used = processor_seconds(server)
    figures, submissions = measure(server, workers=CLIENTS, seconds=seconds, steps=1)
    return {
        "ratings/s": figures["ratings/s"],
        "CPU ms/rating": (processor_seconds(server) - used) * 1000 / max(1, submissions),
        "submit p95 ms": figures["submit p95"],
        "memory MB": memory(server),
    }


@contextmanager
def slow_clients(server: Server, beginning: bytes) -> Iterator[None]:
    """2,000 connections that send this, then a byte about every five seconds. Those that are closed connect again."""
    clients: list[socket.socket] = []
    over = threading.Event()

    def begin() -> socket.socket:
        client = connect(server)
        client.setblocking(False)
        client.send(beginning)
        return client

    def drip() -> None:
        while not over.is_set():
            for number, client in enumerate(clients):
                try:
                    client.send(b"x")
                except OSError:
                    client.close()
                    with suppress(OSError):
                        clients[number] = begin()
                if number % 40 == 0 and over.wait(0.1):
                    return

    for _ in range(SLOW_CLIENTS):
        with suppress(OSError):
            clients.append(begin())
    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        yield
    finally:
        over.set()
        dripping.join()
        for client in clients:
            client.close()


def beside_slow_clients(server: Server, kind: str, seconds: float) -> Figures:
    waits = []
    with slow_clients(server, SLOW_BEGINNINGS[kind]):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            waits.append(seconds_for_page(server))
            time.sleep(0.02)
    served = [wait for wait in waits if wait is not None]
    return {
        f"{kind}: pages served %": 100 * len(served) / len(waits),
        f"{kind}: median ms": statistics.median(served) * 1000 if served else float("nan"),
        f"{kind}: slowest ms": max(served, default=float("nan")) * 1000,
    }


def over_the_limit(server: Server) -> Figures:
    """A client sends as fast as it can until there is a response."""
    bytes_sent = 0
    received = b""
    with connect(server) as client:
        client.sendall(b"POST /w/x/ " + HEAD + b"Content-Length: %d\r\n\r\n" % TOO_LARGE)
        with suppress(OSError):
            while bytes_sent < TOO_LARGE and not select.select([client], [], [], 0.01)[0]:
                bytes_sent += client.send(b"x" * 65536)
        with suppress(OSError):
            while part := client.recv(65536):
                received += part
    return {
        "too large: 413 with our page": float(received[9:12] == b"413" and b"At most 3 MB can be" in received),
        "too large: MB sent": bytes_sent / 1e6,
    }


def stop(server: Server) -> Figures:
    """Asks the server to stop while slow pages and ratings are under way."""
    stored = count(server)["submissions"]
    waiting: list[float | None] = []
    visitors = [
        threading.Thread(target=lambda: waiting.append(seconds_for_page(server, f"{PAGE}?wait=2", 15)))
        for _ in range(4)
    ]
    command = [sys.executable, "-m", "bench.load", server.base_url, "/s/load/", str(CLIENTS), "30", "1"]
    load = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    time.sleep(4)
    for visitor in visitors:
        visitor.start()
    time.sleep(0.7)
    begin = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    try:
        server.process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        server.kill_all()
    seconds = time.monotonic() - begin
    for visitor in visitors:
        visitor.join()
    acknowledged = json.loads(load.communicate(timeout=60)[0])["submissions"]
    return {
        "stop: slow pages answered of 4": float(sum(wait is not None for wait in waiting)),
        "stop: ratings stored, not answered": float(stored_submissions(server) - stored - acknowledged),
        "stop: seconds": seconds,
    }


def stored_submissions(server: Server) -> int:
    return int(server.ask("SELECT COUNT(*) FROM annotation_submission")[0][0])


def one_round(name: str, seconds: float) -> Figures:
    with candidate(name) as server:
        figures = rating(server, seconds)
        for kind in SLOW_BEGINNINGS:
            figures |= beside_slow_clients(server, kind, seconds)
            time.sleep(1)
        figures |= over_the_limit(server)
        return figures | stop(server)


def show(rounds: dict[str, list[Figures]]) -> None:
    """The median of each figure, with the lowest and the highest."""
    print(f"{'':<36}" + "".join(f"{name:>24}" for name in rounds))
    for label in next(iter(rounds.values()))[0]:
        cells = []
        for figures in rounds.values():
            values = sorted(round_figures[label] for round_figures in figures)
            cells.append(f"{statistics.median(values):.1f} ({values[0]:.1f}–{values[-1]:.1f})")
        print(f"{label:<36}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--servers", default="ours,gthread,granian,waitress")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6, help="of each measurement (default: %(default)s)")
    options = parser.parse_args(arguments)
    names = options.servers.split(",")
    allow_open_files(2 * SLOW_CLIENTS + 200)
    rounds: dict[str, list[Figures]] = defaultdict(list)
    for number in range(options.rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            rounds[name].append(one_round(name, options.seconds))
            print(f"round {number + 1}, {name}: {rounds[name][-1]}", file=sys.stderr, flush=True)
    show({name: rounds[name] for name in names})


if __name__ == "__main__":
    main()
