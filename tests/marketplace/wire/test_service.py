"""Reading requests and writing responses by the service model."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from botocore.parsers import JSONParser

from marketplace.operations import registry
from marketplace.wire import service
from marketplace.wire.errors import ProtocolError

HIT = {
    "LifetimeInSeconds": 3600,
    "AssignmentDurationInSeconds": 600,
    "Reward": "0.05",
    "Title": "A title",
    "Description": "A description",
}


def test_every_operation_of_the_model_has_a_handler_and_nothing_else_has() -> None:
    assert set(registry.handlers()) == set(service.model().operation_names)


def test_a_handler_without_an_operation_is_an_error() -> None:
    with pytest.raises(LookupError, match="CreateHit"):
        registry.operation("CreateHit")


def test_parameters_come_through() -> None:
    given = {
        **HIT,
        "MaxAssignments": 3,
        "QualificationRequirements": [{"QualificationTypeId": "3A", "Comparator": "In"}],
    }

    assert service.parameters_of("CreateHIT", given) == given


def test_null_is_absent_and_unknown_members_are_left_out() -> None:
    given = {**HIT, "Keywords": None, "SomethingNew": {"deep": [1]}}

    assert service.parameters_of("CreateHIT", given) == HIT


@pytest.mark.parametrize("seconds", [1767225600, 1767225600.0])
def test_times_are_seconds_since_1970(seconds: float) -> None:
    parameters = service.parameters_of("UpdateExpirationForHIT", {"HITId": "3A", "ExpireAt": seconds})

    assert parameters["ExpireAt"] == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("operation", "body", "says"),
    [
        ("GetHIT", {}, "Value null at 'hITId' failed to satisfy constraint: Member must not be null"),
        ("GetHIT", {"HITId": ""}, "length greater than or equal to 1"),
        ("GetHIT", {"HITId": "A" * 65}, "length less than or equal to 64"),
        ("GetHIT", {"HITId": "lower case"}, "regular expression"),
        ("GetHIT", {"HITId": "A\n"}, "regular expression"),
        ("ListHITs", {"MaxResults": 0}, "value greater than or equal to 1"),
        ("ListHITs", {"MaxResults": 101}, "value less than or equal to 100"),
        ("CreateHIT", {**HIT, "Reward": "1.234"}, "regular expression"),
        ("CreateHIT", {**HIT, "Reward": "-1"}, "regular expression"),
        ("ListReviewableHITs", {"Status": "Assignable"}, "enum value set: [Reviewable, Reviewing]"),
        ("ListAssignmentsForHIT", {"HITId": "3A", "AssignmentStatuses": ["Accepted"]}, "enum value set"),
        ("CreateHIT", {"Title": "x"}, "4 validation errors detected"),
    ],
)
def test_what_the_service_model_forbids_is_refused_in_its_words(
    operation: str, body: dict[str, Any], says: str
) -> None:
    with pytest.raises(ProtocolError) as refused:
        service.parameters_of(operation, body)

    assert refused.value.type == "ValidationException"
    assert says in refused.value.message


def test_an_answer_does_not_grow_with_the_number_of_mistakes() -> None:
    body = {"Subject": "s", "MessageText": "m", "WorkerIds": ["no worker"] * 100_000}

    with pytest.raises(ProtocolError) as refused:
        service.parameters_of("NotifyWorkers", body)

    assert refused.value.message.startswith("50 validation errors detected: Value 'no worker' at 'workerIds.1.member'")
    assert len(refused.value.message) < 10_000


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("GetHIT", {"HITId": 3}),
        ("GetHIT", {"HITId": ["3A"]}),
        ("GetHIT", {"HITId": "3A\x00"}),
        ("GetHIT", {"HITId": "\ud800"}),
        ("ListHITs", {"MaxResults": "10"}),
        ("ListHITs", {"MaxResults": True}),
        ("ListHITs", {"MaxResults": 1.5}),
        ("ListHITs", {"MaxResults": 2**31}),
        ("UpdateExpirationForHIT", {"HITId": "3A", "ExpireAt": "tomorrow"}),
        ("UpdateExpirationForHIT", {"HITId": "3A", "ExpireAt": 1e300}),
        ("UpdateExpirationForHIT", {"HITId": "3A", "ExpireAt": True}),
        ("ApproveAssignment", {"AssignmentId": "3A", "OverrideRejection": "yes"}),
        ("NotifyWorkers", {"Subject": "s", "MessageText": "m", "WorkerIds": "A1"}),
        ("NotifyWorkers", {"Subject": "s", "MessageText": "m", "WorkerIds": [{}]}),
        ("CreateHIT", {**HIT, "QualificationRequirements": [7]}),
        ("CreateHIT", {**HIT, "LifetimeInSeconds": 2**63}),
    ],
)
def test_wrong_types_are_refused(operation: str, body: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError) as refused:
        service.parameters_of(operation, body)

    assert refused.value.type == "SerializationException"


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b"7", b'"a"', b"null", b"\xff{}", b'{"a": NaN}', b'{"a": ' + b"[" * 100_000, b"9" * 5000, b"{} {}"],
)
def test_a_body_that_is_not_a_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(ProtocolError) as refused:
        service.read_body(body)

    assert refused.value.type == "SerializationException"


@pytest.mark.parametrize("target", ["", "GetHIT", "Other.GetHIT", "MTurkRequesterServiceV20170117.GetHit"])
def test_an_unknown_operation_is_refused(target: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        service.operation_of(target)

    assert refused.value.type == "UnknownOperationException"


def test_botocore_reads_what_is_written() -> None:
    created = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
    hit = {"HITId": "3A", "CreationTime": created, "Reward": Decimal("0.50"), "MaxAssignments": 3, "Keywords": None}

    body = service.write_result("GetHIT", {"HIT": hit})

    shape = service.operation_model("GetHIT").output_shape
    parsed = JSONParser().parse({"status_code": 200, "headers": {}, "body": body}, shape)
    assert parsed["HIT"] == {"HITId": "3A", "CreationTime": created, "Reward": "0.50", "MaxAssignments": 3}
    assert b'"CreationTime":1767323045.678' in body


def test_a_member_that_the_service_model_lacks_is_our_error() -> None:
    with pytest.raises(TypeError, match="HitId"):
        service.write_result("GetHIT", {"HIT": {"HitId": "3A"}})
