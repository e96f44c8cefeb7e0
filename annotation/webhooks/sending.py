"""Sends the messages of webhooks, as the Standard Webhooks specification describes (standardwebhooks.com).

A message is tried until an answer has a status of 200 to 299, with growing pauses for about a day. Each reaches its
receiver at least once, in no particular order: after a lost answer it is sent again, under the same id.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import time
from datetime import timedelta
from secrets import SystemRandom
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils import timezone

from annotation.access import Role, members_of
from annotation.audit import record
from annotation.models import Webhook, WebhookDelivery
from annotation.webhooks.managing import PREFIX, secret_of, without_query
from common.outbound import Unreachable, post

log = logging.getLogger(__name__)
State = WebhookDelivery.State
ACTOR = "scheduler"
MOST_TRIES = 8
FIRST_PAUSE = timedelta(minutes=1)
#: Each pause is so many times the one before: 1, 3, 9, 27, 81, 243 and 729 minutes.
GROWTH = 3
#: A pause is longer by up to this share, so that messages that failed together do not come back together.
JITTER = 0.3
#: After this, whoever tries a message is given up for lost. It is longer than any try takes.
LEASE = timedelta(minutes=2)
#: One run ends after this, so that other background work gets its turn.
MOST_SECONDS = 50
KEPT = timedelta(days=30)
GONE = 410
LONGEST_LINE = 200
_random = SystemRandom()


def deliver_due() -> int:
    """Try every message that is due. Returns how many were tried.

    After a failure, the other messages to the same webhook wait for the next run. Several processes may do this.
    """
    resting: set[int] = set()
    n_tried, ends = 0, time.monotonic() + MOST_SECONDS
    while time.monotonic() < ends:
        now = timezone.now()
        due = WebhookDelivery.objects.filter(next_at__lte=now, webhook__active=True).exclude(webhook__in=resting)
        delivery = due.select_related("webhook__study", "submission__participant").order_by("next_at", "pk").first()
        if delivery is None:
            break
        claim = WebhookDelivery.objects.filter(pk=delivery.pk, next_at=delivery.next_at, state=State.WAITING)
        if not claim.update(next_at=now + LEASE):
            continue  # another process was faster
        n_tried += 1
        if not _try(delivery):
            resting.add(delivery.webhook_id)
    return n_tried


def forget_old() -> int:
    """Delete messages that were settled long ago. Returns how many.

    That half of a study is done, or all of it, stays: it is announced once.
    """
    settled = WebhookDelivery.objects.filter(created_at__lt=timezone.now() - KEPT).exclude(state=State.WAITING)
    n_deleted, _ = settled.exclude(event__in=(Webhook.Event.HALF_DONE, Webhook.Event.DONE)).delete()
    return n_deleted


def body_of(delivery: WebhookDelivery) -> bytes:
    """The message: what happened, when, and in which study. It contains no answers and nothing about a worker but the
    pseudonym: a receiver with a token reads the rest from the API."""
    study, submission = delivery.webhook.study, delivery.submission
    data: dict[str, Any] = {"study": study.slug, "title": study.title, **delivery.data}
    if submission is not None:
        participant = submission.participant
        data |= {"submission": submission.pk, "worker": participant.pseudonym, "simulated": participant.synthetic}
    message = {"type": delivery.event, "timestamp": delivery.created_at.isoformat(), "data": data}
    return json.dumps(message, sort_keys=True, ensure_ascii=False).encode()


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The value of the header ``webhook-signature``: HMAC-SHA256 of the id, the time and the body, in base64."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return f"v1,{base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()}"


def pause_after(attempts: int) -> timedelta:
    """How long to wait after so many failed tries."""
    share: float = 1 + JITTER * _random.random()
    return FIRST_PAUSE * share * float(GROWTH ** (attempts - 1))


def _try(delivery: WebhookDelivery) -> bool:
    """Send one message and store what came of it. Returns whether it was delivered."""
    webhook, body, timestamp = delivery.webhook, body_of(delivery), int(time.time())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "HITServer webhooks",
        "webhook-id": delivery.message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(secret_of(webhook), delivery.message_id, timestamp, body),
    }
    status, seconds = None, None
    try:
        answer = post(webhook.address, body, headers, private=settings.WEBHOOKS_PRIVATE)
    except Unreachable as reason:
        line = str(reason)
    else:
        status, seconds = answer.status, answer.seconds
        line = next(iter(answer.text.replace("\x00", "").splitlines()), "")
    done = status is not None and 200 <= status < 300
    attempts, now = delivery.attempts + 1, timezone.now()
    given_up = not done and (attempts >= MOST_TRIES or status == GONE)
    state = State.DELIVERED if done else State.FAILED if given_up else State.WAITING
    WebhookDelivery.objects.filter(pk=delivery.pk).update(
        state=state,
        attempts=attempts,
        next_at=now + pause_after(attempts) if state == State.WAITING else None,
        tried_at=now,
        status=status,
        seconds=seconds,
        answer=line[:LONGEST_LINE],
    )
    if done:
        Webhook.objects.filter(pk=webhook.pk, failing_since__isnull=False).update(failing_since=None, mailed_at=None)
        return True
    Webhook.objects.filter(pk=webhook.pk, failing_since=None).update(failing_since=now)
    if status == GONE and Webhook.objects.filter(pk=webhook.pk, active=True).update(active=False):
        record(
            study=webhook.study,
            actor=ACTOR,
            action="pause webhook",
            address=without_query(webhook.address),
            reason="gone",
        )
    if given_up:
        _tell_owners(webhook, line)
    return False


def _tell_owners(webhook: Webhook, line: str) -> None:
    """Email the owners of the study, once until a message arrives. If that fails, the next failure tries again."""
    study, now = webhook.study, timezone.now()
    owners = members_of(study, Role.OWNER).filter(is_active=True)
    addresses = [address for address in owners.values_list("email", flat=True) if address]
    if not (settings.EMAIL_HOST and addresses):
        return
    if not Webhook.objects.filter(pk=webhook.pk, mailed_at=None).update(mailed_at=now):
        return
    page = settings.BASE_URL + reverse("console_webhook", args=[study.slug, webhook.pk])
    email = EmailMessage(
        subject=f"A webhook does not answer: {study.title}",
        body=(
            f"Messages about the study “{study.title}” could not be delivered to {webhook.address} and are no longer "
            f"tried. The last answer: {line[:LONGEST_LINE] or 'none'}\n\n"
            f"See the messages, and send them again: {page}\n\n"
            "You get no other mail about this until a message is delivered.\n"
        ),
        bcc=addresses,
    )
    try:
        email.send()
    except (OSError, SMTPException):
        log.exception("The owners of %s could not be mailed that a webhook does not answer", study.slug)
        Webhook.objects.filter(pk=webhook.pk, mailed_at=now).update(mailed_at=None)
