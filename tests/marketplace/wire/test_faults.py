"""Faults and clock moves on demand, and that nobody can order them unless it is allowed."""

import time
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from marketplace.models import Hit
from tests.marketplace.support.clients import Key, boto3_client, control
from tests.marketplace.support.world import TYPE, WORK

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("over_http")]


def order(base_url: str, key: Key, **fault: Any) -> None:
    assert control(base_url, key, "SetFaults", Faults=[fault]).status == 200


@pytest.mark.parametrize("order_", ["SetFaults", "SetClock", "GetClock", "Anything"])
def test_controls_do_not_exist_unless_they_are_allowed(base_url: str, key: Key, order_: str) -> None:
    answer = control(base_url, key, order_, Faults=[], AheadInSeconds=60)

    assert (answer.status, answer.json()["__type"]) == (400, "UnknownOperationException")


def test_controls_need_a_key(base_url: str, key: Key, allowed: None) -> None:
    assert control(base_url, Key(key.access_key_id, "wrong"), "SetClock", AheadInSeconds=60).status == 400


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "earthquake"},
        {"kind": "error", "operation": "GetHit"},
        {"kind": "error", "times": -1},
        {},
        7,
        {"kind": "error", "x": 1},
    ],
)
def test_an_invalid_fault_is_refused(base_url: str, key: Key, allowed: None, fault: Any) -> None:
    assert control(base_url, key, "SetFaults", Faults=[fault]).status == 400


@pytest.mark.parametrize(("kind", "code"), [("throttle", "ThrottlingException"), ("error", "ServiceFault")])
def test_errors_come_as_often_as_ordered(
    base_url: str, key: Key, client: Any, allowed: None, kind: str, code: str
) -> None:
    order(base_url, key, kind=kind, operation="GetAccountBalance", times=2)

    client.list_hits()
    for _ in range(2):
        with pytest.raises(ClientError) as refused:
            client.get_account_balance()
        assert refused.value.response["Error"]["Code"] == code
    client.get_account_balance()


def test_a_client_that_tries_again_survives_them(base_url: str, key: Key, allowed: None) -> None:
    order(base_url, key, kind="throttle", times=2)

    assert boto3_client(base_url, key, attempts=4).get_account_balance()["AvailableBalance"] == "1000.00"


def test_latency(base_url: str, key: Key, client: Any, allowed: None) -> None:
    order(base_url, key, kind="latency", seconds=0.7)
    begin = time.monotonic()

    client.get_account_balance()

    assert time.monotonic() - begin >= 0.7


def test_a_lost_response_after_the_write(base_url: str, key: Key, client: Any, allowed: None) -> None:
    """The HIT exists, but the client does not know. A second request with the same token says so."""
    order(base_url, key, kind="lost_response", operation="CreateHIT")
    hasty = boto3_client(base_url, key, read_seconds=2)
    with pytest.raises((BotoCoreError, OSError)):
        hasty.create_hit(**TYPE, **WORK, UniqueRequestToken="t")

    with pytest.raises(ClientError) as refused:
        client.create_hit(**TYPE, **WORK, UniqueRequestToken="t")

    assert refused.value.response["TurkErrorCode"] == "AWS.MechanicalTurk.HitAlreadyExists"
    assert Hit.objects.get().hit_id in refused.value.response["Error"]["Message"]


def test_the_clock_moves_and_clients_stay_accepted(base_url: str, key: Key, client: Any, allowed: None) -> None:
    hit_id = client.create_hit(**TYPE, **WORK)["HIT"]["HITId"]
    before = control(base_url, key, "GetClock").json()["Now"]

    moved = control(base_url, key, "SetClock", AheadInSeconds=7200).json()["Now"]

    assert 7200 <= moved - before < 7230
    assert client.get_hit(HITId=hit_id)["HIT"]["HITStatus"] == "Reviewable"


@pytest.mark.parametrize("ahead", ["60", None, True, 10**12])
def test_the_clock_accepts_whole_seconds(base_url: str, key: Key, allowed: None, ahead: Any) -> None:
    assert control(base_url, key, "SetClock", AheadInSeconds=ahead).status == 400
