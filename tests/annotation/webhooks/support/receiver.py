"""A receiver of webhooks on this machine. It verifies messages as the Standard Webhooks specification says."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

TOLERANCE = 5 * 60


@dataclass
class Received:
    """One message as it arrived."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.body)
        return message

    def is_signed_with(self, secret: str) -> bool:
        """As specified: base64 of HMAC-SHA256 over ``id.timestamp.body``, after ``v1,``; secrets after ``whsec_``."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        parts = [self.headers["webhook-id"].encode(), self.headers["webhook-timestamp"].encode(), self.body]
        code = base64.b64encode(hmac.new(key, b".".join(parts), hashlib.sha256).digest()).decode()
        recent = abs(time.time() - int(self.headers["webhook-timestamp"])) <= TOLERANCE
        return recent and f"v1,{code}" in self.headers["webhook-signature"].split(" ")


@dataclass
class Receiver:
    """What arrived, and what is answered: a status, a text and headers. ``silent``: nothing at all."""

    address: str
    received: list[Received] = field(default_factory=list)
    status: int = 204
    text: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    silent: bool = False
    over: Event = field(default_factory=Event)


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.received.append(Received(self.path, headers, body))
            if receiver.silent:
                receiver.over.wait(30)
                return
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(receiver.text.encode())

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = Receiver(f"http://127.0.0.1:{server.server_port}/hooks?study=1")
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield receiver
    finally:
        receiver.over.set()
        server.shutdown()
        server.server_close()
