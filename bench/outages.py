"""What people see while a part of the server is away, under load: ``python -m bench.outages [--seconds 20]``.

Starts the real server twice: with its own PostgreSQL and Redis, which it reaches through a cable that can be cut, and
with SQLite. The disk under ``HITSERVER_VAR`` is a separate small one (only root may mount it; for others, that part is
left out). Workers rate all the time, and every second somebody opens each of the other pages. One part after the other
is taken away and comes back. Prints, by part and page, each status with its heading, how often it came, and the longest
wait; then compares what was acknowledged with what is stored.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlencode, urlsplit, urlunsplit

from bench.load import FORM, fill
from tests import services
from tests.integration.studies import make_study
from tests.support import Server, running_server

WORKERS = 8
DISK_MB = 48
HEADING = re.compile(r"<h1[^>]*>(.*?)</h1>", re.DOTALL)
STORED = """
import json
from annotation.models import Submission
print(json.dumps(sorted(Submission.objects.values_list("feedback", flat=True))))
"""
Seen = dict[tuple[str, str], Counter[str]]


class Cable:
    """Passes connections on to a service until it is cut, and again once it is plugged in."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._open: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self.port = 0
        self.plug_in()

    def plug_in(self) -> None:
        listener = socket.create_server(("127.0.0.1", self.port))
        self.port, self._listener = listener.getsockname()[1], listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        if self._listener:
            self._end(self._listener)
        for end in list(self._open):
            self._end(end)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(self._target)
                self._open |= {near, far}
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                sink.sendall(data)
        for end in (source, sink):
            self._open.discard(end)
            self._end(end)

    @staticmethod
    def _end(end: socket.socket) -> None:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    location: str
    body: str


class Browser:
    """One connection at a time, with cookies. It tries nothing twice."""

    def __init__(self, base_url: str) -> None:
        self._address = urlsplit(base_url).netloc
        self._connection = HTTPConnection(self._address, timeout=60)
        self._cookies: dict[str, str] = {}

    def request(self, method: str, path: str, form: dict[str, str] | None = None) -> Reply:
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
        headers |= {"Content-Type": FORM} if form else {}
        try:
            self._connection.request(method, path, urlencode(form) if form else None, headers)
            response = self._connection.getresponse()
            body = response.read().decode()
        except (OSError, HTTPException):
            self._connection.close()
            raise
        for cookie in response.headers.get_all("Set-Cookie", []):
            name, _, value = cookie.partition(";")[0].partition("=")
            self._cookies[name] = value
        return Reply(response.status, response.headers.get("Location", ""), body)


class People:
    """Workers who rate without a pause, and a visitor who opens every other page once a second."""

    def __init__(self, server: Server, path: str) -> None:
        self.server, self.path = server, path
        self.phase = "before"
        self.seen: Seen = defaultdict(Counter)
        self.slowest: dict[tuple[str, str], float] = defaultdict(float)
        self.acknowledged: list[str] = []
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._rate, args=(seed,)) for seed in range(WORKERS)]
        self._threads.append(threading.Thread(target=self._visit))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _browser(self) -> Browser:
        return Browser(self.server.base_url)

    def _ask(
        self, browser: Browser, name: str, method: str, address: str, form: dict[str, str] | None = None
    ) -> Reply | None:
        """One request, noted under the phase in which it was sent. None if there was no answer."""
        phase, begin, reply = self.phase, time.monotonic(), None
        try:
            reply = browser.request(method, address, form)
            shown = str(reply.status) if reply.status in (200, 303) else f"{reply.status} {_heading(reply.body)}"
            if "healthz" in name:
                shown = f"{reply.status} {' / '.join(reply.body.splitlines())}"
        except (OSError, HTTPException) as error:
            shown = f"no answer: {type(error).__name__}"
        with self._lock:
            self.seen[phase, name][shown] += 1
            self.slowest[phase, name] = max(self.slowest[phase, name], time.monotonic() - begin)
        return reply

    def _enter(self, browser: Browser, rng: random.Random) -> str:
        """Starts the study. Returns the address of the person's page, or "" if that did not work."""
        first = self._ask(browser, "start page", "GET", self.path)
        if first is None or first.status != 200:
            return ""
        reply = self._ask(browser, "Start", "POST", self.path, fill(first.body.encode(), rng) | {"consent": "yes"})
        return reply.location if reply and reply.status == 303 else ""

    def _rate(self, seed: int) -> None:
        rng, browser, address, number = random.Random(seed), self._browser(), "", 0
        while not self._over.is_set():
            address = address or self._enter(browser, rng)
            page = self._ask(browser, "task", "GET", address) if address else None
            if page is None or page.status != 200:
                time.sleep(0.5)
                continue
            number += 1
            form = fill(page.body.encode(), rng) | {"feedback": f"worker {seed} number {number}"}
            while not self._over.is_set():
                sent = self._ask(browser, "Send", "POST", address, form)
                if sent and sent.status == 303:
                    self.acknowledged.append(form["feedback"])
                    break
                if sent and sent.status == 409:
                    break
                time.sleep(0.5)

    def _visit(self) -> None:
        while not self._over.is_set():
            browser = self._browser()
            self._enter(browser, random.Random())
            page = self._ask(browser, "sign-in page", "GET", "/console/login/")
            if page and page.status == 200:
                form = fill(page.body.encode(), random.Random())
                form |= dict(re.findall(r'name="(csrfmiddlewaretoken)" value="([^"]+)"', page.body))
                self._ask(browser, "Sign in", "POST", "/console/login/", form | {"username": "a", "password": "b"})
            for name in ("healthz", "healthz/live"):
                self._ask(browser, f"/{name}", "GET", f"/{name}")
            self._over.wait(1)

    def print_seen(self) -> None:
        for (phase, name), answers in self.seen.items():
            said = "; ".join(f"{count} × {answer}" for answer, count in answers.most_common())
            print(f"  {phase:<16} {name:<14} {said} (longest {self.slowest[phase, name]:.1f} s)")


def _heading(body: str) -> str:
    match = HEADING.search(body)
    return " ".join(match[1].split()) if match else body[:80]


@contextmanager
def small_disk() -> Iterator[Path | None]:
    """A folder on a separate small disk; None where nobody may mount one."""
    with tempfile.TemporaryDirectory(prefix="hitserver-outages-") as name:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", name]
        if os.getuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
            yield None
            return
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", "-l", name], check=True)


@contextmanager
def full(disk: Path) -> Iterator[None]:
    filler = disk / "filler"
    with filler.open("wb") as file, suppress(OSError):
        while True:
            file.write(b"x" * 65_536)
            file.flush()
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def cut(cable: Cable) -> Iterator[None]:
    cable.cut()
    try:
        yield
    finally:
        cable.plug_in()


def through(url: str) -> tuple[str, Cable]:
    """The service's address through a cable, and the cable."""
    parts = urlsplit(url)
    cable = Cable(parts.hostname or "", parts.port or 0)
    user = f"{parts.username}@" if parts.username else ""
    return urlunsplit(parts._replace(netloc=f"{user}127.0.0.1:{cable.port}")), cable


def watch(env: dict[str, str], cables: dict[str, Cable], *, seconds: float) -> None:
    with small_disk() as disk, tempfile.TemporaryDirectory() as folder:
        if disk is None:
            print("  The disk is left out: only root may mount a small one.")
        with running_server(disk or Path(folder), env={"HITSERVER_UNSENT_PER_ADDRESS": "0", **env}) as server:
            people = People(server, make_study(server, items=2000, ratings=50, warm_up=False))
            people.start()
            time.sleep(seconds / 4)
            away = {name: cut(cable) for name, cable in cables.items()} | ({"disk": full(disk)} if disk else {})
            for name, outage in away.items():
                people.phase = f"{name} away"
                with outage:
                    time.sleep(seconds)
                people.phase = f"{name} back"
                time.sleep(seconds / 2)
            people.stop()
            people.print_seen()
            stored = set(json.loads(server.manage("shell", "-v", "0", "-c", STORED)))
            lost = [note for note in people.acknowledged if note not in stored]
            print(f"  acknowledged {len(people.acknowledged)}, of them lost {len(lost)} {lost[:5]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20, help="how long each part is away (default: 20)")
    seconds = parser.parse_args().seconds
    with ExitStack() as stack:
        print("PostgreSQL and Redis")
        database, to_database = through(stack.enter_context(services.private_postgres()))
        program = shutil.which("redis-server")
        env, cables = {"DATABASE_URL": database}, {"PostgreSQL": to_database}
        if program:
            broker, to_broker = through(stack.enter_context(services.private_redis(program)))
            env, cables = env | {"CELERY_BROKER_URL": broker}, {"Redis": to_broker, **cables}
        watch(env, cables, seconds=seconds)
    print("SQLite")
    watch({}, {}, seconds=seconds)


if __name__ == "__main__":
    main()
