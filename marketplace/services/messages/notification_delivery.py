"""Delivers events to requesters; `transports` has the ways to send them.

`services.events` writes a `NotificationDelivery` in the transaction of what happened. A task sends it after the commit,
and the periodic task tries again if it did not arrive. So an event can arrive twice, or late: as on MTurk, it is a
reason to check the HIT, not a replacement for checking. The requester's pages show what could not be delivered.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from logging import getLogger
from typing import Any

from celery import shared_task
from django.db.models import F
from django.utils.crypto import salted_hmac

from common.task_queue import handed_over
from marketplace import clock, faults
from marketplace.ids import new_id
from marketplace.models import NotificationDelivery, Requester
from marketplace.services.messages import notification_transports
from marketplace.services.messages.notification_transports import Undelivered
from marketplace.services.refusals import Refusal

logger = getLogger(__name__)

DOCUMENT_VERSION = "2014-08-15"
FIRST_PAUSE = timedelta(seconds=30)
MOST_TRIES = 10  # the last one after four hours
MOST_AT_ONCE = 500


def send_test(
    *, requester: Requester, transport: str, destination: str, event_type: str, now: datetime
) -> NotificationDelivery:
    """Send one test event at once, so that the requester learns immediately whether it arrives.

    If this marketplace has no such service, the call still succeeds, so that a tool can continue without
    notifications; the requester's pages show that nothing was delivered. Raises Refusal if delivery failed.
    """
    event = {"EventType": event_type, "EventTimestamp": moment(now)}
    if event_type != "Ping":
        event |= {"HITTypeId": new_id(), "HITId": new_id()}
    if event_type.startswith("Assignment"):
        event["AssignmentId"] = new_id()
    delivery = NotificationDelivery(
        requester=requester, transport=transport, destination=destination, event=event, created_at=now
    )
    delivery.error = notification_transports.why_not(transport, destination, requester)
    if not delivery.error:
        delivery.tries, delivery.error = 1, _sent(delivery)
    delivery.given_up = bool(delivery.error)
    delivery.delivered_at = None if delivery.error else now
    delivery.save()
    if delivery.error and delivery.tries:
        raise Refusal(f"The notification was not delivered: {delivery.error}", code="InvalidTransportEndpoint")
    return delivery


def _sent(delivery: NotificationDelivery, *, times: int = 1) -> str:
    """Send it. Returns what went wrong, or an empty string."""
    message = envelope([delivery.event], delivery.requester)
    try:
        for _ in range(times):
            notification_transports.send(delivery.transport, delivery.destination, message, delivery.requester)
    except Undelivered as error:
        return str(error)[:500] or type(error).__name__
    return ""


def moment(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def envelope(events: Iterable[dict[str, Any]], requester: Requester) -> dict[str, Any]:
    """The message in MTurk's format."""
    return {
        "EventDocVersion": DOCUMENT_VERSION,
        "EventDocId": new_id("", 32).lower(),
        "CustomerId": customer_id(requester),
        "Events": list(events),
    }


def customer_id(requester: Requester) -> str:
    """An ID that is always the same for a requester and does not show how many requesters there are."""
    return f"A{salted_hmac('marketplace.customer', str(requester.pk)).hexdigest()[:13].upper()}"


# --- Tasks ------------------------------------------------------------------------------------


@shared_task(name="marketplace.services.deliveries.deliver")  # type: ignore[untyped-decorator]  # Celery has no types
def deliver(delivery_id: int) -> bool:
    """Send one delivery, unless it was sent or must wait. Returns whether it was sent now.

    A failure is saved. The periodic task tries again, and each pause is twice as long as the one before.
    """
    waiting = NotificationDelivery.objects.select_related("requester__user")
    delivery = waiting.filter(pk=delivery_id, delivered_at=None, given_up=False).first()
    if delivery is None or clock.now() < delivery.created_at + FIRST_PAUSE * (2**delivery.tries - 1):
        return False
    this_one = NotificationDelivery.objects.filter(pk=delivery_id)
    if no_way := notification_transports.why_not(delivery.transport, delivery.destination, delivery.requester):
        this_one.update(given_up=True, error=no_way)
        return False
    if problem := _sent(delivery, times=2 if faults.notification_is_doubled() else 1):
        tries = delivery.tries + 1
        this_one.update(tries=F("tries") + 1, error=problem, given_up=tries >= MOST_TRIES)
        logger.warning("A notification to %s did not arrive (try %s): %s", delivery.destination, tries, problem)
        return False
    this_one.update(delivered_at=clock.now(), tries=F("tries") + 1, error="")
    return True


@shared_task(name="marketplace.services.deliveries.deliver_due")  # type: ignore[untyped-decorator]
def deliver_due() -> int:
    """Send again what did not arrive or lost its task. Returns how many deliveries it queued."""
    open_ones = NotificationDelivery.objects.filter(delivered_at=None, given_up=False)
    keys = list(open_ones.order_by("pk").values_list("pk", flat=True)[:MOST_AT_ONCE])
    return sum(handed_over(partial(deliver.delay, key)) for key in keys)
