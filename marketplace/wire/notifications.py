"""Events told to requesters: in an SQS queue of theirs, and at the address this server's settings name.

`services.events` writes a `NotificationDelivery` in the transaction of what happened. A task sends it after the commit,
and the periodic task takes up what did not arrive. So an event is told perhaps twice and perhaps late: as on MTurk, it
is a reason to look, not the thing itself.
"""

import json
import logging
import re
import urllib.request
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from celery import shared_task
from django.conf import settings
from django.db.models import F

from marketplace import clock
from marketplace.models import NotificationDelivery, Requester
from marketplace.services.secrets import new_id
from marketplace.wire import faults
from marketplace.wire.errors import RequestError, bad_parameter, not_supported

logger = logging.getLogger(__name__)

DOCUMENT_VERSION = "2014-08-15"
SECONDS = 5
FIRST_PAUSE = timedelta(seconds=30)
MOST_TRIES = 10  # the last one after four hours
MOST_AT_ONCE = 500
QUEUE_ARN = re.compile(r"arn:aws[a-z-]*:sqs:[a-z0-9-]+:([0-9]{12}):([A-Za-z0-9_-]{1,80}(?:\.fifo)?)")


class Undelivered(Exception):
    """The message did not arrive, as far as is known; another try may succeed."""


# --- What operations and services call ----------------------------------------------------------------------


def check_destination(notification: dict[str, Any]) -> None:
    """Refuses a notification that this server has no way to deliver."""
    transport, destination = notification["Transport"], notification["Destination"]
    if transport != "SQS":
        raise not_supported(f"Notifications by {transport} are not supported here; the transport SQS is.")
    if not settings.MARKETPLACE_SQS_URL and not settings.MARKETPLACE_CALLBACK_URL:
        raise not_supported("This marketplace has neither a queue service nor a callback to notify.")
    if not QUEUE_ARN.fullmatch(destination) and not _is_address(destination):
        raise bad_parameter("Destination", destination, "It is the URL or the ARN of an SQS queue.")


def send_test(*, requester: Requester, notification: dict[str, Any], event_type: str, now: datetime) -> None:
    """Sends one made-up event at once, so that the requester hears here and now whether it arrives."""
    check_destination(notification)
    event = {"EventType": event_type, "EventTimestamp": moment(now)}
    if event_type != "Ping":
        event |= {"HITTypeId": new_id(), "HITId": new_id()}
    if event_type.startswith("Assignment"):
        event["AssignmentId"] = new_id()
    try:
        _send(notification["Destination"], envelope([event], requester))
    except Undelivered as error:
        raise RequestError(f"The notification was not delivered: {error}", code="InvalidTransportEndpoint") from None


def moment(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def envelope(events: Iterable[dict[str, Any]], requester: Requester) -> dict[str, Any]:
    """The message as MTurk writes it."""
    return {
        "EventDocVersion": DOCUMENT_VERSION,
        "EventDocId": new_id("", 32).lower(),
        "CustomerId": f"A{requester.pk:013d}",
        "Events": list(events),
    }


# --- Tasks ------------------------------------------------------------------------------------


@shared_task(name="marketplace.wire.notifications.deliver")  # type: ignore[untyped-decorator]  # Celery has no types
def deliver(delivery_id: int) -> bool:
    """Sends one delivery, unless it has been sent or is not to be tried yet. Returns whether it was sent now.

    A failure is written down; the periodic task comes back to it, and each pause is twice the one before.
    """
    waiting = NotificationDelivery.objects.select_related("setting__hit_type__requester")
    delivery = waiting.filter(pk=delivery_id, delivered_at=None).first()
    if delivery is None or clock.now() < delivery.created_at + FIRST_PAUSE * (2**delivery.tries - 1):
        return False
    this_one = NotificationDelivery.objects.filter(pk=delivery_id)
    try:
        message = envelope([delivery.event], delivery.setting.hit_type.requester)
        for _ in range(2 if faults.notification_is_doubled() else 1):
            _send(delivery.setting.destination, message)
    except Undelivered as error:
        this_one.update(tries=F("tries") + 1, error=str(error)[:500])
        logger.warning("Notification %s did not arrive (try %s): %s", delivery_id, delivery.tries + 1, error)
        return False
    this_one.update(delivered_at=clock.now(), tries=F("tries") + 1, error="")
    return True


@shared_task(name="marketplace.wire.notifications.deliver_due")  # type: ignore[untyped-decorator]
def deliver_due() -> int:
    """Takes up what did not arrive, or whose task was lost. Returns how many deliveries that are."""
    open_ones = NotificationDelivery.objects.filter(delivered_at=None, tries__lt=MOST_TRIES)
    keys = list(open_ones.order_by("pk").values_list("pk", flat=True)[:MOST_AT_ONCE])
    for key in keys:
        deliver.delay(key)
    return len(keys)


# --- The two ways out ---------------------------------------------------------------------------------------


def _send(destination: str, message: dict[str, Any]) -> None:
    text = json.dumps(message)
    if settings.MARKETPLACE_SQS_URL:
        _send_to_queue(destination, text)
    if settings.MARKETPLACE_CALLBACK_URL:
        _send_to_callback(settings.MARKETPLACE_CALLBACK_URL, text)


def _send_to_queue(destination: str, text: str) -> None:
    """Only ever talks to the endpoint of the settings; a requester's URL just names a queue there."""
    try:
        client = _sqs(settings.MARKETPLACE_SQS_URL, settings.MARKETPLACE_SQS_REGION)
        client.send_message(QueueUrl=_queue_url(destination), MessageBody=text)
    except (BotoCoreError, ClientError) as error:
        raise Undelivered(str(error)) from None


def _queue_url(destination: str) -> str:
    if named := QUEUE_ARN.fullmatch(destination):
        return f"{settings.MARKETPLACE_SQS_URL.rstrip('/')}/{named[1]}/{named[2]}"
    return destination


@lru_cache(maxsize=4)
def _sqs(url: str, region: str) -> Any:
    keys = {
        "aws_access_key_id": settings.MARKETPLACE_SQS_ACCESS_KEY_ID or None,
        "aws_secret_access_key": settings.MARKETPLACE_SQS_SECRET_ACCESS_KEY or None,
    }
    config = Config(connect_timeout=SECONDS, read_timeout=SECONDS, retries={"total_max_attempts": 1})
    return boto3.session.Session().client("sqs", endpoint_url=url, region_name=region, config=config, **keys)


def _send_to_callback(url: str, text: str) -> None:
    request = urllib.request.Request(  # noqa: S310  the address is the operator's own
        url, data=text.encode(), headers={"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=SECONDS):  # noqa: S310
            pass
    except (URLError, OSError, ValueError) as error:
        raise Undelivered(f"{url}: {error}") from None


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc) and len(parts.path) > 1
