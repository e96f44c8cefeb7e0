"""What the client sends, when it sends it again, and what it makes of the answers."""

from pathlib import Path

import httpx
import pytest

from hitserver_client import (
    Conflict,
    HitserverError,
    NotAllowed,
    NotFound,
    NotSignedIn,
    ProblemError,
    Refused,
    ServerFailed,
    TooManyRequests,
    Unreachable,
)
from hitserver_client.errors import problem_of
from hitserver_client.retrying import TRIES
from tests.client.support.server import TOKEN, URL, BrokenStream, Server, Slept, ok, problem

GONE = httpx.ConnectError("Connection refused")


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> Slept:
    """The seconds that the client would have waited."""
    seconds: Slept = []
    monkeypatch.setattr("hitserver_client._sync.transport.sleep", seconds.append)
    return seconds


def test_a_request_has_the_token_and_asks_for_json() -> None:
    server = Server(ok({"results": [], "next": None}))
    server.client().studies()
    [request] = server.requests
    assert str(request.url) == f"{URL}/api/v1/studies/?limit=1000"
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert "idempotency-key" not in request.headers


def test_a_write_is_repeated_with_the_same_key_when_the_connection_breaks(slept: Slept) -> None:
    server = Server(GONE, httpx.ReadTimeout("no answer"), ok({"results": 1}))
    server.client().transport.post("studies/", {})
    assert len(server.requests) == 3 and len(server.write_keys()) == 1 and None not in server.write_keys()
    assert len(slept) == 2


def test_two_writes_have_two_keys() -> None:
    server = Server(ok({}))
    server.client().transport.post("studies/", {})
    server.client().transport.post("studies/", {})
    assert len(server.write_keys()) == 2


def test_a_write_can_be_repeated_later_with_its_own_key() -> None:
    server = Server(ok({}))
    server.client().transport.post("studies/", {}, key="november")
    assert server.write_keys() == {"november"}


def test_what_a_proxy_answers_while_the_server_restarts_is_tried_again(slept: Slept) -> None:
    server = Server(httpx.Response(502, text="Bad gateway"), httpx.Response(503), ok({"title": "Mine"}))
    assert server.client().transport.get("studies/mine/") == {"title": "Mine"}


def test_a_refusal_by_a_platform_is_not_tried_again(slept: Slept) -> None:
    server = Server(problem(502, "The platform refused the key."))
    with pytest.raises(ServerFailed, match="refused the key"):
        server.client().transport.post("studies/mine/publish/", {})
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [409, 429, 503])
def test_the_client_waits_as_long_as_the_server_asks(status: int, slept: Slept) -> None:
    server = Server(problem(status, retry_after="7"), ok({}))
    server.client().transport.post("studies/", {})
    assert slept == [7.0] and len(server.write_keys()) == 1


def test_a_conflict_without_a_time_to_wait_is_final() -> None:
    server = Server(problem(409, "The study is closed."))
    with pytest.raises(Conflict, match="The study is closed"):
        server.client().transport.post("studies/mine/launch/")


def test_an_hour_is_longer_than_the_client_waits() -> None:
    server = Server(problem(429, "Wait an hour.", retry_after="3600"))
    with pytest.raises(TooManyRequests, match="Wait an hour"):
        server.client().studies()


def test_a_server_that_never_answers_is_named_with_the_reason(slept: Slept) -> None:
    server = Server(GONE)
    with pytest.raises(Unreachable, match=r"hits\.example\.org does not answer: Connection refused"):
        server.client().studies()
    assert len(server.requests) == TRIES


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, NotSignedIn), (403, NotAllowed), (404, NotFound), (409, Conflict), (422, Refused), (500, ServerFailed)],
)
def test_each_refusal_is_an_error_of_its_own(status: int, kind: type[ProblemError]) -> None:
    with pytest.raises(kind):
        Server(problem(status)).client().studies()


def test_an_error_lists_every_reason_with_its_place_and_its_fix() -> None:
    errors = [
        {"field": "items", "row": 3, "column": "text", "reason": "The cell is empty.", "fix": "Write a text."},
        {"field": "reward", "reason": "It is negative.", "fix": "Write 0 or more.", "row": None, "column": None},
    ]
    error = problem_of(422, {"title": "Refused", "detail": "2 problems.", "errors": errors})
    assert str(error).splitlines() == [
        "2 problems.",
        "  items, row 3, column text: The cell is empty. Write a text.",
        "  reward: It is negative. Write 0 or more.",
    ]
    assert error.errors[0].row == 3


def test_a_single_reason_is_written_once_with_its_place() -> None:
    reason = {"field": "reward", "reason": "It is negative.", "fix": "Write 0."}
    error = problem_of(422, {"detail": "It is negative. Write 0.", "errors": [reason]})
    assert str(error) == "reward: It is negative. Write 0."


def test_an_answer_from_something_else_says_so() -> None:
    server = Server(httpx.Response(404, html="<h1>Not here</h1>"))
    with pytest.raises(NotFound, match=r"not from a HITServer API. Check the address"):
        server.client().studies()


def test_lists_are_read_page_by_page_as_they_are_needed() -> None:
    address = f"{URL}/api/v1/studies/mine/ratings/?cursor=abc"
    server = Server(ok({"results": [{"value": 1}, {"value": 2}], "next": address}), ok({"results": [], "next": None}))
    rows = server.client().transport.rows("studies/mine/ratings/", limit=2)
    assert next(rows) == {"value": 1} and len(server.requests) == 1
    assert [row["value"] for row in rows] == [2]
    assert str(server.requests[1].url) == address


def test_a_download_that_breaks_starts_again_and_leaves_no_half_file(tmp_path: Path, slept: Slept) -> None:
    server = Server(httpx.Response(200, stream=BrokenStream()), httpx.Response(200, content=b"a whole file"))
    target = server.client().transport.download("file", tmp_path / "long.csv", progress=False)
    assert target.read_bytes() == b"a whole file"
    assert list(tmp_path.iterdir()) == [target]


def test_a_refused_download_keeps_the_earlier_file(tmp_path: Path) -> None:
    target = tmp_path / "long.csv"
    target.write_text("earlier", encoding="utf-8")
    with pytest.raises(NotAllowed, match="Owners only"):
        Server(problem(403, "Owners only.")).client().transport.download("file", target, progress=False)
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["earlier"]


def test_an_uploaded_file_is_sent_whole_at_every_try(tmp_path: Path, slept: Slept) -> None:
    file = tmp_path / "items.csv"
    file.write_text("id,text\n1,One\n", encoding="utf-8")
    study = {"slug": "mine", "submitted": 0, "wanted": 0}
    answer = {"items": 1, "dry_run": False, "left_out": 0, "warnings": [], "suggestion": ""}
    server = Server(ok(study), httpx.Response(503), ok(answer))
    uploaded = server.client().study("mine").upload(file, mapping={"output": "text"}, encoding="utf-8")
    assert uploaded["items"] == 1
    for request in server.requests[1:]:
        assert b"id,text\n1,One\n" in request.content and b'{"output": "text"}' in request.content


def test_a_missing_file_is_named_before_anything_is_sent(tmp_path: Path) -> None:
    server = Server(ok({"slug": "mine"}))
    study = server.client().study("mine")
    with pytest.raises(HitserverError, match="There is no file"):
        study.upload(tmp_path / "items.csv")
    assert len(server.requests) == 1
