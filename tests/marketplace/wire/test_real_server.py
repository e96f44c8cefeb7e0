"""The endpoint as it is run: gunicorn with several processes and threads, started as `script/marketplace` does."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from tests.marketplace.support.clients import PATH, Key, boto3_client, call, control, signed_headers
from tests.marketplace.support.world import TYPE, WORK
from tests.support import Server, running_server

pytestmark = pytest.mark.slow
BALANCE = "MTurkRequesterServiceV20170117.GetAccountBalance"
MARKETPLACE = {"HITSERVER_PARTS": "marketplace", "HITSERVER_WEB_WORKERS": "2"}


def a_key(server: Server) -> Key:
    server.manage("marketplace", "make-requester", "Lab", "--balance", "1000")
    said = server.manage("marketplace", "make-key", "Lab")
    lines = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    return Key(lines["AWS_ACCESS_KEY_ID"], lines["AWS_SECRET_ACCESS_KEY"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    env = {**MARKETPLACE, "HITSERVER_MARKETPLACE_TEST_CONTROLS": "1", "HITSERVER_MARKETPLACE_RATE_LIMIT": "0"}
    with running_server(tmp_path_factory.mktemp("marketplace"), env=env) as started:
        yield started


@pytest.fixture(scope="module")
def key(server: Server) -> Key:
    return a_key(server)


@pytest.fixture
def base_url(server: Server) -> str:
    return server.base_url


@pytest.fixture(autouse=True)
def full_buckets() -> None:
    """These servers have their own files."""


# --- A response that is lost --------------------------------------------------------------------------------


def lose_next(base_url: str, key: Key, operation: str, times: int = 1) -> None:
    fault = {"kind": "lost_response", "operation": operation, "times": times}
    assert control(base_url, key, "SetFaults", Faults=[fault]).status == 200


def hits_called(client: Any, title: str) -> list[str]:
    pages = client.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 100})
    return [hit["HITId"] for page in pages for hit in page["HITs"] if hit["Title"] == title]


def test_a_client_that_does_not_try_again_gets_no_result(base_url: str, key: Key) -> None:
    lose_next(base_url, key, "CreateHIT")
    client = boto3_client(base_url, key, attempts=1)

    with pytest.raises((BotoCoreError, OSError)):
        client.create_hit(**{**TYPE, "Title": "Lost once"}, **WORK, UniqueRequestToken="lost-once")

    assert len(hits_called(client, "Lost once")) == 1


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_with_a_token_a_lost_response_leaves_exactly_one_hit(base_url: str, key: Key, mode: str) -> None:
    """boto3 tries again by itself, and the answer names the HIT of the first try, as Amazon's documentation says."""
    client, title = boto3_client(base_url, key, attempts=4, mode=mode), f"Lost in {mode} mode"
    lose_next(base_url, key, "CreateHIT")

    with pytest.raises(ClientError) as refused:
        client.create_hit(**{**TYPE, "Title": title}, **WORK, UniqueRequestToken=mode)

    (hit_id,) = hits_called(client, title)
    assert refused.value.response["TurkErrorCode"] == "AWS.MechanicalTurk.HitAlreadyExists"
    assert hit_id in refused.value.response["Error"]["Message"]
    assert refused.value.response["ResponseMetadata"]["RetryAttempts"] == 1


def test_without_a_token_a_lost_response_leaves_two(base_url: str, key: Key) -> None:
    """This is why there are tokens. It also shows that the fault loses only the response."""
    client = boto3_client(base_url, key, attempts=4)
    lose_next(base_url, key, "CreateHIT")

    made = client.create_hit(**{**TYPE, "Title": "Twice"}, **WORK)["HIT"]["HITId"]

    found = hits_called(client, "Twice")
    assert len(found) == 2
    assert made in found


def test_a_server_continues_after_lost_responses(server: Server, base_url: str, key: Key) -> None:
    lose_next(base_url, key, "GetAccountBalance", times=12)  # more than it has threads
    for _ in range(12):
        with pytest.raises((BotoCoreError, OSError)):
            boto3_client(base_url, key, attempts=1).get_account_balance()

    assert boto3_client(base_url, key).get_account_balance()["AvailableBalance"]
    assert "Traceback" not in server.said().rpartition("HITServer is ready")[2]


# --- Processes that count together --------------------------------------------------------------------------


def balance_of(base_url: str, key: Key) -> int:
    return call(base_url, key, "GetAccountBalance").status


def assert_limited(server: Server) -> None:
    """Forty requests at once to two processes: five tokens, and one a second."""
    key = a_key(server)
    begin = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: balance_of(server.base_url, key), range(40)))
    seconds = time.monotonic() - begin

    assert set(statuses) == {200, 400}
    assert 5 <= statuses.count(200) <= 5 + seconds + 1


LIMITED = {**MARKETPLACE, "HITSERVER_MARKETPLACE_RATE_LIMIT": "1", "HITSERVER_MARKETPLACE_RATE_BURST": "5"}


def test_web_processes_count_together(live_processes: Callable[..., Server]) -> None:
    assert_limited(live_processes(env=LIMITED))


@pytest.mark.redis
def test_web_processes_count_together_in_redis(live_processes: Callable[..., Server], redis_url: str) -> None:
    server = live_processes(env={**LIMITED, "CELERY_BROKER_URL": redis_url})

    assert_limited(server)

    assert not list(Path(server.var).glob("marketplace-buckets/*"))


# --- HTTP that is wrong on purpose --------------------------------------------------------------------------


def exchange(base_url: str, lines: list[str], body: bytes = b"{}") -> tuple[int, Any]:
    """The status and the JSON of the answer to a request that is written as it stands."""
    where = urlsplit(base_url)
    request = "\r\n".join([*lines, "Connection: close", "", ""]).encode() + body
    with socket.create_connection((where.hostname, where.port), timeout=10) as connection:
        connection.sendall(request)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    head, _, content = answer.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    return status, json.loads(content) if b"application/x-amz-json-1.1" in head else content


def as_lines(headers: dict[str, str], *, without: str = "") -> list[str]:
    return [f"{name}: {value}" for name, value in headers.items() if name.lower() != without.lower()]


@pytest.fixture
def signed(base_url: str, key: Key) -> dict[str, str]:
    headers = signed_headers(base_url, key, b"{}", target=BALANCE)
    return {"Host": urlsplit(base_url).netloc, "Content-Length": "2", **headers}


def test_a_request_written_by_hand_is_answered(base_url: str, signed: dict[str, str]) -> None:
    status, answer = exchange(base_url, [f"POST {PATH} HTTP/1.1", *as_lines(signed)])

    assert (status, list(answer)) == (200, ["AvailableBalance", "OnHoldBalance"])


@pytest.mark.parametrize("name", ["X-Amz-Target", "X-Amz-Date", "Authorization"])
@pytest.mark.parametrize("first", [True, False])
def test_a_second_header_of_a_name_is_refused(base_url: str, signed: dict[str, str], name: str, first: bool) -> None:
    extra = f"{name}: MTurkRequesterServiceV20170117.DeleteHIT"
    lines = as_lines(signed)

    status, answer = exchange(base_url, [f"POST {PATH} HTTP/1.1", *([extra, *lines] if first else [*lines, extra])])

    assert status == 400, answer


def test_a_header_with_underscores_does_not_stand_for_one_with_hyphens(base_url: str, signed: dict[str, str]) -> None:
    """It would be WSGI's name for both; gunicorn drops it."""
    extra = "X_Amz_Target: MTurkRequesterServiceV20170117.DeleteHIT"

    added, _ = exchange(base_url, [f"POST {PATH} HTTP/1.1", extra, *as_lines(signed)])
    instead, answer = exchange(base_url, [f"POST {PATH} HTTP/1.1", extra, *as_lines(signed, without="X-Amz-Target")])

    assert added == 200
    assert (instead, answer["__type"]) == (400, "InvalidSignatureException")


@pytest.mark.parametrize("target", [PATH + "?X-Amz-Target=a", "/x/.." + PATH, "//marketplace/api/", PATH + "%2e"])
def test_another_way_to_write_the_address_is_not_what_was_signed(
    base_url: str, signed: dict[str, str], target: str
) -> None:
    status, _ = exchange(base_url, [f"POST {target} HTTP/1.1", *as_lines(signed)])

    assert status in (400, 403, 404)


def test_a_signature_in_the_query_does_not_count(base_url: str, signed: dict[str, str]) -> None:
    query = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=a&X-Amz-Signature=b"

    status, answer = exchange(base_url, [f"POST {PATH}?{query} HTTP/1.1", *as_lines(signed, without="Authorization")])

    assert (status, answer["__type"]) == (400, "MissingAuthenticationTokenException")


def test_a_body_in_chunks_is_asked_for_with_its_length(base_url: str, signed: dict[str, str]) -> None:
    lines = [f"POST {PATH} HTTP/1.1", *as_lines(signed, without="Content-Length"), "Transfer-Encoding: chunked"]

    status, answer = exchange(base_url, lines, b"2\r\n{}\r\n0\r\n\r\n")

    assert status == 411
    assert b"send a Content-Length, not chunks" in answer  # in plain text: no view has seen the request


def test_two_lengths_are_refused(base_url: str, signed: dict[str, str]) -> None:
    lines = [f"POST {PATH} HTTP/1.1", *as_lines(signed), "Transfer-Encoding: chunked"]

    status, _ = exchange(base_url, lines, b"2\r\n{}\r\n0\r\n\r\n")

    assert status == 411


def test_another_host_name_is_refused_in_the_shape_of_the_api(base_url: str, signed: dict[str, str]) -> None:
    status, answer = exchange(
        base_url, [f"POST {PATH} HTTP/1.1", "Host: elsewhere.example", *as_lines(signed, without="Host")]
    )

    assert (status, answer["__type"]) == (400, "InvalidHostException")


def test_more_than_anything_could_need_is_refused_before_it_is_read(base_url: str, signed: dict[str, str]) -> None:
    lines = [f"POST {PATH} HTTP/1.1", "Content-Length: 99000000", *as_lines(signed, without="Content-Length")]

    status, answer = exchange(base_url, lines, b"")

    assert status == 413
    assert b"too much to send" in answer
