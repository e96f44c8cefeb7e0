"""The ways to send a notification: an SQS queue, an SNS topic, an e-mail, and the callback in this server's settings.

The server only connects to the addresses in its own settings. A requester's destination names a queue or a topic
there. E-mail goes only to the requester's own addresses, so that nobody can make this server write to strangers.
"""

from __future__ import annotations

import json
import re
import urllib.request
from functools import lru_cache
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import send_mail
from django.core.validators import validate_email

from marketplace.models import Requester
from marketplace.services.refusals import InvalidParameter

SECONDS = 5
QUEUE_ARN = re.compile(r"arn:aws[a-z-]*:sqs:[a-z0-9-]+:([0-9]{12}):([A-Za-z0-9_-]{1,80}(?:\.fifo)?)")
QUEUE_PATH = re.compile(r"/([0-9]{12})/[A-Za-z0-9_-]{1,80}(?:\.fifo)?")
TOPIC_ARN = re.compile(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}(?:\.fifo)?")


class Undelivered(Exception):
    """The message does not seem to have arrived. Another try may succeed."""


def check_destination(transport: str, destination: str) -> None:
    """Check that this can be a destination of the transport, wherever it is. Raises InvalidParameter."""
    named = f"“{destination[:100]}” is not"
    if transport == "SQS" and not (QUEUE_ARN.fullmatch(destination) or _is_address(destination)):
        raise InvalidParameter("Destination", f"{named} the URL or the ARN of an SQS queue.")
    if transport == "SNS" and not TOPIC_ARN.fullmatch(destination):
        raise InvalidParameter("Destination", f"{named} the ARN of an SNS topic.")
    if transport == "Email":
        try:
            validate_email(destination)
        except ValidationError:
            raise InvalidParameter("Destination", f"{named} an e-mail address.") from None
    allowed_accounts = settings.MARKETPLACE_SQS_ACCOUNTS
    if allowed_accounts and transport in ("SQS", "SNS"):
        if destination.startswith("arn:"):
            account = destination.split(":")[4]
        else:
            queue = QUEUE_PATH.fullmatch(urlsplit(destination).path)
            account = queue[1] if queue else ""
        if account not in allowed_accounts:
            what = f"This marketplace only notifies queues and topics of the AWS account {', '.join(allowed_accounts)}"
            raise InvalidParameter("Destination", f"{what}, not “{destination[:100]}”.")


def why_not(transport: str, destination: str, requester: Requester) -> str:
    """Why this server has no way to deliver there; empty if it has one."""
    if settings.MARKETPLACE_CALLBACK_URL:
        return ""
    if transport == "SQS" and not settings.MARKETPLACE_SQS_URL:
        return "This marketplace has no SQS service. Ask its operator to set HITSERVER_MARKETPLACE_SQS_URL."
    if transport == "SNS" and not settings.MARKETPLACE_SNS_URL:
        return "This marketplace has no SNS service. Ask its operator to set HITSERVER_MARKETPLACE_SNS_URL."
    return _why_no_email(destination, requester) if transport == "Email" else ""


def _why_no_email(destination: str, requester: Requester) -> str:
    if not settings.EMAIL_HOST:
        return "This marketplace sends no e-mail. Ask its operator to set HITSERVER_EMAIL_HOST."
    own_addresses = (requester.email, requester.user.email if requester.user else "")
    if destination.lower() not in {address.lower() for address in own_addresses if address}:
        return "E-mail goes only to the requester's own address, as the operator has it or as your user has it."
    return ""


def send(transport: str, destination: str, message: dict[str, Any], requester: Requester) -> None:
    """Deliver one message, and to the callback too if there is one. Raises Undelivered."""
    text = json.dumps(message)
    try:
        if transport == "SQS" and settings.MARKETPLACE_SQS_URL:
            queue = QUEUE_ARN.fullmatch(destination)
            queue_url = f"{settings.MARKETPLACE_SQS_URL.rstrip('/')}/{queue[1]}/{queue[2]}" if queue else destination
            _client_of("SQS").send_message(QueueUrl=queue_url, MessageBody=text)
        if transport == "SNS" and settings.MARKETPLACE_SNS_URL:
            _client_of("SNS").publish(TopicArn=destination, Message=text)
    except (BotoCoreError, ClientError) as error:
        raise Undelivered(str(error)) from None
    if transport == "Email" and not _why_no_email(destination, requester):
        events = message["Events"]
        subject = f"{events[0]['EventType']} {events[0].get('HITId', '')}".strip()
        lines = [f"{name}: {value}" for event in events for name, value in (*event.items(), ("", ""))]
        body = "\n".join(line.removeprefix(": ") for line in lines)
        try:
            send_mail(subject, body, None, [destination])
        except OSError as error:
            raise Undelivered(f"The mail server did not accept it: {error}") from None
    if url := settings.MARKETPLACE_CALLBACK_URL:
        request = urllib.request.Request(  # noqa: S310  the address is the operator's own
            url, data=text.encode(), headers={"Content-Type": "application/json"}, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS):  # noqa: S310
                pass
        except (URLError, OSError, ValueError) as error:
            raise Undelivered(f"{url}: {error}") from None


def _client_of(transport: str) -> Any:
    names = ("URL", "REGION", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY")
    return _client(transport.lower(), *(getattr(settings, f"MARKETPLACE_{transport}_{name}") for name in names))


@lru_cache(maxsize=8)
def _client(service: str, url: str, region: str, key: str, secret: str) -> Any:
    """The client, created once per process and setting. Without a key, boto3 looks for one in the environment."""
    keys = {"aws_access_key_id": key or None, "aws_secret_access_key": secret or None}
    config = Config(connect_timeout=SECONDS, read_timeout=SECONDS, retries={"total_max_attempts": 1})
    return boto3.session.Session().client(service, endpoint_url=url, region_name=region, config=config, **keys)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc) and len(parts.path) > 1
