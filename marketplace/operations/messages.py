"""Messages to workers, notifications to requesters."""

from __future__ import annotations

from typing import Any

from marketplace.operations.common import Output, answers, own_hit_type
from marketplace.operations.registry import Call
from marketplace.services import messages
from marketplace.services.refusals import Invalid
from marketplace.wire import notifications

VERSIONS = ("2006-05-05", "2014-08-15")


@answers("NotifyWorkers")
def notify_workers(call: Call) -> Output:
    failures = messages.notify_workers(
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


@answers("UpdateNotificationSettings")
def update_notification_settings(call: Call) -> Output:
    specification = None
    if "Notification" in call.parameters:
        given = _checked(call.parameters["Notification"])
        specification = messages.Specification(
            destination=given["Destination"],
            transport=given["Transport"],
            version=given["Version"],
            event_types=given["EventTypes"],
        )
    active = call.parameters.get("Active")
    messages.set_notification(hit_type=own_hit_type(call), specification=specification, active=active, now=call.now)
    return {}


@answers("SendTestEventNotification")
def send_test_event_notification(call: Call) -> Output:
    notifications.send_test(
        requester=call.requester,
        notification=_checked(call.parameters["Notification"]),
        event_type=call.parameters["TestEventType"],
        now=call.now,
    )
    return {}


def _checked(notification: dict[str, Any]) -> dict[str, Any]:
    if notification["Version"] not in VERSIONS:
        raise Invalid("Version", f"It takes one of {', '.join(VERSIONS)}.")
    if not notification["EventTypes"]:
        raise Invalid("EventTypes", "Name at least one event.")
    notifications.check_destination(notification)
    return notification
