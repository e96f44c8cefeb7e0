"""What is read from the beginning of a request, before Gunicorn parses it."""

import pytest

from hitserver.arriving import MOST_HEAD_BYTES, Head, Unacceptable, read_head, response

START = b"POST /w/abc/?a=/s/ HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize("held", [b"", b"G", START, START + b"\r", b"\r\n"])
def test_an_incomplete_head_has_no_known_size(held: bytes) -> None:
    assert read_head(held) is None


@pytest.mark.parametrize(
    ("headers", "body_bytes", "waits"),
    [
        (b"", 0, False),
        (b"Content-Length: 12\r\n", 12, False),
        (b"CONTENT-LENGTH:12\r\nExpect: 100-Continue\r\n", 12, True),
        (b"X-Content-Length: 12\r\n", 0, False),
        (b"Content-Length: twelve\r\n", 0, False),
    ],
)
def test_the_size_of_a_request_is_known_from_its_head(headers: bytes, body_bytes: int, waits: bool) -> None:
    data = START + headers + b"\r\n"
    expected = Head(path="/w/abc/", head_bytes=len(data), body_bytes=body_bytes, waits_for_continue=waits)
    assert read_head(data + b"Content-Length: 99\r\n\r\n") == expected
    assert expected.total == len(data) + body_bytes


@pytest.mark.parametrize(
    ("data", "status"),
    [(START + b"Transfer-Encoding: chunked\r\n\r\n", "411"), (START + b"a: " + b"b" * MOST_HEAD_BYTES, "431")],
)
def test_impossible_requests_are_refused_immediately(data: bytes, status: str) -> None:
    with pytest.raises(Unacceptable, match=f"^{status} "):
        read_head(data)


def test_an_answer_without_gunicorn_is_complete() -> None:
    assert response("408 Request Timeout", "Té\n", headers={"X-A": "b"}) == (
        b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nX-A: b\r\nContent-Length: 4\r\n"
        b"Connection: close\r\n\r\nT\xc3\xa9\n"
    )
