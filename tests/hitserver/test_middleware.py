import json
from collections.abc import Callable

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory, override_settings
from django.views.decorators.clickjacking import xframe_options_exempt

from hitserver.middleware import content_security_policy, policy, upload_limit

View = Callable[[HttpRequest], HttpResponse]


def plain(request: HttpRequest) -> HttpResponse:
    return HttpResponse("x")


@xframe_options_exempt
def frameable(request: HttpRequest) -> HttpResponse:
    return HttpResponse("x")


def with_its_own_policy(request: HttpRequest) -> HttpResponse:
    return HttpResponse("x", headers={"Content-Security-Policy": "sandbox"})


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (plain, policy()),
        (frameable, policy(["https://a.example", "https://b.example"])),
        (with_its_own_policy, "sandbox"),
    ],
)
@override_settings(FRAME_ANCESTORS=["https://a.example", "https://b.example"])
def test_a_response_carries_the_policy_its_view_deserves(view: View, expected: str) -> None:
    response = content_security_policy(view)(RequestFactory().get("/"))

    assert response.headers["Content-Security-Policy"] == expected


def test_nothing_of_others_is_loaded_and_nobody_frames() -> None:
    directives = dict(part.strip().split(" ", 1) for part in policy().split(";"))

    assert directives == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "media-src": "'self'",
        "connect-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }


@override_settings(FRAME_ANCESTORS=[])
def test_a_frameable_view_is_framed_by_nobody_when_no_site_is_listed() -> None:
    response = content_security_policy(frameable)(RequestFactory().get("/"))

    assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]


@pytest.mark.parametrize("address", ["/healthz", "/no-such-page", "/static/no-such-file.js"])
@pytest.mark.django_db
def test_every_page_carries_the_policy(client: Client, address: str) -> None:
    response = client.get(address)

    assert response.headers["Content-Security-Policy"] == policy()
    assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("length", "status"), [("", 200), ("0", 200), ("1000", 200), ("1001", 413), ("-1", 413), ("1e3", 413)]
)
@override_settings(MAX_UPLOAD_BYTES=1000)
def test_a_request_that_is_too_large_is_turned_away_unread(length: str, status: int) -> None:
    request = RequestFactory().generic("POST", "/", b"", CONTENT_LENGTH=length)

    assert upload_limit(plain)(request).status_code == status


@pytest.mark.parametrize(("path", "most"), [("/w/x/", "3 MB"), ("/s/x/", "3 MB"), ("/console/", "64 MB")])
def test_a_request_is_limited_by_what_its_address_is_for(path: str, most: str) -> None:
    request = RequestFactory().generic("POST", path, b"", CONTENT_LENGTH="70000000")
    response = upload_limit(plain)(request)

    assert response.status_code == 413
    assert f"At most {most} can be sent" in response.content.decode()  # type: ignore[attr-defined]
    assert upload_limit(plain)(RequestFactory().generic("POST", path, b"", CONTENT_LENGTH="3145728")).status_code == 200


def test_a_program_reads_in_json_that_its_request_is_too_large() -> None:
    request = RequestFactory().generic("POST", "/api/v1/studies/", b"", CONTENT_LENGTH="70000000")
    response = upload_limit(plain)(request)

    assert (response.status_code, response.headers["Content-Type"]) == (413, "application/problem+json")
    assert json.loads(response.content)["detail"] == (  # type: ignore[attr-defined]
        "At most 64 MB can be sent to this server at once. Send less, such as fewer items."
    )
