"""Requests for SNS and SQS that reach the endpoint, because a tool must not send the marketplace's key to Amazon."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.marketplace.support.clients import Key, boto3_client

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("over_http")]


@pytest.mark.parametrize(("service", "call", "given"), [("sns", "create_topic", {}), ("sqs", "create_queue", {})])
def test_clients_of_other_services_read_why_they_are_refused(
    base_url: str, key: Key, service: str, call: str, given: dict[str, Any]
) -> None:
    client = boto3.session.Session().client(
        service,
        endpoint_url=f"{base_url}/marketplace/api/",
        region_name="us-east-1",
        aws_access_key_id=key.access_key_id,
        aws_secret_access_key=key.secret,
    )
    name = {"sns": {"Name": "events"}, "sqs": {"QueueName": "events"}}[service]
    with pytest.raises(ClientError, match=f"Set AWS_ENDPOINT_URL_{service.upper()} to the address of one"):
        getattr(client, call)(**name, **given)


def test_newest_hits_are_listed_first_page_by_page(base_url: str, key: Key, world: Any) -> None:
    made = [world.hit()["HITId"] for _ in range(5)]
    mturk = boto3_client(base_url, key)
    pages = mturk.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 2})
    assert [hit["HITId"] for page in pages for hit in page["HITs"]] == made[::-1]
