"""Prolific's webhooks: subscribing, and the check that a notice comes from Prolific.

“Subscribing”: the answer to a new subscription has a header X-Hook-Secret that confirms it. “Verifying”: the signature
is the base64 of an HMAC-SHA256 over the timestamp and the body as they were sent, with the workspace's secret.
“Event Delivery and Retry Logic”: a notice is sent again until it gets a 2xx answer, so it may come twice.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress

from django.conf import settings
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables

from annotation.models import PlatformAccount
from annotation.platforms.account_keys import keys_of
from annotation.platforms.base import BadNotice, Notified
from annotation.platforms.calls import PlatformTrouble

#: The events after which something is different here: schema EventType, “Receiving”.
EVENTS = ("submission.status.change", "study.status.change")
#: How old a notice may be, in seconds. An older one may be a copy that somebody sends again.
MOST_AGE = 600


def target_url() -> str:
    """Where Prolific sends notices."""
    return f"{settings.BASE_URL}{reverse('platform_notice', args=['prolific'])}"


def sign(secret: str, timestamp: str, body: bytes) -> str:
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def read_notice(body: bytes, headers: Mapping[str, str]) -> Notified:
    """What a notice is about, and whose secret signed it. Raises BadNotice."""
    timestamp = headers.get("X-Prolific-Request-Timestamp", "")
    signature = headers.get("X-Prolific-Request-Signature", "").encode()
    signers = [
        account_id
        for account_id, secret in _secrets()
        if hmac.compare_digest(sign(secret, timestamp, body).encode(), signature)
    ]
    if not signers:
        raise BadNotice("The signature is wrong.")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > MOST_AGE:
        raise BadNotice("The notice is too old.")
    try:
        document = json.loads(body)
        return Notified(str(document["event_type"]).partition(".")[0], str(document["resource_id"]), signers[0])
    except (ValueError, KeyError, TypeError) as error:
        raise BadNotice("The notice cannot be read.") from error


@sensitive_variables()
def _secrets() -> Iterator[tuple[int | None, str]]:
    """The server's own secret, then those of all accounts that can still be used, each with the account's id."""
    if settings.PROLIFIC_HOOK_SECRET:
        yield None, settings.PROLIFIC_HOOK_SECRET
    for account in PlatformAccount.objects.filter(platform="prolific", hears=True, retired_at=None).order_by("pk"):
        with suppress(PlatformTrouble):  # sealed with a key that is gone: its notices count as forged
            yield account.pk, keys_of(account).hook_secret
