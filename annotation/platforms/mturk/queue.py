"""MTurk's notifications, read from an SQS queue. They may be lost, doubled or late, so they only start a poll.

A message stays in the queue until its HITs have been polled. Its format is that of notification version 2014-08-15.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.changes import Notice

logger = logging.getLogger(__name__)
VERSION = "2014-08-15"
#: All events after which a poll finds something new.
EVENTS = (
    *("AssignmentAccepted", "AssignmentAbandoned", "AssignmentReturned", "AssignmentSubmitted"),
    *("AssignmentApproved", "AssignmentRejected", "HITReviewable", "HITExpired", "HITDisposed"),
)
MOST_MESSAGES = 10


def receive() -> Iterator[Notice]:
    """The messages in the queue, at most ten at a time. Waits a moment for the first. Raises PlatformTrouble."""
    from botocore.exceptions import BotoCoreError, ClientError

    url = settings.MTURK_QUEUE_URL
    client = _client(url, settings.MTURK_QUEUE_REGION, settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY)
    try:
        answer = client.receive_message(
            QueueUrl=url, MaxNumberOfMessages=MOST_MESSAGES, WaitTimeSeconds=settings.MTURK_QUEUE_WAIT_SECONDS
        )
        for message in answer.get("Messages", ()):
            delete = partial(client.delete_message, QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            yield Notice(hits_in(message["Body"]), delete)
    except (ClientError, BotoCoreError) as error:
        raise PlatformTrouble(
            f"The queue {url} did not answer: {str(error)[:300]}",
            "Check HITSERVER_MTURK_QUEUE_URL and HITSERVER_MTURK_QUEUE_REGION. Work is still found by polling.",
            again=True,
        ) from error


def hits_in(body: str) -> list[str]:
    """The ids of the HITs that a message is about, each once. Empty if it is not a known notification.

    >>> hits_in('{"EventDocVersion": "2014-08-15", "Events": [{"EventType": "HITReviewable", "HITId": "H1"}]}')
    ['H1']
    """
    try:
        document = json.loads(body)
        if isinstance(document, dict) and isinstance(document.get("Message"), str):
            document = json.loads(document["Message"])  # it came through SNS
        events = document["Events"]
        return list(dict.fromkeys(str(event["HITId"]) for event in events if event.get("HITId")))
    except (ValueError, KeyError, TypeError, AttributeError):
        logger.warning("A message in the queue is not a notification from MTurk: %.200s", body)
        return []


def subscription(hit_type_id: str) -> dict[str, Any]:
    """Parameters of UpdateNotificationSettings: send the events of this HIT type's HITs to the queue."""
    return {
        "HITTypeId": hit_type_id,
        "Notification": {
            "Destination": settings.MTURK_QUEUE_URL,
            "Transport": "SQS",
            "Version": "2006-05-05",
            "EventTypes": list(EVENTS),
        },
        "Active": True,
    }


@lru_cache(maxsize=4)
def _client(url: str, region: str, access_key_id: str, secret: str) -> Any:
    import boto3
    from botocore.config import Config

    parts = urlsplit(url)
    return boto3.session.Session().client(
        "sqs",
        endpoint_url=f"{parts.scheme}://{parts.netloc}",
        region_name=region,
        aws_access_key_id=access_key_id,
        aws_secret_access_key=secret,
        config=Config(retries={"mode": "standard", "total_max_attempts": 2}, connect_timeout=5, read_timeout=30),
    )
