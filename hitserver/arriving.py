"""What the beginning of an HTTP request reveals about the rest of it, while it is still arriving.

Gunicorn parses requests. This module only finds out how many bytes to wait for, and refuses early what this server does
not accept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

MOST_HEAD_BYTES = 64 * 1024
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,18})[ \t]*\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:", re.IGNORECASE)
_EXPECT = re.compile(rb"\r\nexpect:[ \t]*100-continue[ \t]*\r\n", re.IGNORECASE)
END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Head:
    """A request's path, and the sizes of its head (request line and headers) and its body in bytes.

    ``waits_for_continue``: the client sends the body only after “100 Continue”.
    """

    path: str
    head_bytes: int
    body_bytes: int
    waits_for_continue: bool

    @property
    def total(self) -> int:
        return self.head_bytes + self.body_bytes


class Unacceptable(Exception):
    """The request gets this status and sentence as its response, and is read no further."""

    def __init__(self, status: str, text: str) -> None:
        self.status, self.text = status, text
        super().__init__(f"{status}: {text}")


def read_head(held: bytes | bytearray) -> Head | None:
    """The head of a request; None until it is complete. Raises Unacceptable for a head that is too large, and for a
    body in chunks."""
    end = held.find(END, 0, MOST_HEAD_BYTES)
    if end < 0:
        if len(held) >= MOST_HEAD_BYTES:
            raise Unacceptable("431 Request Header Fields Too Large", "The headers of this request are too large.")
        return None
    head = bytes(held[: end + len(END)])
    if _CHUNKED.search(head):
        text = "This server needs to know the length of a request: send a Content-Length, not chunks."
        raise Unacceptable("411 Length Required", text)
    length = _LENGTH.search(head)
    target = head.partition(b" ")[2].partition(b" ")[0].partition(b"?")[0]
    return Head(
        path=target.decode("ascii", "replace"),
        head_bytes=len(head),
        body_bytes=int(length[1]) if length else 0,
        waits_for_continue=bool(_EXPECT.search(head)),
    )


def response(status: str, body: str, *, headers: Mapping[str, str] | None = None) -> bytes:
    """A whole response, after which the connection is closed. ``body`` is plain text unless the headers differ."""
    data = body.encode()
    all_headers = {
        "Content-Type": "text/plain; charset=utf-8",
        **(headers or {}),
        "Content-Length": str(len(data)),
        "Connection": "close",
    }
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in all_headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + data
