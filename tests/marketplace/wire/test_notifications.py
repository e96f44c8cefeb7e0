"""Notifications on their whole way: to a queue of moto's server, and to a callback on this machine."""

import json
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto.server import ThreadedMotoServer

from marketplace import clock
from marketplace.models import NotificationDelivery
from marketplace.wire import faults, notifications
from tests.marketplace.wire.world import TYPE, WORK, World

pytestmark = pytest.mark.django_db(transaction=True)


class Callback:
    """A server that keeps what is posted to it and answers with `status`."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.status = 200
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if outer.status == 200:
                    outer.got.append(json.loads(body))
                self.send_response(outer.status)
                self.end_headers()

            def log_message(self, *args: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/events"


@pytest.fixture
def callback(settings: Any) -> Iterator[Callback]:
    made = Callback()
    settings.MARKETPLACE_CALLBACK_URL = made.url
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture(scope="module")
def sqs_url() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def queue(sqs_url: str, settings: Any) -> Iterator[tuple[Any, str]]:
    """A client of the queue service, and the URL of a queue there that the marketplace may write to."""
    settings.MARKETPLACE_SQS_URL = sqs_url
    settings.MARKETPLACE_SQS_ACCESS_KEY_ID, settings.MARKETPLACE_SQS_SECRET_ACCESS_KEY = "key", "secret"
    client = boto3.session.Session().client(
        "sqs", endpoint_url=sqs_url, region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s"
    )
    url = client.create_queue(QueueName="events")["QueueUrl"]
    yield client, url
    client.delete_queue(QueueUrl=url)


def received(queue: tuple[Any, str]) -> list[dict[str, Any]]:
    client, url = queue
    got = []
    while messages := client.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
        for message in messages:
            client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            got.append(json.loads(message["Body"]))
    return got


def to(destination: str, *events: str) -> dict[str, Any]:
    return {
        "Destination": destination,
        "Transport": "SQS",
        "Version": "2014-08-15",
        "EventTypes": list(events) or ["AssignmentSubmitted", "HITReviewable"],
    }


@pytest.fixture
def world(client: Any) -> World:
    return World(client=client, stranger=None, poor=None)


def subscribed(world: World, destination: str, *events: str) -> str:
    """A HIT whose events are told."""
    type_id = world.hit_type()
    world.client.update_notification_settings(HITTypeId=type_id, Notification=to(destination, *events), Active=True)
    made = world.client.create_hit_with_hit_type(HITTypeId=type_id, **{**WORK, "MaxAssignments": 1})
    return str(made["HIT"]["HITId"])


def test_a_test_event_reaches_the_queue(client: Any, queue: tuple[Any, str]) -> None:
    client.send_test_event_notification(Notification=to(queue[1]), TestEventType="AssignmentSubmitted")

    (message,) = received(queue)
    (event,) = message["Events"]
    assert message["EventDocVersion"] == "2014-08-15"
    assert event["EventType"] == "AssignmentSubmitted"
    assert event["HITId"] and event["HITTypeId"] and event["AssignmentId"]


def test_a_queue_may_be_named_by_its_arn(client: Any, queue: tuple[Any, str]) -> None:
    arn = "arn:aws:sqs:us-east-1:123456789012:events"

    client.send_test_event_notification(Notification=to(arn), TestEventType="Ping")

    assert [message["Events"][0]["EventType"] for message in received(queue)] == ["Ping"]


def test_a_queue_that_does_not_exist_is_said_at_once(client: Any, queue: tuple[Any, str]) -> None:
    with pytest.raises(ClientError) as refused:
        client.send_test_event_notification(Notification=to(queue[1] + "-not"), TestEventType="Ping")

    assert refused.value.response["TurkErrorCode"] == "AWS.MechanicalTurk.InvalidTransportEndpoint"


def test_events_that_were_asked_for_are_told_and_no_others(world: World, queue: tuple[Any, str]) -> None:
    hit_id = subscribed(world, queue[1])

    assignment_id = world.submitted(hit_id)
    world.client.approve_assignment(AssignmentId=assignment_id)

    events = [event for message in received(queue) for event in message["Events"]]
    assert sorted(event["EventType"] for event in events) == ["AssignmentSubmitted", "HITReviewable"]
    assert {event["HITId"] for event in events} == {hit_id}
    assert [each["AssignmentId"] for each in events if each["EventType"] == "AssignmentSubmitted"] == [assignment_id]


def test_the_callback_hears_the_same(world: World, callback: Callback) -> None:
    hit_id = subscribed(world, "https://sqs.us-east-1.amazonaws.com/123456789012/q", "AssignmentSubmitted")

    world.submitted(hit_id)

    assert [message["Events"][0]["HITId"] for message in callback.got] == [hit_id]


def test_what_does_not_arrive_is_tried_again_and_later(world: World, callback: Callback, settings: Any) -> None:
    callback.status = 503
    hit_id = subscribed(world, "https://sqs.us-east-1.amazonaws.com/123456789012/q", "AssignmentSubmitted")
    world.submitted(hit_id)
    delivery = NotificationDelivery.objects.get()
    assert (delivery.tries, delivery.delivered_at) == (1, None)
    assert "503" in delivery.error

    callback.status = 200
    notifications.deliver.delay(delivery.pk)
    assert callback.got == []  # not yet

    NotificationDelivery.objects.update(created_at=clock.now() - timedelta(minutes=2))
    assert notifications.deliver_due.delay().get() == 1
    assert notifications.deliver_due.delay().get() == 0

    delivery.refresh_from_db()
    assert delivery.delivered_at is not None
    assert len(callback.got) == 1


def test_a_queue_that_is_away_undoes_nothing(world: World, settings: Any) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        settings.MARKETPLACE_CALLBACK_URL = f"http://127.0.0.1:{nobody.getsockname()[1]}/"
        hit_id = subscribed(world, "https://sqs.us-east-1.amazonaws.com/123456789012/q", "AssignmentSubmitted")
        assignment_id = world.submitted(hit_id)

    found = world.client.get_assignment(AssignmentId=assignment_id)["Assignment"]
    assert found["AssignmentStatus"] == "Submitted"


def test_a_notification_can_be_doubled_on_demand(
    world: World, callback: Callback, settings: Any, tmp_path: Any
) -> None:
    settings.MARKETPLACE_TEST_CONTROLS, settings.VAR = True, tmp_path
    faults.set_faults([faults.Fault(kind="duplicate_notification")])
    hit_id = subscribed(world, "https://sqs.us-east-1.amazonaws.com/123456789012/q", "AssignmentSubmitted")

    world.submitted(hit_id)

    assert len(callback.got) == 2
    assert callback.got[0] == callback.got[1]


def test_without_queue_service_and_callback_nothing_is_promised(client: Any) -> None:
    with pytest.raises(ClientError) as refused:
        client.send_test_event_notification(Notification=to("https://example.org/q"), TestEventType="Ping")

    assert refused.value.response["TurkErrorCode"] == "AWS.MechanicalTurk.NotSupported"


def test_a_requester_cannot_make_the_server_call_other_addresses(
    client: Any, queue: tuple[Any, str], callback: Callback, settings: Any
) -> None:
    """The destination names a queue; only the endpoint of the settings is ever talked to."""
    settings.MARKETPLACE_CALLBACK_URL = ""

    client.send_test_event_notification(Notification=to(callback.url), TestEventType="Ping")

    assert callback.got == []
    assert len(received(queue)) == 1  # moto takes the last part of the address for the queue's name


def test_types_without_a_notification_tell_nothing(world: World, callback: Callback) -> None:
    world.submitted(world.client.create_hit(**TYPE, **WORK)["HIT"]["HITId"])

    assert callback.got == []
    assert not NotificationDelivery.objects.exists()


def test_the_document_has_what_amazon_sends() -> None:
    assert notifications.DOCUMENT_VERSION == "2014-08-15"
    assert notifications.moment(clock.now().replace(microsecond=0)).endswith("Z")
