"""The Requester API through boto3, with errors sorted by what people can do about them.

When the endpoint asks for it (ThrottlingException), botocore's adaptive mode slows requests down and repeats them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings

from annotation.platforms.base import PlatformTrouble
from annotation.platforms.pacing import wait_for_turn

_IN_QUOTES = re.compile(r'HIT with ID "([^"]+)"')


@dataclass(frozen=True, slots=True)
class Account:
    """The endpoint, and the credentials to use there."""

    endpoint: str
    region: str
    access_key_id: str
    secret: str

    @classmethod
    def from_settings(cls) -> Account:
        """Raises PlatformTrouble if there is no key."""
        account = cls(
            settings.MTURK_ENDPOINT,
            settings.MTURK_REGION,
            settings.MTURK_ACCESS_KEY_ID,
            settings.MTURK_SECRET_ACCESS_KEY,
        )
        if not (account.access_key_id and account.secret):
            raise PlatformTrouble(
                f"There is no key for {account.endpoint}.",
                "Set HITSERVER_MTURK_ACCESS_KEY_ID and HITSERVER_MTURK_SECRET_ACCESS_KEY; for this server's own "
                "marketplace make one: manage.py marketplace make-key NAME",
            )
        return account


def client_for(account: Account) -> Any:
    """The boto3 client, made once for each account."""
    return _client(account)


def call(client: Any, operation: str, params: dict[str, Any]) -> dict[str, Any]:
    """Call one operation by its boto3 name, such as ``create_hit_type``. Raises PlatformTrouble."""
    from botocore.exceptions import BotoCoreError, ClientError

    wait_for_turn("mturk", settings.MTURK_CALLS_PER_SECOND)
    try:
        answer: dict[str, Any] = getattr(client, operation)(**params)
    except ClientError as error:
        raise _sorted(error) from error
    except BotoCoreError as error:
        raise _unreachable(error, client.meta.endpoint_url) from error
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    if "json" not in headers.get("content-type", "json"):  # such as a sign-in page: botocore would find an empty answer
        raise _no_api(client.meta.endpoint_url, headers["content-type"])
    return answer


@lru_cache(maxsize=8)
def _client(account: Account) -> Any:
    import boto3
    from botocore.config import Config

    config = Config(
        retries={"mode": "adaptive", "total_max_attempts": settings.MTURK_ATTEMPTS},
        connect_timeout=10,
        read_timeout=60,
    )
    return boto3.session.Session().client(
        "mturk",
        endpoint_url=account.endpoint,
        region_name=account.region,
        aws_access_key_id=account.access_key_id,
        aws_secret_access_key=account.secret,
        config=config,
    )


#: What a person can do, by a part of the error code in brackets at the end of a message.
_FIXES = {
    "InsufficientFunds": "Add money to the account, then publish again: it continues where it stopped.",
    "AccessKeyDoesNotExist": "Check HITSERVER_MTURK_ACCESS_KEY_ID.",
    "SignatureDoesNotMatch": "Check HITSERVER_MTURK_SECRET_ACCESS_KEY and this machine's clock.",
    "RequestExpired": "Set this machine's clock.",
    "UnrecognizedClient": "Check HITSERVER_MTURK_ACCESS_KEY_ID and HITSERVER_MTURK_SECRET_ACCESS_KEY.",
    "InvalidSignature": "Check HITSERVER_MTURK_SECRET_ACCESS_KEY and this machine's clock.",
}


def _sorted(error: Any) -> PlatformTrouble:
    about = error.response.get("Error", {})
    name, message = str(about.get("Code", "")), str(about.get("Message", "")) or str(error)
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    found = re.findall(r"AWS(?:\.[A-Za-z]+)+", message)
    code = found[-1].rpartition(".")[2] if found else name
    again = status >= 500 or "Throttl" in name or name == "RequestThrottled"
    if message.lstrip().startswith("<"):
        return _no_api("", "a web page")
    fix = next((fix for part, fix in _FIXES.items() if part in message or part in name), "")
    hit = _IN_QUOTES.search(message)
    return PlatformTrouble(
        f"The platform answered: {message[:500]}", fix, again=again, code=code, about=hit[1] if hit else ""
    )


def _no_api(endpoint: str, kind: str) -> PlatformTrouble:
    what = f"{endpoint or settings.MTURK_ENDPOINT} answered with {kind[:60]}, not as the Requester API does."
    fix = "Check HITSERVER_MTURK_ENDPOINT, and that no proxy or sign-in page is in between. Then try again."
    return PlatformTrouble(what, fix, again=True)


def _unreachable(error: Exception, endpoint: str) -> PlatformTrouble:
    what = f"{endpoint} did not answer as the Requester API does: {str(error)[:200]}"
    fix = "Check HITSERVER_MTURK_ENDPOINT and that a server runs there. Publish again: it continues where it stopped."
    return PlatformTrouble(what, fix, again=True)
