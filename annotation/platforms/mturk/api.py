"""The Requester API through boto3, with errors sorted by what people can do about them.

If the endpoint throttles requests (ThrottlingException), botocore's adaptive mode slows them down and repeats them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from annotation.models import PlatformAccount
from annotation.platforms.account_keys import keys_of
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.pacing import wait_for_turn
from common.words import counted

#: Signature Version 4: a request is refused if its time differs by more than five minutes.
MOST_SKEW = 240
#: Codes of a HIT that does not exist.
GONE = ("HITDoesNotExist", "HITNotExist")
#: Codes of refusals whose reason is the HIT itself, so that the same call for another one may succeed.
OF_ONE_HIT = (*GONE, "InvalidHITState", "InvalidMaximumAssignmentsIncrease")


@dataclass(frozen=True, slots=True)
class Account:
    """The endpoint, and the credentials to use there."""

    endpoint: str
    region: str
    access_key_id: str
    secret: str = field(repr=False)

    @classmethod
    def of(cls, account: PlatformAccount | None) -> Account:
        """The account that a user or a team has entered, or the server's own. Raises PlatformTrouble."""
        if account is None:
            return cls.from_settings()
        keys = keys_of(account)
        return cls(account.endpoint, account.region, keys.access_key_id, keys.secret)

    @classmethod
    def from_settings(cls) -> Account:
        """The account in the settings. Raises PlatformTrouble if there is no key."""
        account = cls(
            settings.MTURK_ENDPOINT,
            settings.MTURK_REGION,
            settings.MTURK_ACCESS_KEY_ID,
            settings.MTURK_SECRET_ACCESS_KEY,
        )
        if not (account.access_key_id and account.secret):
            raise PlatformTrouble(
                f"There is no key for {account.endpoint}.",
                "Set HITSERVER_MTURK_ACCESS_KEY_ID and HITSERVER_MTURK_SECRET_ACCESS_KEY. For this server's own "
                "marketplace, make a key with: manage.py marketplace make-key NAME",
            )
        return account


def call(client: Any, operation: str, params: dict[str, Any], account: PlatformAccount | None = None) -> dict[str, Any]:
    """Call one operation by its boto3 name, such as ``create_hit_type``. Raises PlatformTrouble, which says what to
    check: the keys of ``account``, or the settings.

    Only an answer in the API's own format counts. boto3 takes any page with status 200 for an empty answer, so a
    proxy's sign-in page would look as if a HIT was ended or work was paid.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    wait_for_turn(f"mturk-{account.slug}" if account else "mturk", settings.MTURK_CALLS_PER_SECOND)
    make, endpoint = getattr(client, operation), client.meta.endpoint_url
    try:
        answer: dict[str, Any] = make(**params)
    except ClientError as error:
        if not _speaks_the_api(error.response):
            raise _unreachable(f"HTTP status {_status(error.response)}", endpoint, account) from error
        details = error.response.get("Error", {})
        name, message = str(details.get("Code", "")), str(details.get("Message", "")) or str(error)
        in_message = re.findall(r"AWS(?:\.[A-Za-z]+)+", message)
        full_code = str(error.response.get("TurkErrorCode") or (in_message[-1] if in_message else name))
        code = "AlreadyProcessed" if _TOKEN_WORDS.search(message) else full_code.rpartition(".")[2]
        again = _status(error.response) >= 500 or "Throttl" in name or name == "RequestThrottled"
        fix = next((fix for part, fix in _fixes(account).items() if part in message or part in name), "")
        if "clock" in fix and (minutes := _minutes_ahead(error.response)):
            off = f"{counted(abs(minutes), 'minute')} {'fast' if minutes > 0 else 'slow'}"
            fix = f"Set this machine's clock: it is {off}."
        raise PlatformTrouble(
            f"The platform answered: {message[:500]}", fix, again=again, code=code, local=code in OF_ONE_HIT
        ) from error
    except BotoCoreError as error:
        raise _unreachable(str(error), endpoint, account) from error
    except (AttributeError, TypeError) as error:  # boto3, when an answer in JSON is not an object
        raise _unreachable("The answer has a different structure.", endpoint, account) from error
    shape = client.meta.service_model.operation_model(client.meta.method_to_api_mapping[operation]).output_shape
    members = set(shape.members) if shape is not None else set()
    if not _speaks_the_api(answer) or (members and not members & answer.keys()):
        raise _unreachable("The answer is not one of this API.", endpoint, account)
    return answer


def _status(answer: dict[str, Any]) -> int:
    return int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _minutes_ahead(answer: dict[str, Any]) -> int:
    """By how many minutes this machine's clock is ahead of the endpoint's, if a signature can be refused for it."""
    date = str(answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date", ""))
    try:
        seconds = (timezone.now() - parsedate_to_datetime(date)).total_seconds()
    except (ValueError, TypeError):
        return 0
    return round(seconds / 60) if abs(seconds) > MOST_SKEW else 0


def _speaks_the_api(answer: dict[str, Any]) -> bool:
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return str(headers.get("content-type", "")).startswith(("application/x-amz-json", "application/json"))


@lru_cache(maxsize=32)
def client_for(account: Account) -> Any:
    """The boto3 client, made once for each account."""
    return make_client(account, attempts=settings.MTURK_ATTEMPTS)


@sensitive_variables()
def make_client(account: Account, *, attempts: int) -> Any:
    """A new boto3 client, which makes each call so many times before it gives up."""
    import boto3
    from botocore.config import Config

    config = Config(
        retries={"mode": "adaptive", "total_max_attempts": attempts},
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


def _fixes(account: PlatformAccount | None) -> dict[str, str]:
    """What a person can do, by a part of the error code in brackets at the end of a message."""
    key_id, secret = "HITSERVER_MTURK_ACCESS_KEY_ID", "HITSERVER_MTURK_SECRET_ACCESS_KEY"
    if account:
        key_id, secret = f"the access key ID of “{account.title}”", f"the secret access key of “{account.title}”"
    return {
        "InsufficientFunds": "Add money to the account, then do the same again: it continues where it stopped.",
        "AccessKeyDoesNotExist": f"Check {key_id}.",
        "SignatureDoesNotMatch": f"Check {secret} and this machine's clock.",
        "RequestExpired": "Set this machine's clock.",
        "UnrecognizedClient": f"Check {key_id} and {secret}.",
        "InvalidSignature": f"Check {secret} and this machine's clock.",
    }


#: MTurk's sentence about a `UniqueRequestToken` that was used before, seen without a code in Dallinger/Dallinger#3109.
#: Its documentation of SendBonus names no code either: “an error with a message containing the request ID”.
_TOKEN_WORDS = re.compile(r"idempotency token .* has already been processed", re.DOTALL)
#: Parts of the codes with which a request is refused because its token was used before.
TOKEN_USED = ("AlreadyExists", "AlreadyProcessed")


def _unreachable(why: str, endpoint: str, account: PlatformAccount | None) -> PlatformTrouble:
    what = f"{endpoint} did not answer as the Requester API does: {why[:200]}"
    check = "Check this address" if account else "Check HITSERVER_MTURK_ENDPOINT"
    fix = f"{check} and that a server runs there. Then do the same again: it continues where it stopped."
    return PlatformTrouble(what, fix, again=True)
