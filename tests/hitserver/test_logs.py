import logging
import re
import secrets
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.core.exceptions import DisallowedHost
from django.urls import URLPattern, URLResolver, get_resolver

from hitserver.logs import SECRET_PATHS, WRONG_HOST, OncePerCause, OneLineFormatter, PrivateFormatter, masked
from tests.support import Server, running_server


def record(message: str, *, failed: bool = False) -> logging.LogRecord:
    return logging.LogRecord("x", logging.ERROR, "x.py", 1, message, None, sys.exc_info() if failed else None)


def test_a_traceback_stays_on_its_line() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        line = OneLineFormatter("%(message)s").format(record("failed", failed=True))

    assert "\n" not in line
    assert line.startswith(r"failed\nTraceback (most recent call last):\n")
    assert line.endswith(r"ValueError: two\nlines")


def test_a_line_cannot_be_forged() -> None:
    assert OneLineFormatter("%(message)s").format(record("a\r\nb\\n")) == r"a\r\nb\\n"


@pytest.mark.parametrize(
    ("message", "logged"),
    [
        ("Conflict: /w/1.abc_DEF-9/", "Conflict: /w/…/"),
        ("Not Found: /w/1.abc/draft", "Not Found: /w/…/draft"),
        ("GET /w/1.abc", "GET /w/…"),
        ("null value\nDETAIL:  Failing row contains (1, what I think).\nmore", "null value\nDETAIL:…\nmore"),
        ("Not Found: /console/", "Not Found: /console/"),
        ("Gone: /marketplace/join/aB_c-9/", "Gone: /marketplace/join/…/"),
        ("POST /marketplace/sign-in/link/aB_c-9/ 410", "POST /marketplace/sign-in/link/…/ 410"),
        ("Gone: /marketplace/operate/welcome/aB_c-9/", "Gone: /marketplace/operate/welcome/…/"),
        ("Not Found: /marketplace/files/WzEs:1vM:x_-y/", "Not Found: /marketplace/files/…/"),
        ("Not Found: /marketplace/frame/WzEs:1vM:x_-y/", "Not Found: /marketplace/frame/…/"),
        ("see https://hits.example.org/marketplace/join/aB_c-9/.", "see https://hits.example.org/marketplace/join/…/."),
        ("/sign-in/?next=%2Fw%2F1.abc%2F&x=1", "/sign-in/?next=%2Fw%2F…%2F&x=1"),
        ("GET /s/replies/?k=Zx_9-q HTTP/1.1", "GET /s/replies/?k=… HTTP/1.1"),
        ("GET /s/replies/?a=1&bot=3~x.y&b=2", "GET /s/replies/?a=1&bot=…&b=2"),
        ("Authorization: Bearer hits_" + "x" * 43, "Authorization: Bearer hits_…"),
        ("Not Found: /marketplace/sign-in/", "Not Found: /marketplace/sign-in/"),
        ("/s/replies/?page=2&kind=3", "/s/replies/?page=2&kind=3"),
    ],
)
def test_tokens_and_answers_are_left_out(message: str, logged: str) -> None:
    assert PrivateFormatter("%(message)s").format(record(message)) == logged
    assert OneLineFormatter("%(message)s").format(record(message)) == logged.replace("\n", "\\n")


def routes(resolver: URLResolver, before: str = "") -> list[str]:
    found: list[str] = []
    for entry in resolver.url_patterns:
        route = before + str(entry.pattern)
        found += [route] if isinstance(entry, URLPattern) else routes(entry, route)
    return found


def test_every_address_with_a_token_is_masked() -> None:
    with_token = [route for route in routes(get_resolver()) if re.search(r"<\w+:(token|secret)>", route)]
    assert {route.partition("<")[0].strip("/") for route in with_token} == set(SECRET_PATHS)
    for route in with_token:
        filled = "/" + re.sub("<[^>]+>", "WzEs:1vM:x_-y", route)
        assert "WzEs" not in masked(f"Not Found: {filled}"), route


SECRET = "5ecretT0ken_of-somebody"


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> int:
    parts = urlsplit(server.base_url)
    connection = HTTPConnection(str(parts.hostname), parts.port, timeout=20)
    own = {"Host": "hits.example.org", "X-Forwarded-Proto": "https", "Referer": "https://hits.example.org/"}
    connection.request(method, path, headers=own | headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_no_secret_reaches_the_log_of_a_real_server(live_processes: Callable[..., Server]) -> None:
    """In production, with every message logged."""
    server = live_processes(
        env={
            "HITSERVER_ENV": "production",
            "HITSERVER_ALLOW_ROOT": "1",
            "HITSERVER_SECRET_KEY": secrets.token_urlsafe(64),
            "HITSERVER_ALLOWED_HOSTS": "hits.example.org",
            "HITSERVER_LOG_LEVEL": "debug",
        }
    )
    for path in SECRET_PATHS:
        assert ask(server, f"/{path}/{SECRET}/") in (200, 404, 410)
        assert ask(server, f"/{path}/{SECRET}/nothing-here/") == 404
        assert ask(server, f"/{path}/{SECRET}/", "POST") in (403, 404, 405)
    assert ask(server, f"/s/no-such-study/?k={SECRET}") == 404
    assert ask(server, "/api/v1/studies/", Authorization=f"Bearer hits_{SECRET}") == 401
    assert ask(server, f"/not-there/?next=/marketplace/join/{SECRET}/") == 404
    said = server.said()
    assert "Not Found: /marketplace/files/…/" in said
    assert SECRET not in said


# --- many errors with one cause ---------------------------------------------------------------------------------


def caught(error: Exception, name: str = "django.request") -> logging.LogRecord:
    try:
        raise error
    except Exception:
        return logging.LogRecord(name, logging.ERROR, "x.py", 1, "Failed: %s", ("/w/",), sys.exc_info())


def test_a_minute_of_outage_is_one_traceback_per_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    once, now = OncePerCause(), time.monotonic()
    assert sum(once.filter(caught(OSError(f"gone {number}"))) for number in range(582)) == 1
    assert once.filter(caught(ValueError("another cause")))
    assert once.filter(record("without a traceback"))
    assert once.filter(record("without a traceback"))
    monkeypatch.setattr(time, "monotonic", lambda: now + 61)
    again = caught(OSError("gone"))
    assert once.filter(again)
    assert again.getMessage() == "Failed: /w/ (581 more like this one were not logged)"


def test_the_same_error_on_another_line_is_another_cause() -> None:
    once, records = OncePerCause(), []
    try:
        raise OSError
    except OSError:
        records.append(record("failed", failed=True))
    try:
        raise OSError
    except OSError:
        records.append(record("failed", failed=True))
    assert [once.filter(each) for each in records] == [True, True]


def test_wrong_hosts_are_one_line_without_traceback() -> None:
    once = OncePerCause()
    records = [caught(DisallowedHost(f"Invalid HTTP_HOST header: 'h{n}'"), WRONG_HOST) for n in range(50)]
    assert [once.filter(each) for each in records] == [True] + [False] * 49
    assert "Traceback" not in OneLineFormatter("%(message)s").format(records[0])


def test_the_server_logs_like_that(tmp_path: Path) -> None:
    with running_server(tmp_path / "var", env={"HITSERVER_WEB_WORKERS": "1"}) as server:
        parts = urlsplit(server.base_url)
        for number in range(20):
            connection = HTTPConnection(parts.hostname or "", parts.port, timeout=10)
            connection.request("GET", "/console/login/", headers={"Host": f"evil-{number}.example"})
            assert connection.getresponse().status == 400
            connection.close()
        assert server.said().count("Invalid HTTP_HOST header") == 1
        assert "Traceback" not in server.said()
