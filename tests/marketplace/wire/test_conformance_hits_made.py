"""HIT types and HITs are made."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from tests.marketplace.support import world as w
from tests.marketplace.support.conformance import (
    BAD,
    MODEL,
    PERL,
    SDKS,
    UNKNOWN,
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
from tests.marketplace.support.world import NOWHERE, TYPE, WORK, World

pytestmark = pytest.mark.django_db
SUCCESSES: Successes = {}
succeeds = registers(SUCCESSES)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
MAKES = {**TYPE, **WORK}
STATE = mturk("InvalidHITState")
NO_FUNDS = "This Requester has insufficient funds in their account to complete this transaction."
FUNDS_SEEN = "seen: NRGI/resourcecontracts.org#538, facebookresearch/Mephisto#342"
DELETE_SEEN = "seen: boto/boto3#2107, jtjacques/mturk-manage#1"
XML_SEEN = "seen: boto/boto#605, boto/boto3#2108, " + PERL.removeprefix("seen: ")
BY_LAYOUT = {**TYPE, "LifetimeInSeconds": 60}


@succeeds("CreateHITType")
def same_properties_are_one_type(world: World) -> None:
    first = world.client.create_hit_type(**TYPE)["HITTypeId"]

    assert world.client.create_hit_type(**TYPE)["HITTypeId"] == first
    assert world.client.create_hit_type(**{**TYPE, "Reward": "0.51"})["HITTypeId"] != first
    assert world.stranger.create_hit_type(**TYPE)["HITTypeId"] != first


@succeeds("CreateHIT")
def a_hit_is_made_as_asked(world: World) -> None:
    before = datetime.now(UTC)
    requirement = {"QualificationTypeId": "00000000000000000040", "Comparator": "GreaterThan", "IntegerValues": [5]}
    hit = world.hit(RequesterAnnotation="batch 7", QualificationRequirements=[requirement])

    assert (hit["HITStatus"], hit["HITReviewStatus"]) == ("Assignable", "NotReviewed")
    assert (hit["MaxAssignments"], hit["NumberOfAssignmentsAvailable"]) == (2, 2)
    assert (hit["NumberOfAssignmentsPending"], hit["NumberOfAssignmentsCompleted"]) == (0, 0)
    assert (hit["Reward"], hit["Title"], hit["Question"]) == ("0.50", TYPE["Title"], w.EXTERNAL)
    assert hit["RequesterAnnotation"] == "batch 7"
    assert hit["QualificationRequirements"][0]["IntegerValues"] == [5]
    assert abs(hit["CreationTime"] - before) < timedelta(seconds=30)
    assert abs(hit["Expiration"] - hit["CreationTime"] - timedelta(hours=1)) < timedelta(seconds=1)
    assert hit["HITTypeId"] and hit["HITGroupId"]


@succeeds("CreateHIT")
def what_it_may_cost_is_held(world: World) -> None:
    world.hit()  # 2 × (0.50 + 20 %)

    assert world.balance() == "998.80"


@succeeds("CreateHIT")
def ten_assignments_cost_forty_percent(world: World) -> None:
    world.hit(MaxAssignments=10)  # 10 × (0.50 + 40 %)

    assert world.balance() == "993.00"


@succeeds("CreateHIT")
def every_kind_of_question_is_taken(world: World) -> None:
    for question in (w.EXTERNAL, w.HTML, w.FORM):
        assert world.hit(Question=question)["Question"] == question


@succeeds("CreateHIT")
def a_hit_from_a_layout(world: World) -> None:
    values = [{"Name": "sentence", "Value": "The cat sat."}]

    hit = world.client.create_hit(**BY_LAYOUT, HITLayoutId=world.layout(), HITLayoutParameters=values)["HIT"]

    assert "<p>The cat sat.</p>" in hit["Question"]
    assert hit["HITLayoutId"]


@succeeds("CreateHITWithHITType")
def a_hit_of_a_type(world: World) -> None:
    type_id = world.hit_type()

    hit = world.client.create_hit_with_hit_type(HITTypeId=type_id, **WORK)["HIT"]

    assert (hit["HITTypeId"], hit["Title"], hit["Reward"]) == (type_id, TYPE["Title"], "0.50")


# --- What is refused ----------------------------------------------------------------------------------------


def made_before(world: World) -> dict[str, Any]:
    world.client.create_hit(**MAKES, UniqueRequestToken="once")
    return {**MAKES, "UniqueRequestToken": "once"}


def made_before_of_type(world: World) -> dict[str, Any]:
    wanted = {"HITTypeId": world.hit_type(), **WORK, "UniqueRequestToken": "once"}
    world.client.create_hit_with_hit_type(**wanted)
    return wanted


def of_the_clients_layout(world: World) -> dict[str, Any]:
    type_id = world.stranger.create_hit_type(**TYPE)["HITTypeId"]
    return {"HITTypeId": type_id, "LifetimeInSeconds": 60, "HITLayoutId": world.layout()}


def wrong_work(world: World, change: dict[str, Any]) -> dict[str, Any]:
    return {"HITTypeId": world.hit_type(), **WORK, **change}


WRONG_TYPES: dict[str, dict[str, Any]] = {
    "title too long": {"Title": "x" * 129},
    "duration too short": {"AssignmentDurationInSeconds": 29},
    "duration too long": {"AssignmentDurationInSeconds": 31_536_001},
    "approval delay too long": {"AutoApprovalDelayInSeconds": 2_592_001},
    "no comparator's value": {
        "QualificationRequirements": [{"QualificationTypeId": "00000000000000000040", "Comparator": "EqualTo"}]
    },
}
WRONG_WORK: dict[str, dict[str, Any]] = {
    "lifetime too short": {"LifetimeInSeconds": 29},
    "lifetime too long": {"LifetimeInSeconds": 31_536_001},
    "no assignments": {"MaxAssignments": 0},
    "annotation too long": {"RequesterAnnotation": "x" * 256},
}
WRONG_QUESTIONS = {
    "broken XML": "<ExternalQuestion>",
    "no XML": "who what?",
    "entities": '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + w.EXTERNAL,
    "another scheme": w.EXTERNAL.replace("https:", "javascript:"),
    "another element": "<Question/>",
}
NEEDS_UNKNOWN = {"QualificationRequirements": [{"QualificationTypeId": NOWHERE, "Comparator": "Exists"}]}

TYPES = [
    *[No("CreateHITType", why, given(change, **TYPE), BAD, WRONG) for why, change in WRONG_TYPES.items()],
    No(
        "CreateHITType",
        "unknown qualification",
        given(NEEDS_UNKNOWN, **TYPE),
        mturk("QualificationTypeDoesNotExist"),
        source=UNKNOWN["QualificationType"],
        says=f"{NOWHERE} does not exist.",
    ),
]
MAKING = [
    *[No("CreateHIT", why, given(change, **MAKES), BAD, WRONG) for why, change in (WRONG_TYPES | WRONG_WORK).items()],
    *[
        No("CreateHIT", f"question: {why}", given({"Question": question}, **MAKES), mturk("XMLParseError"), WRONG)
        for why, question in WRONG_QUESTIONS.items()
        if why != "no XML"
    ],
    No(
        "CreateHIT",
        "question: no XML",
        given({"Question": WRONG_QUESTIONS["no XML"]}, **MAKES),
        mturk("XMLParseError"),
        WRONG,
        source=XML_SEEN,
        says="There was an error parsing the XML question or answer data in your request.",
    ),
    No(
        "CreateHIT",
        "oversize question",
        given({"Question": w.EXTERNAL.replace("a=1", "a=" + "x" * 65_535)}, **MAKES),
        mturk("ParameterTooLong"),
        WRONG,
    ),
    No("CreateHIT", "no question", given(BY_LAYOUT), BAD, WRONG, source=PERL),
    No(
        "CreateHIT",
        "unknown qualification",
        given(NEEDS_UNKNOWN, **MAKES),
        mturk("QualificationTypeDoesNotExist"),
        source=UNKNOWN["QualificationType"],
    ),
    No(
        "CreateHIT",
        "not enough money",
        given(MAKES),
        mturk("InsufficientFunds"),
        who="poor",
        source=FUNDS_SEEN,
        says=NO_FUNDS,
    ),
    No(
        "CreateHIT",
        "token used",
        made_before,
        mturk("HitAlreadyExists"),
        source=MODEL,
        says='The HIT with ID "',
    ),
    No(
        "CreateHIT",
        "unknown HITLayoutId",
        given({"HITLayoutId": NOWHERE}, **BY_LAYOUT),
        mturk("HITLayoutDoesNotExist"),
        source=SDKS,
    ),
    No(
        "CreateHIT",
        "someone else's HITLayoutId",
        lambda world: {**BY_LAYOUT, "HITLayoutId": world.layout()},
        mturk("HITLayoutDoesNotExist"),
        who="stranger",
        source=SDKS,
    ),
    *ids("CreateHITWithHITType", "HITTypeId", "HITType", World.hit_type, **WORK),
    *[
        No(
            "CreateHITWithHITType",
            why,
            partial(wrong_work, change=change),
            BAD,
            WRONG,
        )
        for why, change in WRONG_WORK.items()
    ],
    No("CreateHITWithHITType", "token used", made_before_of_type, mturk("HitAlreadyExists"), source=MODEL),
    No(
        "CreateHITWithHITType",
        "unknown HITLayoutId",
        lambda world: {"HITTypeId": world.hit_type(), "LifetimeInSeconds": 60, "HITLayoutId": NOWHERE},
        mturk("HITLayoutDoesNotExist"),
        source=SDKS,
    ),
    No(
        "CreateHITWithHITType",
        "someone else's HITLayoutId",
        of_the_clients_layout,
        mturk("HITLayoutDoesNotExist"),
        who="stranger",
        source=SDKS,
    ),
]
REFUSALS = [*TYPES, *MAKING]


@pytest.mark.parametrize("case", each_success(SUCCESSES))
def test_success(world: World, case: tuple[str, Act]) -> None:
    assert_success(world, case)


@pytest.mark.parametrize("case", each_refusal(REFUSALS))
def test_refusal(world: World, case: No) -> None:
    assert_refusal(world, case)
