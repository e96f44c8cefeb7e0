"""Whatever arrives is answered with 4xx in AWS's shape, never with 500, and the books add up afterwards.

`HITSERVER_TEST_FUZZ=2000` tries 2,000 random requests of every kind, instead of the same few every time.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from marketplace.services.money import payments
from marketplace.wire import service
from tests.marketplace.support import world as w
from tests.marketplace.support.clients import Answer, Key, call, send, signed_headers
from tests.marketplace.support.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
MANY = int(os.environ.get("HITSERVER_TEST_FUZZ", "0"))
OPERATIONS = sorted(service.operations())
#: Several operations share the things they are tried on, which take longer to make than the tries themselves.
TOGETHER = [OPERATIONS[start::6] for start in range(6)]


def tries(number: int) -> settings:
    return settings(
        max_examples=MANY or number,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=not MANY,
        database=None,
    )


def assert_no_fault(answer: Answer) -> None:
    assert answer.status == 200 or 400 <= answer.status < 500, answer.body
    assert answer.headers["Content-Type"] == "application/x-amz-json-1.1"
    content = answer.json()
    if answer.status != 200:
        assert isinstance(content["__type"], str)
        assert content.get("message") or content["Message"]


# --- Values -------------------------------------------------------------------------------------------------

TEXTS = st.text(max_size=70) | st.sampled_from(["", "0.05", "3A", "\x00", "é", "A" * 300, "\u202e", "%s%n", "../x"])
NUMBERS = st.integers(-(2**70), 2**70) | st.integers(0, 100) | st.floats() | st.sampled_from([1e308, -0.0, 2**31])
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
ANYTHING = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
UNKNOWN_MEMBERS = st.dictionaries(st.text(max_size=20), ANYTHING, max_size=2)
MONEY = st.sampled_from(["0", "0.01", "1", "1.", "00001.5", "99999999999", "9" * 60, "0.001", "-1", "1e3"])
XML = st.sampled_from([w.EXTERNAL, w.HTML, w.FORM, w.KEY, "<a>", "", "<!DOCTYPE a><a/>", w.FORM.replace("q1", "é\x01")])


@dataclass
class Things:
    """What exists, so that requests get past the first look: ids by the name of the parameter."""

    ids: dict[str, list[str]] = field(default_factory=dict)

    def value(self, name: str, shape: Any) -> SearchStrategy[Any]:
        """Mostly what the model wants, sometimes anything else."""
        return st.one_of(*[self.right(name, shape)] * 6, ANYTHING)

    def right(self, name: str, shape: Any) -> SearchStrategy[Any]:
        if name in self.ids:
            known = st.sampled_from(self.ids[name])
            return known if shape.type_name == "string" else st.lists(known, max_size=5)
        if shape.type_name == "structure":
            return self.structure(shape)
        if shape.type_name == "list":
            return st.lists(self.value(name, shape.member), max_size=3)
        if shape.type_name == "boolean":
            return st.booleans()
        if shape.type_name in ("integer", "long", "timestamp"):
            return NUMBERS | st.integers(0, 2**31)
        if name in ("Reward", "BonusAmount"):
            return MONEY
        if name in ("Question", "Test", "AnswerKey"):
            return XML
        return st.sampled_from(shape.enum) if shape.enum else TEXTS

    def structure(self, shape: Any) -> SearchStrategy[dict[str, Any]]:
        members = {name: self.value(name, member) for name, member in shape.members.items()}
        required = {name: members.pop(name) for name in shape.required_members}
        exact = st.fixed_dictionaries(required, optional=members)
        return exact | st.tuples(exact, UNKNOWN_MEMBERS).map(lambda both: {**both[1], **both[0]})


@pytest.fixture
def things(world: World) -> Things:
    """A requester's HITs, assignments and qualifications in every state."""
    hit_id, type_id = world.hit()["HITId"], world.qualification_type()
    submitted, decided = world.submitted(), [world.approved(), world.rejected()]
    worker = world.qualified(type_id)
    for _ in range(3):
        world.hit()
    token = world.client.list_hits(MaxResults=1)["NextToken"]
    work = [world.accepted(hit_id), submitted, *decided, w.NOWHERE]
    hits = [hit_id, world.disposed(), world.reviewable(), world.hit_of(submitted), w.NOWHERE]
    workers = [worker.worker_id, world.worker_of(submitted), w.NOBODY]
    builtin = ["00000000000000000071", "000000000000000000L0"]
    return Things(
        {
            "HITId": hits,
            "AssignmentId": work,
            "HITTypeId": [world.hit_type(), world.hit_type(Title="Another"), w.NOWHERE],
            "WorkerId": workers,
            "WorkerIds": workers,
            "QualificationTypeId": [type_id, world.tested_type(), *builtin, w.NOWHERE],
            "QualificationRequestId": [world.qualification_request(), w.NOWHERE],
            "NextToken": [token, "", "x"],
            "UniqueRequestToken": ["t1", "t2"],
        }
    )


@pytest.fixture(autouse=True)
def books_add_up(db: None, settings: Any) -> Any:
    settings.MARKETPLACE_RATE_LIMIT = 0
    settings.MARKETPLACE_CALLBACK_URL = "http://127.0.0.1:1/events"  # nobody is there
    yield
    assert payments.imbalance() == 0


@contextmanager
def undone() -> Iterator[None]:
    """The next operation finds the same things; the books have to add up before that."""
    with transaction.atomic():
        yield
        assert payments.imbalance() == 0
        transaction.set_rollback(True)


@pytest.mark.parametrize("operations", TOGETHER, ids=lambda names: names[0])
def test_values_of_every_kind_in_every_operation(
    base_url: str, key: Key, things: Things, operations: list[str]
) -> None:
    def probe(operation: str) -> None:
        @tries(40)
        @given(body=things.structure(service.operation_model(operation).input_shape))
        def send_one(body: Any) -> None:
            assert_no_fault(call(base_url, key, operation, json.dumps(body).encode()))

        send_one()

    for each in operations:
        with undone():
            probe(each)


@dataclass
class Theirs:
    """What the client has, for somebody else to find."""

    things: Things
    world: World

    def secrets(self) -> set[str]:
        """Ids that only the client may read. Those of qualification types and of workers are not secret."""
        kinds = ("HITId", "AssignmentId", "HITTypeId", "QualificationRequestId")
        return {each for kind in kinds for each in self.things.ids[kind]} - {w.NOWHERE}

    def state(self) -> list[Any]:
        client, type_id = self.world.client, self.things.ids["QualificationTypeId"][0]
        hits = client.list_hits(MaxResults=100)["HITs"]
        return [
            hits,
            [client.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"] for hit in hits],
            client.get_account_balance()["AvailableBalance"],
            client.list_worker_blocks()["WorkerBlocks"],
            client.get_qualification_type(QualificationTypeId=type_id)["QualificationType"],
            client.list_workers_with_qualification_type(QualificationTypeId=type_id)["Qualifications"],
            client.list_qualification_requests()["QualificationRequests"],
        ]


@pytest.mark.parametrize("operations", TOGETHER, ids=lambda names: names[0])
def test_a_stranger_sees_and_changes_nothing(
    base_url: str, stranger_key: Key, world: World, things: Things, operations: list[str]
) -> None:
    """Somebody else with an account and money, who knows all the client's ids."""
    theirs = Theirs(things, world)
    before, secrets = theirs.state(), theirs.secrets()

    def probe(operation: str) -> None:
        @tries(25)
        @given(body=things.structure(service.operation_model(operation).input_shape))
        def send_one(body: Any) -> None:
            answer = call(base_url, stranger_key, operation, json.dumps(body).encode())

            assert_no_fault(answer)
            if answer.status == 200:
                assert not [secret for secret in secrets if secret in answer.body.decode()]

        send_one()

    for each in operations:
        with undone():
            probe(each)
            assert theirs.state() == before, each


# --- Bodies that are no JSON, or broken ---------------------------------------------------------------------

DEEP = st.integers(1, 60_000).map(lambda depth: b'{"a":' + b"[" * depth + b"]" * (depth % 2 * depth) + b"}")
NO_JSON = st.sampled_from(
    [b"", b"null", b"[]", b"7", b'"a"', b"{", b"{} {}", b'{"HITId":NaN}', b"\xff\xfe{}", b"\xef\xbb\xbf{}", b"{}\x00"]
)


@st.composite
def mangled(draw: st.DrawFn, whole: bytes) -> bytes:
    """A right body with some bytes cut, doubled or replaced by others, also such as are no UTF-8."""
    begin = draw(st.integers(0, len(whole)))
    end = draw(st.integers(begin, min(len(whole), begin + 20)))
    return whole[:begin] + draw(st.binary(max_size=6) | st.just(whole[begin:end] * 2)) + whole[end:]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_any_body_of_every_operation(base_url: str, key: Key, operation: str) -> None:
    sample = json.dumps({**w.TYPE, **w.WORK, "HITId": "3A", "AssignmentId": "3B", "WorkerId": "A1"}).encode()

    @tries(15)
    @given(body=NO_JSON | DEEP | st.binary() | mangled(sample) | ANYTHING.map(lambda value: json.dumps(value).encode()))
    def probe(body: bytes) -> None:
        assert_no_fault(call(base_url, key, operation, body))

    probe()


# --- Signatures ---------------------------------------------------------------------------------------------


@tries(150)
@given(data=st.data(), operation=st.sampled_from(OPERATIONS))
def test_a_valid_request_that_was_tampered_with_is_never_carried_out(
    base_url: str, key: Key, data: Any, operation: str
) -> None:
    headers = signed_headers(base_url, key, b"{}", target=f"MTurkRequesterServiceV20170117.{operation}")
    name = data.draw(st.sampled_from(["Authorization", "X-Amz-Date", "X-Amz-Target"]))
    value = headers[name]
    place = data.draw(st.integers(0, len(value) - 1))
    character = data.draw(st.sampled_from("aZ09/=,; .-"))
    changed = value[:place] + character + value[place + 1 :]
    if changed.lower() == value.lower() or changed.split() == value.split():
        return

    answer = send(base_url, b"{}", {**headers, name: changed})

    assert_no_fault(answer)
    assert answer.status != 200, changed
    assert "Signature" in answer.json()["__type"] or answer.json()["__type"] == "UnrecognizedClientException"


@tries(60)
@given(seconds=st.integers(-1000, 1000) | st.integers(-(10**9), 10**8), operation=st.sampled_from(OPERATIONS))
def test_a_request_is_good_for_five_minutes(base_url: str, key: Key, seconds: int, operation: str) -> None:
    """Before and after, it is refused, even from somebody who recorded it."""
    if 290 < abs(seconds) < 310:
        return
    signed_at = (timezone.now() + timedelta(seconds=seconds)).replace(tzinfo=None)
    with patch("botocore.auth.get_current_datetime", return_value=signed_at):
        answer = call(base_url, key, operation, b"[")  # which is looked at when the signature is good

    assert answer.status == 400
    good = answer.json()["__type"] == "SerializationException"
    assert good == (abs(seconds) < 300)


@tries(100)
@given(text=st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=200))
def test_any_authorization(base_url: str, text: str) -> None:
    for header in (
        text,
        f"AWS4-HMAC-SHA256 {text}",
        f"AWS4-HMAC-SHA256 Credential={text}, SignedHeaders=host, Signature=a",
    ):
        answer = send(base_url, b"{}", {"Authorization": header.strip(), "X-Amz-Date": "20260101T000000Z"})

        assert_no_fault(answer)
        assert answer.status == 400


@tries(60)
@given(target=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=80))
def test_any_target(base_url: str, key: Key, target: str) -> None:
    answer = call(base_url, key, "", target=target.strip() or "x")

    assert_no_fault(answer)
    assert answer.json()["__type"] == "UnknownOperationException"
