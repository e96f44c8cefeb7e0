"""The endpoint without a server: requests go straight to Django, inside the test's own transaction."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from django.http import HttpResponse
from django.test import Client

#: What a client takes for the server's address when there is none.
ADDRESS = "http://testserver"


def answer(method: str, path: str, body: bytes, headers: Mapping[str, str]) -> HttpResponse:
    others = {"Host": urlsplit(ADDRESS).netloc}  # as any HTTP library adds it
    others |= {name: value for name, value in headers.items() if name.lower() not in ("content-type", "content-length")}
    content_type = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
    response = Client(raise_request_exception=False).generic(method, path, body, content_type, headers=others)
    assert isinstance(response, HttpResponse)
    return response


def send_in_process(request: AWSPreparedRequest, **_: Any) -> AWSResponse:
    """For boto3's event ``before-send``: what this returns is taken for the server's response."""
    headers = {name: value.decode() if isinstance(value, bytes) else value for name, value in request.headers.items()}
    body = request.body.encode() if isinstance(request.body, str) else bytes(request.body or b"")
    response = answer(request.method, urlsplit(request.url).path, body, headers)
    return AWSResponse(request.url, response.status_code, dict(response.headers), _Raw(response.content))


class _Raw(io.BytesIO):
    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()
