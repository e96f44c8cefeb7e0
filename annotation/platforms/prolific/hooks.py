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
from collections.abc import Mapping

from django.conf import settings
from django.urls import reverse

from annotation.platforms.base import BadNotice

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


def read_notice(body: bytes, headers: Mapping[str, str]) -> tuple[str, str]:
    """What a notice is about, “submission” or “study”, and its id. Checks the signature. Raises BadNotice."""
    timestamp = headers.get("X-Prolific-Request-Timestamp", "")
    signature = headers.get("X-Prolific-Request-Signature", "")
    secret = settings.PROLIFIC_HOOK_SECRET
    if not secret or not hmac.compare_digest(sign(secret, timestamp, body).encode(), signature.encode()):
        raise BadNotice("The signature is wrong.")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > MOST_AGE:
        raise BadNotice("The notice is too old.")
    try:
        document = json.loads(body)
        return str(document["event_type"]).partition(".")[0], str(document["resource_id"])
    except (ValueError, KeyError, TypeError) as error:
        raise BadNotice("The notice cannot be read.") from error
