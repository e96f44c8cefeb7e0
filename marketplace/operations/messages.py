"""Messages to workers, notifications to requesters."""

from __future__ import annotations

from typing import Any

from marketplace.operations.registry import Call
from marketplace.operations.shared import Output, handles, own_hit_type
from marketplace.services.messages import notification_delivery, notification_transports, notifications, worker_messages
from marketplace.services.refusals import InvalidParameter

VERSIONS = ("2006-05-05", "2014-08-15")


@handles("NotifyWorkers")
def notify_workers(call: Call) -> Output:
    failures = worker_messages.notify_workers(
        requester=call.requester,
        subject=call.parameters["Subject"],
        text=call.parameters["MessageText"],
        worker_ids=call.parameters["WorkerIds"],
        now=call.now,
    )
    statuses = [
        {
            "NotifyWorkersFailureCode": "HardFailure" if failure.hard else "SoftFailure",
            "NotifyWorkersFailureMessage": failure.reason,
            "WorkerId": failure.worker_id,
        }
        for failure in failures
    ]
    return {"NotifyWorkersFailureStatuses": statuses}


@handles("UpdateNotificationSettings")
def update_notification_settings(call: Call) -> Output:
    specification = None
    if "Notification" in call.parameters:
        notification = _checked(call.parameters["Notification"])
        specification = notifications.Specification(
            destination=notification["Destination"],
            transport=notification["Transport"],
            version=notification["Version"],
            event_types=notification["EventTypes"],
        )
    active = call.parameters.get("Active")
    notifications.set_notification(
        hit_type=own_hit_type(call), specification=specification, active=active, now=call.now
    )
    return {}


@handles("SendTestEventNotification")
def send_test_event_notification(call: Call) -> Output:
    notification = _checked(call.parameters["Notification"])
    notification_delivery.send_test(
        requester=call.requester,
        transport=notification["Transport"],
        destination=notification["Destination"],
        event_type=call.parameters["TestEventType"],
        now=call.now,
    )
    return {}


def _checked(notification: dict[str, Any]) -> dict[str, Any]:
    if notification["Version"] not in VERSIONS:
        raise InvalidParameter("Version", f"It must be one of {', '.join(VERSIONS)}.")
    if not notification["EventTypes"]:
        raise InvalidParameter("EventTypes", "Name at least one event.")
    notification_transports.check_destination(notification["Transport"], notification["Destination"])
    return notification
