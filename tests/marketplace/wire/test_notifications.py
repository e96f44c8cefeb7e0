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

from marketplace import clock, faults
from marketplace.models import NotificationDelivery, Requester
from marketplace.services.messages import notification_delivery
from tests.marketplace.support.world import TYPE, WORK, World

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("over_http")]


class Callback:
    """A server that saves what is posted to it and answers with `status`."""

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


@pytest.fixture
def topic(sqs_url: str, queue: tuple[Any, str], settings: Any) -> str:
    """The ARN of a topic of moto's SNS, to which the queue is subscribed."""
    settings.MARKETPLACE_SNS_URL = sqs_url
    settings.MARKETPLACE_SNS_ACCESS_KEY_ID, settings.MARKETPLACE_SNS_SECRET_ACCESS_KEY = "key", "secret"
    settings.MARKETPLACE_SQS_URL = ""
    client = boto3.session.Session().client(
        "sns", endpoint_url=sqs_url, region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s"
    )
    arn = str(client.create_topic(Name="events")["TopicArn"])
    client.subscribe(TopicArn=arn, Protocol="sqs", Endpoint="arn:aws:sqs:us-east-1:123456789012:events")
    return arn


def to(destination: str, *events: str, transport: str = "SQS") -> dict[str, Any]:
    return {
        "Destination": destination,
        "Transport": transport,
        "Version": "2014-08-15",
        "EventTypes": list(events) or ["AssignmentSubmitted", "HITReviewable"],
    }


@pytest.fixture
def world(client: Any) -> World:
    return World(client=client, stranger=None, poor=None)


def subscribed(world: World, destination: str, *events: str, transport: str = "SQS") -> str:
    """A HIT with notifications."""
    type_id = world.hit_type()
    wanted = to(destination, *events, transport=transport)
    world.client.update_notification_settings(HITTypeId=type_id, Notification=wanted, Active=True)
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


def test_a_queue_that_does_not_exist_fails_a_test_event(client: Any, queue: tuple[Any, str]) -> None:
    with pytest.raises(ClientError) as refused:
        client.send_test_event_notification(Notification=to(queue[1] + "-not"), TestEventType="Ping")

    assert refused.value.response["TurkErrorCode"] == "AWS.MechanicalTurk.InvalidTransportEndpoint"


def test_only_the_events_that_were_asked_for_are_sent(world: World, queue: tuple[Any, str]) -> None:
    hit_id = subscribed(world, queue[1])

    assignment_id = world.submitted(hit_id)
    world.client.approve_assignment(AssignmentId=assignment_id)

    events = [event for message in received(queue) for event in message["Events"]]
    assert sorted(event["EventType"] for event in events) == ["AssignmentSubmitted", "HITReviewable"]
    assert {event["HITId"] for event in events} == {hit_id}
    assert [each["AssignmentId"] for each in events if each["EventType"] == "AssignmentSubmitted"] == [assignment_id]


def test_the_callback_gets_the_same(world: World, callback: Callback) -> None:
    hit_id = subscribed(world, "https://sqs.us-east-1.amazonaws.com/123456789012/q", "AssignmentSubmitted")

    world.submitted(hit_id)

    assert [message["Events"][0]["HITId"] for message in callback.got] == [hit_id]


def test_undelivered_notifications_are_tried_again_later(world: World, callback: Callback, settings: Any) -> None:
    callback.status = 503
    hit_id = subscribed(world, "https://sqs.us-east-1.amazonaws.com/123456789012/q", "AssignmentSubmitted")
    world.submitted(hit_id)
    delivery = NotificationDelivery.objects.get()
    assert (delivery.tries, delivery.delivered_at) == (1, None)
    assert "503" in delivery.error

    callback.status = 200
    notification_delivery.deliver.delay(delivery.pk)
    assert callback.got == []  # not yet

    NotificationDelivery.objects.update(created_at=clock.now() - timedelta(minutes=2))
    assert notification_delivery.deliver_due.delay().get() == 1
    assert notification_delivery.deliver_due.delay().get() == 0

    delivery.refresh_from_db()
    assert delivery.delivered_at is not None
    assert len(callback.got) == 1


def test_a_queue_that_is_down_undoes_nothing(world: World, settings: Any) -> None:
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


def test_events_reach_a_topic(world: World, queue: tuple[Any, str], topic: str) -> None:
    hit_id = subscribed(world, topic, "AssignmentSubmitted", transport="SNS")
    assignment_id = world.submitted(hit_id)

    (notified,) = [json.loads(message["Message"]) for message in received(queue)]
    assert [event["AssignmentId"] for event in notified["Events"]] == [assignment_id]
    assert NotificationDelivery.objects.get().delivered_at is not None


def test_a_topic_that_does_not_exist_fails_a_test_event(client: Any, topic: str) -> None:
    with pytest.raises(ClientError) as refused:
        client.send_test_event_notification(
            Notification=to(f"{topic}-not", transport="SNS"), TestEventType="HITReviewable"
        )

    assert refused.value.response["TurkErrorCode"] == "AWS.MechanicalTurk.InvalidTransportEndpoint"
    assert NotificationDelivery.objects.get().given_up


@pytest.mark.parametrize(
    ("transport", "destination", "missing"),
    [
        ("SQS", "https://example.org/q", "HITSERVER_MARKETPLACE_SQS_URL"),
        ("SNS", "arn:aws:sns:us-east-1:123456789012:events", "HITSERVER_MARKETPLACE_SNS_URL"),
        ("Email", "lab@example.org", "HITSERVER_EMAIL_HOST"),
    ],
)
def test_without_a_service_tools_continue_and_the_requester_sees_why(
    world: World, transport: str, destination: str, missing: str
) -> None:
    """dallinger deploy and ParlAI subscribe when they start, and stop if that is refused."""
    world.client.send_test_event_notification(Notification=to(destination, transport=transport), TestEventType="Ping")
    world.submitted(subscribed(world, destination, "AssignmentSubmitted", transport=transport))

    for delivery in NotificationDelivery.objects.all():
        assert (delivery.delivered_at, delivery.given_up, delivery.transport) == (None, True, transport)
        assert missing in delivery.error
    assert NotificationDelivery.objects.count() == 2
    assert notification_delivery.deliver_due.delay().get() == 0  # nobody tries again


def test_email_goes_to_the_requesters_own_address_only(world: World, settings: Any, mailoutbox: list[Any]) -> None:
    settings.EMAIL_HOST = "mail.example.org"
    Requester.objects.update(email="Lab@Example.org")

    world.submitted(subscribed(world, "lab@example.org", "AssignmentSubmitted", transport="Email"))
    world.client.send_test_event_notification(
        Notification=to("stranger@example.org", transport="Email"), TestEventType="Ping"
    )

    (letter,) = mailoutbox
    assert letter.to == ["lab@example.org"]
    assert letter.subject.startswith("AssignmentSubmitted 3")
    assert "AssignmentId: 3" in letter.body
    assert "the requester's own address" in NotificationDelivery.objects.latest("pk").error


def test_the_customer_id_does_not_reveal_how_many_requesters_there_are(client: Any) -> None:
    requester = Requester.objects.get()
    told = notification_delivery.customer_id(requester)

    assert (
        told
        == notification_delivery.customer_id(requester)
        != notification_delivery.customer_id(Requester(pk=requester.pk + 1))
    )
    assert len(told) == 14 and str(requester.pk).zfill(3) not in told


def test_a_requester_cannot_make_the_server_call_other_addresses(
    client: Any, queue: tuple[Any, str], callback: Callback, settings: Any
) -> None:
    """The destination names a queue; only the endpoint of the settings is ever talked to."""
    settings.MARKETPLACE_CALLBACK_URL = ""

    client.send_test_event_notification(Notification=to(callback.url), TestEventType="Ping")

    assert callback.got == []
    assert len(received(queue)) == 1  # moto takes the last part of the address for the queue's name


def test_types_without_a_notification_send_nothing(world: World, callback: Callback) -> None:
    world.submitted(world.client.create_hit(**TYPE, **WORK)["HIT"]["HITId"])

    assert callback.got == []
    assert not NotificationDelivery.objects.exists()


def test_the_document_has_what_amazon_sends() -> None:
    assert notification_delivery.DOCUMENT_VERSION == "2014-08-15"
    assert notification_delivery.moment(clock.now().replace(microsecond=0)).endswith("Z")


@pytest.mark.parametrize(
    "destination",
    [
        "arn:aws:sqs:us-east-1:999999999999:events",
        "https://sqs.us-east-1.amazonaws.com/999999999999/events",
        "https://sqs.us-east-1.amazonaws.com/",
        "https://example.org//123456789012/events/123456789012",
    ],
)
def test_queues_of_other_accounts_are_refused(client: Any, settings: Any, destination: str) -> None:
    """The server signs with its own key: without the limit any requester could write to any queue the key opens."""
    settings.MARKETPLACE_SQS_URL = "https://sqs.us-east-1.amazonaws.com"
    settings.MARKETPLACE_SQS_ACCOUNTS = ["123456789012", "123456789013"]
    with pytest.raises(ClientError) as refused:
        client.send_test_event_notification(Notification=to(destination), TestEventType="Ping")
    assert "Destination" in str(refused.value)


def test_queues_of_the_accounts_in_the_settings_are_notified(
    client: Any, queue: tuple[Any, str], settings: Any
) -> None:
    settings.MARKETPLACE_SQS_ACCOUNTS = ["123456789012"]
    client.send_test_event_notification(Notification=to(queue[1]), TestEventType="Ping")
    assert len(received(queue)) == 1
