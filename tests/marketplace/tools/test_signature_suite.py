"""The cases of AWS's Signature Version 4 test suite that this endpoint can receive.

The suite (aws-sig-v4-test-suite; now in awslabs/aws-c-auth under tests/aws-signing-test-suite/v4) gives each request
and the Authorization header that belongs to it: key, secret, time and scope are the same in all cases. Names are the
suite's. Left out are those with session tokens, which are refused here; those in which a header occurs twice or spans
several lines, because no HTTP server passes these on unchanged; and those whose path must be normalised or is escaped
only once.
"""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from marketplace.wire import sigv4
from marketplace.wire.errors import AuthenticationError

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
NOW = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
SCOPE = "AKIDEXAMPLE/20150830/us-east-1/service/aws4_request"
UNRESERVED = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
FORM = "application/x-www-form-urlencoded"

# name, method, path, query, further headers, body, signature
SUITE: list[tuple[str, str, str, str, dict[str, str], str, str]] = [
    ("get-vanilla", "GET", "/", "", {}, "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    ("post-vanilla", "POST", "/", "", {}, "", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    (
        *("post-vanilla-query", "POST", "/", "Param1=value1", {}, ""),
        "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11",
    ),
    (
        *("get-vanilla-query-order-key-case", "GET", "/", "Param2=value2&Param1=value1", {}, ""),
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ),
    (
        *("get-header-value-trim", "GET", "/", "", {"my-header1": " value1", "my-header2": ' "a   b   c"'}, ""),
        "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
    ),
    (
        *("get-header-key-duplicate", "GET", "/", "", {"my-header1": "value2,value2,value1"}, ""),
        "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
    ),
    (
        *("get-header-value-order", "GET", "/", "", {"my-header1": "value4,value1,value3,value2"}, ""),
        "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01",
    ),
    (
        *("get-unreserved", "GET", f"/{UNRESERVED}", "", {}, ""),
        "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
    ),
    (
        *("post-header-key-sort", "POST", "/", "", {"my-header1": "value1"}, ""),
        "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
    ),
    (
        *("post-header-value-case", "POST", "/", "", {"my-header1": "VALUE1"}, ""),
        "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
    ),
    (
        *("post-x-www-form-urlencoded", "POST", "/", "", {"content-type": FORM}, "Param1=value1"),
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    ),
    (
        "post-x-www-form-urlencoded-parameters",
        *("POST", "/", "", {"content-type": f"{FORM}; charset=utf8"}, "Param1=value1"),
        "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe",
    ),
]
CASES = pytest.mark.parametrize(
    ("method", "path", "query", "headers", "body", "signature"),
    [pytest.param(*case[1:], id=case[0]) for case in SUITE],
)


def request_of(method: str, path: str, query: str, headers: dict[str, str], body: str, signature: str) -> sigv4.Request:
    sent = {"host": "example.amazonaws.com", "x-amz-date": "20150830T123600Z", **headers}
    signed = ";".join(sorted(sent))
    authorization = f"AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders={signed}, Signature={signature}"
    return sigv4.Request(method, path, query, {**sent, "authorization": authorization}, body.encode())


def verify(request: sigv4.Request) -> None:
    claim = sigv4.read_claim(request)
    sigv4.check_claim(claim, request, now=NOW, region="us-east-1", service="service")
    sigv4.verify(claim, request, secret=SECRET)


@CASES
def test_the_published_signature_is_right(
    method: str, path: str, query: str, headers: dict[str, str], body: str, signature: str
) -> None:
    verify(request_of(method, path, query, headers, body, signature))


@CASES
def test_it_is_right_for_nothing_else(
    method: str, path: str, query: str, headers: dict[str, str], body: str, signature: str
) -> None:
    request = request_of(method, path, query, headers, body, signature)

    with pytest.raises(AuthenticationError, match="does not match"):
        verify(replace(request, body=b"Param1=value2"))
    with pytest.raises(AuthenticationError, match="does not match"):
        verify(replace(request, query="Param1=value2"))
