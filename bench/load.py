"""A light load client for the workers' pages: N workers on open connections fetch a page, answer, send, and continue.

One process, one thread and plain sockets, so that it measures the server and not the client. It only uses loopback and
stops by itself.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import time
from dataclasses import asdict, dataclass, field
from urllib.parse import urlencode, urlsplit

_HIDDEN = re.compile(rb'name="(form|start)"[^>]*?value="([^"]+)"')
_RADIO = re.compile(rb'type="radio"[^>]*?name="([^"]+)"[^>]*?value="([^"]+)"')
_TEXT = re.compile(rb'<textarea[^>]*?name="([^"]+)"')
FORM = "application/x-www-form-urlencoded"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass
class Measured:
    """The seconds that every page and every sent step took, and any errors."""

    pages: list[float] = field(default_factory=list)
    sends: list[float] = field(default_factory=list)
    submissions: int = 0
    errors: list[str] = field(default_factory=list)
    #: How long all workers took to start, and how long they then worked.
    starts: float = 0.0
    seconds: float = 0.0


class Connection:
    """One persistent HTTP/1.1 connection."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def send(self, method: str, path: str, body: bytes = b"", kind: str = FORM) -> tuple[int, str, bytes]:
        for attempt in (1, 2):
            try:
                return await self._send(method, path, body, kind)
            except (ConnectionError, asyncio.IncompleteReadError):
                self.close()
                if attempt == 2:
                    raise
        raise AssertionError

    async def _send(self, method: str, path: str, body: bytes, kind: str) -> tuple[int, str, bytes]:
        if self.writer is None or self.reader is None:
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
        if body:
            head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        self.writer.write(head.encode() + b"\r\n" + body)
        raw = await self.reader.readuntil(b"\r\n\r\n")
        status = int(raw[9:12])
        length, location, close = 0, "", False
        for line in raw.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            name = name.lower()
            if name == b"content-length":
                length = int(value)
            elif name == b"location":
                location = value.strip().decode()
            elif name == b"connection" and value.strip().lower() == b"close":
                close = True
        content = await self.reader.readexactly(length) if length else b""
        if close:
            self.close()
        return status, location, content

    def close(self) -> None:
        if self.writer:
            self.writer.close()
        self.reader = self.writer = None


def fill(page: bytes, rng: random.Random) -> dict[str, str]:
    """The form of a page, with random answers."""
    form = {name.decode(): value.decode() for name, value in _HIDDEN.findall(page)}
    groups: dict[str, list[str]] = {}
    for name, value in _RADIO.findall(page):
        groups.setdefault(name.decode(), []).append(value.decode())
    form |= {name: rng.choice(values) for name, values in groups.items()}
    form |= {name.decode(): "some words of my own" for name in _TEXT.findall(page)}
    form["timing"] = json.dumps({name: {"seconds": 3.5, "at": 4.0, "pastes": 0} for name in groups})
    return form


@dataclass
class Clock:
    """Starts when all workers are in the study."""

    seconds: float
    missing: int
    begin: float = 0.0
    all_in: asyncio.Event = field(default_factory=asyncio.Event)

    def entered(self) -> None:
        self.missing -= 1
        if not self.missing:
            self.begin = time.monotonic()
            self.all_in.set()

    def running(self) -> bool:
        return time.monotonic() < self.begin + self.seconds


async def start(connection: Connection, path: str, rng: random.Random) -> str:
    """Starts the study as a person would. Returns the address of the person's page."""
    _, _, page = await connection.send("GET", path)
    form = fill(page, rng) | {"consent": "yes"}
    status, location, page = await connection.send("POST", path, urlencode(form).encode())
    if status != 303:
        raise RuntimeError(f"starting the study answered {status}")
    return location


async def one_worker(base: str, path: str, steps: int, clock: Clock, seed: int, found: Measured) -> None:
    """Starts the study, waits for the others, then answers page after page until the time is up."""
    parts = urlsplit(base)
    connection = Connection(parts.hostname or "", parts.port or 80)
    rng = random.Random(seed)
    try:
        try:
            work, sent = await start(connection, path, rng), 0
        finally:
            clock.entered()
        await clock.all_in.wait()
        while clock.running():
            begin = time.monotonic()
            status, location, page = await connection.send("GET", work)
            found.pages.append(time.monotonic() - begin)
            if status != 200:
                raise RuntimeError(f"the page answered {status} to {location}")
            body = urlencode(fill(page, rng)).encode()
            begin = time.monotonic()
            status, location, page = await connection.send("POST", work, body)
            found.sends.append(time.monotonic() - begin)
            if status != 303:
                raise RuntimeError(f"the step answered {status}")
            sent += 1
            found.submissions += sent % steps == 0
    except (OSError, RuntimeError, asyncio.IncompleteReadError) as error:
        found.errors.append(f"{type(error).__name__}: {error}")
    finally:
        connection.close()


async def load(base: str, path: str, *, workers: int, seconds: float, steps: int) -> Measured:
    found, clock, begin = Measured(), Clock(seconds, missing=workers), time.monotonic()
    await asyncio.gather(*(one_worker(base, path, steps, clock, seed, found) for seed in range(workers)))
    found.seconds, found.starts = time.monotonic() - clock.begin, clock.begin - begin
    return found


def main() -> None:
    base, path, workers, seconds, steps = sys.argv[1:6]
    if urlsplit(base).hostname not in LOOPBACK:
        sys.exit("Only a server on this machine is ever loaded.")
    found = asyncio.run(load(base, path, workers=int(workers), seconds=min(float(seconds), 120.0), steps=int(steps)))
    json.dump(asdict(found), sys.stdout)


if __name__ == "__main__":
    main()
