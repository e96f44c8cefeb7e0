"""Workers blocked and written to, and requesters notified."""

from functools import partial
from typing import Any

import pytest

from marketplace.models import Message, NotificationSetting
from marketplace.services.refusals import Refusal
from tests.marketplace.support.conformance import (
    BAD,
    UNKNOWN_WORKER,
    WRONG,
    Act,
    No,
    Successes,
    assert_refusal,
    assert_success,
    each_refusal,
    each_success,
    given,
    ids,
    mturk,
    registers,
)
from tests.marketplace.support.world import NOBODY, World

pytestmark = pytest.mark.django_db
SUCCESSES: Successes = {}
succeeds = registers(SUCCESSES)


@succeeds("CreateWorkerBlock")
def a_blocked_worker_accepts_nothing(world: World) -> None:
    worker, hit_id = world.worker(), world.hit()["HITId"]

    world.client.create_worker_block(WorkerId=worker.worker_id, Reason="Copies answers.")

    with pytest.raises(Refusal):
        world.accepted(hit_id, worker)


@succeeds("ListWorkerBlocks")
def who_is_blocked(world: World) -> None:
    worker = world.worker()
    world.client.create_worker_block(WorkerId=worker.worker_id, Reason="Copies answers.")

    (block,) = world.client.list_worker_blocks()["WorkerBlocks"]

    assert block == {"WorkerId": worker.worker_id, "Reason": "Copies answers."}
    assert world.stranger.list_worker_blocks()["WorkerBlocks"] == []


@succeeds("DeleteWorkerBlock")
def a_block_is_lifted(world: World) -> None:
    worker, hit_id = world.worker(), world.hit()["HITId"]
    world.client.create_worker_block(WorkerId=worker.worker_id, Reason="Copies answers.")

    world.client.delete_worker_block(WorkerId=worker.worker_id, Reason="Talked about it.")

    assert world.client.list_worker_blocks()["WorkerBlocks"] == []
    assert world.accepted(hit_id, worker)


@succeeds("NotifyWorkers")
def workers_are_written_to(world: World) -> None:
    """One whose work the requester never decided on is reported and does not keep the others from their message."""
    known = world.worker_of(world.approved())

    answer = world.client.notify_workers(Subject="Thanks", MessageText="See you.", WorkerIds=[known, NOBODY])

    (failure,) = answer["NotifyWorkersFailureStatuses"]
    assert (failure["WorkerId"], failure["NotifyWorkersFailureCode"]) == (NOBODY, "HardFailure")
    assert [message.worker.worker_id for message in Message.objects.all()] == [known]


@succeeds("NotifyWorkers")
def a_worker_who_did_nothing_for_the_requester_gets_no_message(world: World) -> None:
    """In Amazon's words, as cloudyr/MTurkR#29 has them."""
    stranger = world.worker().worker_id

    answer = world.client.notify_workers(Subject="Hello", MessageText="Work for me.", WorkerIds=[stranger])

    assert answer["NotifyWorkersFailureStatuses"] == [
        {
            "NotifyWorkersFailureCode": "HardFailure",
            "NotifyWorkersFailureMessage": "Cannot send a notification to a worker who has not done any work for you",
            "WorkerId": stranger,
        }
    ]
    assert not Message.objects.exists()


# --- Notifications ------------------------------------------------------------------------------------------


def notification(**changes: Any) -> dict[str, Any]:
    return {
        "Destination": "https://sqs.us-east-1.amazonaws.com/123456789012/queue",
        "Transport": "SQS",
        "Version": "2014-08-15",
        "EventTypes": ["AssignmentSubmitted"],
        **changes,
    }


@pytest.fixture(autouse=True)
def outbox(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What would be sent; test_notifications tests the delivery."""
    sent: list[dict[str, Any]] = []
    settings.MARKETPLACE_CALLBACK_URL = "https://example.org/events"
    monkeypatch.setattr(
        "marketplace.services.messages.notification_transports.send",
        lambda transport, destination, message, requester: sent.append({destination: message}),
    )
    return sent


@succeeds("UpdateNotificationSettings")
def a_notification_is_set_and_switched(world: World) -> None:
    type_id = world.hit_type()

    world.client.update_notification_settings(HITTypeId=type_id, Notification=notification(), Active=True)
    assert NotificationSetting.objects.get().active
    world.client.update_notification_settings(HITTypeId=type_id, Active=False)
    assert not NotificationSetting.objects.get().active


@succeeds("SendTestEventNotification")
def a_test_event_is_sent(world: World) -> None:
    world.client.send_test_event_notification(Notification=notification(), TestEventType="HITExpired")


# --- What is refused ----------------------------------------------------------------------------------------


def a_type_with(wrong: dict[str, Any], world: World) -> dict[str, Any]:
    return {"HITTypeId": world.hit_type(), "Notification": wrong}


WRONG_DESTINATIONS = {
    "SNS": notification(Transport="SNS", Destination="https://sns.us-east-1.amazonaws.com/topic"),
    "Email": notification(Transport="Email", Destination="lab at example.org"),
}
NO_SUCH_WORKER = f'The value "{NOBODY}" is not valid for the parameter WorkerId.'
REFUSALS = [
    No(
        "CreateWorkerBlock",
        "unknown WorkerId",
        given({"WorkerId": NOBODY, "Reason": "r"}),
        BAD,
        WRONG,
        source=UNKNOWN_WORKER,
        says=NO_SUCH_WORKER,
    ),
    No(
        "DeleteWorkerBlock",
        "unknown WorkerId",
        given({"WorkerId": NOBODY}),
        BAD,
        WRONG,
        source=UNKNOWN_WORKER,
        says=NO_SUCH_WORKER,
    ),
    No("ListWorkerBlocks", "made-up token", given({"NextToken": "x"}), BAD, WRONG),
    No(
        "NotifyWorkers",
        "subject too long",
        given({"Subject": "x" * 201, "MessageText": "m", "WorkerIds": ["A1"]}),
        BAD,
        WRONG,
    ),
    No(
        "NotifyWorkers",
        "too many workers",
        given({"Subject": "s", "MessageText": "m", "WorkerIds": [f"A{n}" for n in range(101)]}),
        BAD,
        WRONG,
    ),
    *ids("UpdateNotificationSettings", "HITTypeId", "HITType", World.hit_type, Active=False),
    *[
        No(
            "UpdateNotificationSettings",
            f"{transport} to a wrong destination",
            partial(a_type_with, wrong),
            BAD,
            WRONG,
        )
        for transport, wrong in WRONG_DESTINATIONS.items()
    ],
    No(
        "UpdateNotificationSettings",
        "nothing to switch",
        lambda world: {"HITTypeId": world.hit_type(), "Active": True},
        mturk("NotificationMissing"),  # that there must be one is in the model; the code is not
    ),
    No(
        "SendTestEventNotification",
        "no queue",
        given({"Notification": notification(Destination="queue"), "TestEventType": "Ping"}),
        BAD,
        WRONG,
    ),
]


@pytest.mark.parametrize("case", each_success(SUCCESSES))
def test_success(world: World, case: tuple[str, Act]) -> None:
    assert_success(world, case)


@pytest.mark.parametrize("case", each_refusal(REFUSALS))
def test_refusal(world: World, case: No) -> None:
    assert_refusal(world, case)
