"""Wrong keys, wrong addresses, answers that come from no API: the commands say what to do, and nothing is lost."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import botocore.auth
import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection

from annotation.models import OutsideAssignment, Payment, PlatformCall, Posting, Study
from annotation.platforms.mturk import api as api_module
from annotation.platforms.mturk.platform import Mturk
from marketplace.models import Hit as MarketHit
from marketplace.models import Requester
from marketplace.services.accounts import requester_accounts
from tests.annotation.recruiting.helpers import send_both
from tests.factories import make_study
from tests.services import free_port

pytestmark = pytest.mark.django_db(transaction=True)
HTML = b"<!doctype html><html><title>Welcome</title><h1>Welcome to our proxy</h1></html>"


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("study", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def refusal(*arguments: str) -> str:
    """What the command says when it cannot continue. Any other exception would reach the user as a stack trace."""
    with pytest.raises(CommandError) as refused:
        run(*arguments)
    assert "Traceback" not in str(refused.value)
    return str(refused.value)


@contextmanager
def answering(status: int, body: bytes, **headers: str) -> Iterator[str]:
    """The address of a server that answers everything like this."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            for name, value in {"Content-Type": "text/html", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/api/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def study(db: None, settings: Any) -> Iterator[Study]:
    settings.MTURK_ATTEMPTS = 1
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = "AKIAWRONG0000000", "wrong"
    yield make_study(items=2, ratings_per_item=2, live=False, reward="0.18", slug="weather")
    api_module.client_for.cache_clear()


@pytest.fixture
def at_marketplace(live_server: Any, settings: Any, requester: Requester) -> Requester:
    """The right endpoint and key."""
    made = requester_accounts.create_access_key(requester=requester, actor="test")
    settings.MTURK_ENDPOINT = f"{live_server.url}/marketplace/api/"
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = made.key.access_key_id, made.secret
    return requester


def nothing_happened() -> bool:
    postings = Posting.objects.exclude(state="planned").count()
    return (postings, MarketHit.objects.count(), PlatformCall.objects.filter(state="done").count()) == (0, 0, 0)


PUBLISH = ("publish", "weather", "--platform", "mturk")


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (200, HTML, {}),
        (404, HTML, {}),
        (403, HTML, {}),
        (502, HTML, {}),
        (302, b"", {"Location": "http://127.0.0.1:1/login"}),
        (200, b"{}", {"Content-Type": "application/x-amz-json-1.1"}),
        (200, b'{"HITTypeId": ', {"Content-Type": "application/x-amz-json-1.1"}),
        (200, b'["no", "object"]', {"Content-Type": "application/x-amz-json-1.1"}),
    ],
    ids=["page", "404", "403", "502", "redirect", "empty", "half", "list"],
)
def test_an_address_that_is_not_an_endpoint(
    study: Study, settings: Any, status: int, body: bytes, headers: dict[str, str]
) -> None:
    with answering(status, body, **headers) as address:
        settings.MTURK_ENDPOINT = address
        said = refusal(*PUBLISH)
    assert "HITSERVER_MTURK_ENDPOINT" in said
    assert "<" not in said
    assert nothing_happened()


def test_an_endpoint_without_a_server_is_reported(study: Study, settings: Any) -> None:
    settings.MTURK_ENDPOINT = f"http://127.0.0.1:{free_port()}/"
    said = refusal(*PUBLISH)
    assert settings.MTURK_ENDPOINT in said
    assert "HITSERVER_MTURK_ENDPOINT" in said
    assert nothing_happened()


def test_the_endpoint_is_not_asked_for_its_fees_inside_a_transaction(
    study: Study, at_marketplace: Requester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An endpoint on the same database would wait for the transaction that waits for its answer."""
    cache.clear()
    inside: list[bool] = []
    ask = Mturk._account

    def noting(platform: Mturk) -> Any:
        inside.append(connection.in_atomic_block)
        return ask(platform)

    monkeypatch.setattr(Mturk, "_account", noting)
    run(*PUBLISH)
    assert inside and not any(inside)


def test_a_wrong_key_and_a_wrong_secret(study: Study, at_marketplace: Requester, settings: Any) -> None:
    right = settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY
    settings.MTURK_ACCESS_KEY_ID = "AKIAWRONG0000000"
    assert "Check HITSERVER_MTURK_ACCESS_KEY_ID" in refusal(*PUBLISH)
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = right[0], "wrong"
    said = refusal(*PUBLISH)
    assert "Check HITSERVER_MTURK_SECRET_ACCESS_KEY" in said
    assert "wrong" not in said  # the secret itself
    assert nothing_happened()
    settings.MTURK_SECRET_ACCESS_KEY = right[1]
    assert "the platform has 2 of 2 HITs" in run(*PUBLISH)


def test_a_clock_that_is_wrong(study: Study, at_marketplace: Requester, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as skewed:
        skewed.setattr(
            botocore.auth,
            "get_current_datetime",
            lambda remove_tzinfo=True: _now(remove_tzinfo=remove_tzinfo) - timedelta(hours=2),
        )
        assert "this machine's clock" in refusal(*PUBLISH)
        assert nothing_happened()
    assert "the platform has 2 of 2 HITs" in run(*PUBLISH)


def _now(*, remove_tzinfo: bool) -> datetime:
    return datetime.now(UTC).replace(tzinfo=None) if remove_tzinfo else datetime.now(UTC)


@pytest.mark.parametrize("action", ["sync", "approve", "end"])
def test_a_web_page_instead_of_an_answer_pays_and_ends_nothing(
    study: Study, at_marketplace: Requester, settings: Any, action: str
) -> None:
    run(*PUBLISH, "--set", "lifetime_days=2")
    send_both(Posting.objects.order_by("pk")[0])
    assert "1 new or changed" in run("sync", "weather")
    there = settings.MTURK_ENDPOINT
    with answering(200, HTML) as address:
        settings.MTURK_ENDPOINT = address
        assert "HITSERVER_MTURK_ENDPOINT" in refusal(action, "weather")
    assert OutsideAssignment.objects.get().state == "submitted"
    assert not Payment.objects.exists()
    assert set(Posting.objects.values_list("state", flat=True)) == {"open"}
    settings.MTURK_ENDPOINT = there
    assert "Approved: 1, $0.18." in run("approve", "weather")
    assert "2 HITs ended." in run("end", "weather")


def test_the_key_of_another_requester(study: Study, at_marketplace: Requester, settings: Any) -> None:
    run(*PUBLISH)
    other = requester_accounts.create_requester(name="Stranger", email="s@example.org", actor="test")
    made = requester_accounts.create_access_key(requester=other, actor="test")
    right = settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = made.key.access_key_id, made.secret
    said = run("sync", "weather")
    assert "2 HITs no longer on the platform: deleted there, or the key is another requester's" in said
    assert {each.state for each in Posting.objects.all()} == {"deleted"}
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = right
    assert "no longer" not in run("sync", "weather")
    assert {each.state for each in Posting.objects.all()} == {"open"}


def test_a_hit_that_was_deleted_elsewhere(study: Study, at_marketplace: Requester) -> None:
    run(*PUBLISH)
    first, _ = Posting.objects.order_by("pk")
    Posting.objects.filter(pk=first.pk).update(external_id="3NOSUCHHITATALL0000000000000")
    said = run("sync", "weather")
    assert "1 HIT no longer on the platform" in said
    assert [each.state for each in Posting.objects.order_by("pk")] == ["deleted", "open"]
    assert "1 HIT ended." in run("end", "weather")
