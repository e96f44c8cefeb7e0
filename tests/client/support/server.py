"""A server that answers from a list, for clients: it follows RFC 9457 and the draft of the Idempotency-Key header."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx

from hitserver_client import Client

URL, TOKEN = "https://hits.example.org", "hits_secret"
Reply = httpx.Response | Exception


def ok(body: Any = None, status: int = 200, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def problem(status: int, detail: str = "", errors: Any = (), **headers: str) -> httpx.Response:
    body = {"type": "about:blank", "title": "A title", "status": status, "detail": detail, "errors": list(errors)}
    headers = {"content-type": "application/problem+json"} | {n.replace("_", "-"): v for n, v in headers.items()}
    return httpx.Response(status, content=json.dumps(body).encode(), headers=headers)


class Server:
    """Gives the replies in their order, the last one for ever, and keeps the requests."""

    def __init__(self, *replies: Reply) -> None:
        self.replies, self.requests = list(replies), list[httpx.Request]()
        self.transport = httpx.MockTransport(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        return reply

    def client(self) -> Client:
        return Client(URL, TOKEN, transport=self.transport)

    def write_keys(self) -> set[str | None]:
        return {request.headers.get("idempotency-key") for request in self.requests}


class BrokenStream(httpx.SyncByteStream):
    """A file whose connection breaks after its first piece."""

    def __iter__(self) -> Iterator[bytes]:
        yield b"half of "
        raise httpx.ReadError("The connection was reset.")


Slept = list[float]
