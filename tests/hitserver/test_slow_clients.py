"""Clients that send slowly, never finish, or never close: nobody else has to wait for them."""

from __future__ import annotations

import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hitserver.processes import allow_open_files
from tests.support import Server, running_server

pytestmark = pytest.mark.slow
HEADERS = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
POST = b"POST /w/x/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000\r\n\r\n"
#: Larger than what is held in memory: threads read it, at most half of them. With this cookie, Django reads the body to
#: find the token; otherwise it would answer at once.
UPLOAD = (
    b"POST /console/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50000000\r\nCookie: csrftoken=" + b"x" * 32
) + b"\r\nContent-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n"
#: Of several times as many as the server has threads (two processes with four each).
SLOW_CLIENTS = 32
SECOND_SECONDS = 3
HELD_BY_A_PROCESS = 1000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    var = tmp_path_factory.mktemp("slow") / "var"
    with running_server(var, env={"HITSERVER_REQUEST_SECONDS": str(SECOND_SECONDS)}) as running:
        yield running


@pytest.fixture(scope="module")
def patient_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """As it is without settings: nobody is cut off while a test lasts."""
    with running_server(tmp_path_factory.mktemp("patient") / "var") as running:
        yield running


def connect(server: Server, *, source: str = "127.0.0.1") -> socket.socket:
    parts = urlsplit(server.base_url)
    return socket.create_connection((parts.hostname or "", parts.port or 0), timeout=15, source_address=(source, 0))


def status_and_rest(client: socket.socket) -> tuple[str, bytes]:
    """The status of the answer, and everything up to the end of the connection."""
    data = b""
    with suppress(TimeoutError):
        while more := client.recv(65536):
            data += more
    return data[9:12].decode(), data


def seconds_for_a_page(server: Server) -> float:
    begin = time.monotonic()
    parts = urlsplit(server.base_url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    connection.request("GET", "/healthz")
    assert connection.getresponse().status == 200
    connection.close()
    return time.monotonic() - begin


@contextmanager
def drips(server: Server, beginning: bytes) -> Iterator[None]:
    """32 connections that send this, then a byte every half second."""
    clients = [connect(server) for _ in range(SLOW_CLIENTS)]
    over = threading.Event()

    def drip() -> None:
        while not over.wait(0.5):
            for client in clients:
                with suppress(OSError):
                    client.send(b"x")

    for client in clients:
        client.sendall(beginning)
    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        for client in clients:
            client.close()


@pytest.mark.parametrize(
    "beginning",
    [b"G", HEADERS + b"X-Slow: ", POST, HEADERS + b"\r\n" + HEADERS + b"X-Slow: ", UPLOAD],
    ids=["request line", "headers", "body", "second request", "upload"],
)
def test_slow_clients_keep_nobody_waiting(patient_server: Server, beginning: bytes) -> None:
    with drips(patient_server, beginning):
        time.sleep(1.5)
        assert max(seconds_for_a_page(patient_server) for _ in range(8)) < 3


@pytest.fixture
def many_files() -> Iterator[None]:
    """This process holds a few thousand connections."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allow_open_files(4096) < 2 * HELD_BY_A_PROCESS + 500:
        pytest.skip("this machine does not let a process open so many files")
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize(
    "beginning",
    [b"", b"G", POST, HEADERS + b"\r\n", UPLOAD],
    ids=["silent", "request line", "body", "kept alive", "upload"],
)
def test_more_connections_than_the_server_holds_keep_nobody_waiting(
    patient_server: Server, many_files: None, beginning: bytes
) -> None:
    with ExitStack() as clients:
        for _ in range(2 * HELD_BY_A_PROCESS + 300):
            client = clients.enter_context(connect(patient_server))
            with suppress(OSError):
                client.sendall(beginning)
        assert max(seconds_for_a_page(patient_server) for _ in range(8)) < 3


def test_room_is_made_by_those_who_take_most_of_it(patient_server: Server, many_files: None) -> None:
    """A slow visitor from another address stays connected while one address opens thousands of connections."""
    with ExitStack() as clients:
        visitor = clients.enter_context(connect(patient_server, source="127.0.0.2"))
        visitor.sendall(HEADERS)
        for _ in range(2 * HELD_BY_A_PROCESS + 300):
            clients.enter_context(connect(patient_server)).sendall(b"G")
        visitor.sendall(b"Connection: close\r\n\r\n")
        assert status_and_rest(visitor)[0] == "200"


def test_clients_that_never_close_keep_nobody_waiting(patient_server: Server) -> None:
    clients = [connect(patient_server) for _ in range(SLOW_CLIENTS)]
    for client in clients:
        client.sendall(HEADERS + b"Connection: close\r\n\r\n")
    time.sleep(0.5)
    assert seconds_for_a_page(patient_server) < 2
    for client in clients:
        client.close()


@pytest.mark.parametrize("beginning", [b"GET /healthz HTTP/1.1\r\nHost: x\r\n", POST + b"some of it"])
def test_a_request_that_does_not_arrive_in_time_gets_an_answer(server: Server, beginning: bytes) -> None:
    client = connect(server)
    begin = time.monotonic()
    client.sendall(beginning)
    status, data = status_and_rest(client)
    assert status == "408"
    assert b"took too long to arrive" in data
    assert SECOND_SECONDS - 0.5 < time.monotonic() - begin < SECOND_SECONDS + 8


def test_a_connection_on_which_nothing_is_sent_is_closed(server: Server) -> None:
    client = connect(server)
    assert status_and_rest(client) == ("", b"")


def test_a_request_in_many_small_pieces_is_served(patient_server: Server) -> None:
    client = connect(patient_server)
    for byte in HEADERS + b"Connection: close\r\n\r\n":
        client.sendall(bytes([byte]))
        time.sleep(0.002)
    status, data = status_and_rest(client)
    assert status == "200"
    assert data.endswith(b"ok\n")


def test_several_requests_at_once_are_answered_in_order(patient_server: Server) -> None:
    client = connect(patient_server)
    missing = b"GET /no-such-page HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    post = b"POST /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\n\r\nabc"
    client.sendall(HEADERS + b"\r\n" + missing + b"\r\n" + post + HEADERS + b"Connection: close\r\n\r\n")
    _, data = status_and_rest(client)
    found = [part[1:4] for part in data.split(b"HTTP/1.1")[1:]]
    assert found == [b"200", b"404", b"403", b"200"]  # no token of a form


def test_a_client_that_waits_to_be_asked_for_the_body_is_asked(patient_server: Server) -> None:
    client = connect(patient_server)
    client.sendall(POST.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"))
    assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.sendall(b"x" * 5000)
    assert b"HTTP/1.1 4" in status_and_rest(client)[1]


@pytest.mark.parametrize(
    ("request_head", "status", "told"),
    [
        (b"POST /w/x/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50000000\r\n\r\n", "413", b"At most 3 MB can be"),
        (b"POST /s/x/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3145729\r\n\r\n", "413", b"At most 3 MB can be"),
        (b"POST /console/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 70000000\r\n\r\n", "413", b"At most 64 MB"),
        (b"POST /w/x/ HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n", "411", b"Content-Length"),
        (HEADERS + b"X-Large: " + b"x" * 70_000, "431", b"headers of this request are too large"),
    ],
)
def test_a_body_that_no_view_would_read_is_refused_while_it_is_sent(
    patient_server: Server, request_head: bytes, status: str, told: bytes
) -> None:
    """The client continues to send, as browsers do, and still gets the answer."""
    client = connect(patient_server)
    client.sendall(request_head)
    with suppress(OSError):
        for _ in range(30):
            client.send(b"x" * 10_000)
            time.sleep(0.01)
    begin = time.monotonic()
    found, data = status_and_rest(client)
    assert found == status
    assert told in data
    assert time.monotonic() - begin < 3


def test_an_upload_that_threads_read_arrives_whole(patient_server: Server) -> None:
    """A form with a file of 20 MB, and behind it the token without which the form is refused."""
    parts = urlsplit(patient_server.base_url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    connection.request("GET", "/console/login/")
    response = connection.getresponse()
    page = response.read().decode()
    cookie = (response.getheader("Set-Cookie") or "").partition(";")[0]
    token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    file = "--b\r\nContent-Disposition: form-data; name=f; filename=f\r\n\r\n" + "x" * 20_000_000
    for sent, status in ((token, 422), ("wrong", 403)):
        body = f"{file}\r\n--b\r\nContent-Disposition: form-data; name=csrfmiddlewaretoken\r\n\r\n{sent}\r\n--b--\r\n"
        headers = {"Cookie": cookie, "Content-Type": "multipart/form-data; boundary=b"}
        connection.request("POST", "/console/login/", body.encode(), headers)
        response = connection.getresponse()
        response.read()
        assert response.status == status
    connection.close()


def test_each_web_process_has_a_limit_of_memory(tmp_path: Path) -> None:
    with running_server(tmp_path / "var", env={"HITSERVER_WEB_MEMORY_MB": "1000"}) as running:
        limits = {
            line.split()[3]
            for process in running.processes()
            if "gunicorn" in " ".join(process.cmdline())
            for line in Path(f"/proc/{process.pid}/limits").read_text().splitlines()
            if line.startswith("Max address space") and process.ppid() != running.process.pid
        }
    assert limits == {str(1000 * 1024**2)}
