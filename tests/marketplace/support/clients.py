"""Clients of the endpoint: boto3, and single requests made by hand that may be wrong on purpose."""

import json
import urllib.request
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.error import HTTPError

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from marketplace.wire import service
from tests.marketplace.support import in_process

PATH = "/marketplace/api/"
REGION = "us-east-1"


@dataclass(frozen=True)
class Key:
    """An access key with its secret, as its owner has it."""

    access_key_id: str
    secret: str


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@cache
def _session() -> Any:
    """One for all: each reads the service model anew."""
    return boto3.session.Session()


def boto3_client(
    base_url: str,
    key: Key,
    *,
    attempts: int = 1,
    region: str = REGION,
    mode: str = "standard",
    path: str = PATH,
    read_seconds: int = 20,
) -> Any:
    client = _session().client(
        "mturk",
        endpoint_url=base_url + path,
        region_name=region,
        aws_access_key_id=key.access_key_id,
        aws_secret_access_key=key.secret,
        config=Config(retries={"total_max_attempts": attempts, "mode": mode}, read_timeout=read_seconds),
    )
    if base_url == in_process.ADDRESS:
        client.meta.events.register("before-send.mturk.*", in_process.send_in_process)
    return client


def signed_headers(
    base_url: str,
    key: Key,
    body: bytes,
    *,
    target: str,
    region: str = REGION,
    signing_name: str | None = None,
    extra: dict[str, str] | None = None,
) -> dict[str, str]:
    """The headers of a request, signed by botocore."""
    headers = {"X-Amz-Target": target, "Content-Type": service.content_type(), **(extra or {})}
    request = AWSRequest(method="POST", url=base_url + PATH, data=body, headers=headers)
    credentials = Credentials(key.access_key_id, key.secret)
    SigV4Auth(credentials, signing_name or service.signing_name(), region).add_auth(request)
    return {name: str(value) for name, value in request.headers.items()}


def send(base_url: str, body: bytes, headers: dict[str, str], *, method: str = "POST") -> Answer:
    if base_url == in_process.ADDRESS:
        response = in_process.answer(method, PATH, body, headers)
        return Answer(response.status_code, dict(response.headers), response.content)
    data = body if method == "POST" else None
    request = urllib.request.Request(base_url + PATH, data=data, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return Answer(response.status, dict(response.headers.items()), response.read())
    except HTTPError as error:
        with error:
            return Answer(error.code, dict(error.headers.items()), error.read())


def call(base_url: str, key: Key, operation: str, body: bytes | dict[str, Any] = b"{}", **options: Any) -> Answer:
    """One signed request with this body, whatever is in it."""
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    target = options.pop("target", f"{service.model().metadata['targetPrefix']}.{operation}")
    return send(base_url, data, signed_headers(base_url, key, data, target=target, **options))


def control(base_url: str, key: Key, order: str, **body: Any) -> Answer:
    """An order to the test controls: SetFaults, SetClock, GetClock."""
    return call(base_url, key, "", body, target=f"MarketplaceTestControls.{order}")
