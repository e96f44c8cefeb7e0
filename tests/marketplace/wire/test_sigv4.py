"""Signatures against the examples that AWS publishes, and everything about a request that must make one fail."""

import hmac
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import example, given, settings
from hypothesis import strategies as st

from marketplace.wire import sigv4
from marketplace.wire.errors import AuthenticationError

# The signature test suite of AWS: key, secret, time and scope are the same in all its cases.
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
NOW = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
HEADERS = {"host": "example.amazonaws.com", "x-amz-date": "20150830T123600Z"}
CREDENTIAL = "AKIDEXAMPLE/20150830/us-east-1/service/aws4_request"
GET_VANILLA = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
POST_VANILLA = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
GET_VANILLA_QUERY_ORDER = "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"


def a_request(
    *, method: str = "POST", query: str = "", signature: str = POST_VANILLA, signed: str = "host;x-amz-date"
) -> sigv4.Request:
    authorization = f"AWS4-HMAC-SHA256 Credential={CREDENTIAL}, SignedHeaders={signed}, Signature={signature}"
    headers = {**HEADERS, "authorization": authorization}
    return sigv4.Request(method=method, path="/", query=query, headers=headers, body=b"")


def verify(request: sigv4.Request, *, now: datetime = NOW, region: str = "us-east-1", secret: str = SECRET) -> None:
    claim = sigv4.read_claim(request)
    sigv4.check_claim(claim, request, now=now, region=region, service="service")
    sigv4.verify(claim, request, secret=secret)


def with_headers(request: sigv4.Request, **changes: str | None) -> sigv4.Request:
    headers = {**request.headers, **{name.replace("_", "-"): value for name, value in changes.items()}}
    return replace(request, headers={name: value for name, value in headers.items() if value is not None})


@pytest.mark.parametrize(
    ("method", "query", "signature"),
    [
        ("GET", "", GET_VANILLA),
        ("POST", "", POST_VANILLA),
        ("GET", "Param2=value2&Param1=value1", GET_VANILLA_QUERY_ORDER),
    ],
)
def test_the_published_examples_verify(method: str, query: str, signature: str) -> None:
    verify(a_request(method=method, query=query, signature=signature))


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (replace(a_request(), body=b"{}"), "InvalidSignatureException"),
        (replace(a_request(), method="GET"), "InvalidSignatureException"),
        (replace(a_request(), path="/other"), "InvalidSignatureException"),
        (replace(a_request(), query="a=b"), "InvalidSignatureException"),
        (with_headers(a_request(), host="elsewhere.example"), "InvalidSignatureException"),
        (a_request(signature="0" * 64), "InvalidSignatureException"),
        (a_request(signature="é"), "InvalidSignatureException"),
        (a_request(signed="x-amz-date"), "InvalidSignatureException"),
        (a_request(signed="host;x-amz-date;x-absent"), "InvalidSignatureException"),
        (with_headers(a_request(), x_amz_target="Service.Other"), "InvalidSignatureException"),
        (with_headers(a_request(), x_amz_content_sha256="UNSIGNED-PAYLOAD"), "InvalidSignatureException"),
        (with_headers(a_request(), x_amz_security_token="t"), "UnrecognizedClientException"),
        (with_headers(a_request(), x_amz_date="20150830T123601Z"), "InvalidSignatureException"),
        (with_headers(a_request(), x_amz_date="20150831T000000Z"), "InvalidSignatureException"),
        (with_headers(a_request(), x_amz_date="20159930T123600Z"), "IncompleteSignatureException"),
        (with_headers(a_request(), x_amz_date="yesterday"), "IncompleteSignatureException"),
        (with_headers(a_request(), x_amz_date=None), "InvalidSignatureException"),
        (with_headers(a_request(), authorization=None), "MissingAuthenticationTokenException"),
        (with_headers(a_request(), authorization="Basic dTpw"), "IncompleteSignatureException"),
        (with_headers(a_request(), authorization="AWS4-HMAC-SHA256"), "IncompleteSignatureException"),
        (with_headers(a_request(), authorization="AWS4-HMAC-SHA256 Credential=a/b"), "IncompleteSignatureException"),
        (
            with_headers(a_request(), authorization="AWS4-HMAC-SHA256 Credential=a/b/c, SignedHeaders=h, Signature=s"),
            "IncompleteSignatureException",
        ),
    ],
)
def test_whatever_differs_from_what_was_signed_is_refused(request_: sigv4.Request, kind: str) -> None:
    with pytest.raises(AuthenticationError) as refused:
        verify(request_)

    assert refused.value.type == kind


def test_another_secret_is_refused() -> None:
    with pytest.raises(AuthenticationError, match="does not match"):
        verify(a_request(), secret=SECRET[:-1] + "Z")


def test_another_region_or_service_is_refused() -> None:
    with pytest.raises(AuthenticationError, match="valid region"):
        verify(a_request(), region="eu-west-1")
    claim = sigv4.read_claim(a_request())
    with pytest.raises(AuthenticationError, match="correct service"):
        sigv4.check_claim(claim, a_request(), now=NOW, region="us-east-1", service="mturk-requester")


@pytest.mark.parametrize("minutes", [-4.9, 4.9])
def test_clocks_may_differ_by_five_minutes(minutes: float) -> None:
    verify(a_request(), now=NOW + timedelta(minutes=minutes))


@pytest.mark.parametrize(("minutes", "says"), [(-5.1, "not yet current"), (5.1, "expired"), (60 * 24 * 365, "expired")])
def test_an_old_request_cannot_be_played_again(minutes: float, says: str) -> None:
    with pytest.raises(AuthenticationError, match=says) as refused:
        verify(a_request(), now=NOW + timedelta(minutes=minutes))

    assert refused.value.type == "InvalidSignatureException"


# --- Against botocore's signer ------------------------------------------------------------------------------

UNRESERVED = "abcXYZ019-._~"
WORDS = st.text(UNRESERVED, min_size=1, max_size=6)
PATHS = st.lists(WORDS.filter(lambda word: word.strip(".")), max_size=3).map(lambda parts: "/" + "/".join(parts))
QUERIES = st.lists(st.tuples(WORDS, WORDS | st.just("")), max_size=4).map(
    lambda pairs: "&".join(f"{name}={value}" for name, value in pairs)
)
VALUES = st.text(" abc,;=/+\t", max_size=20).map(str.strip)


def signed_by_botocore(path: str, query: str, value: str, body: bytes) -> sigv4.Request:
    url = f"https://example.org{path}" + (f"?{query}" if query else "")
    request = AWSRequest(method="POST", url=url, data=body, headers={"X-Amz-Target": "A.B", "X-Other": value})
    SigV4Auth(Credentials("AKIDEXAMPLE", SECRET), "service", "us-east-1").add_auth(request)
    headers = {name.lower(): str(value) for name, value in request.headers.items()} | {"host": "example.org"}
    return sigv4.Request(method="POST", path=path, query=query, headers=headers, body=body)


@settings(max_examples=300, deadline=None)
@given(path=PATHS, query=QUERIES, value=VALUES, body=st.binary(max_size=50))
@example(path="/", query="a-b=1&a=2", value="", body=b"")  # "-" sorts before "=", but "a" before "a-b"
@example(path="/a~b/", query="b&a", value=" two  words\t", body=b"{}")
def test_what_botocore_signs_is_let_in_and_nothing_else(path: str, query: str, value: str, body: bytes) -> None:
    request = signed_by_botocore(path, query, value, body)
    now = datetime.now(UTC)

    verify(request, now=now)

    others = [
        replace(request, body=body + b" "),
        replace(request, path=path + "x"),
        replace(request, query=query + "&zz=1"),
        with_headers(request, x_other=value + "x"),
        with_headers(request, x_amz_target="A.C"),
        replace(request, method="PUT"),
    ]
    for other in others:
        with pytest.raises(AuthenticationError):
            verify(other, now=now)


@pytest.mark.parametrize("name", ["authorization", "x-amz-date", "x-amz-target", "host"])
def test_a_header_given_twice_is_not_the_one_that_was_signed(name: str) -> None:
    """A server joins the values with a comma, whichever of them comes first."""
    request = signed_by_botocore("/", "", "", b"{}")
    value = request.headers[name]

    for doubled in (f"{value},{value}", f"other,{value}", f"{value},other"):
        with pytest.raises(AuthenticationError):
            verify(with_headers(request, **{name: doubled}), now=datetime.now(UTC))


def test_signatures_are_compared_in_constant_time() -> None:
    """By the standard library's function, which takes as long for the first wrong character as for the last."""
    request = a_request(signature="0" * 64)
    comparing = patch("marketplace.wire.sigv4.hmac.compare_digest", wraps=hmac.compare_digest)
    with comparing as compared, pytest.raises(AuthenticationError):
        verify(request)

    assert compared.call_args.args == (POST_VANILLA.encode(), b"0" * 64)
