"""HITs are listed, changed, reviewed and deleted."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.marketplace.support.conformance import (
    BAD,
    MODEL,
    OURS,
    PERL,
    SDKS,
    WRONG,
    Act,
    No,
    Successes,
    a_hit,
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


@succeeds("GetHIT")
def counters_follow_the_work(world: World) -> None:
    hit_id = world.hit()["HITId"]
    world.accepted(hit_id)

    hit = world.client.get_hit(HITId=hit_id)["HIT"]

    assert (hit["NumberOfAssignmentsPending"], hit["NumberOfAssignmentsAvailable"]) == (1, 1)
    world.approved(hit_id)
    hit = world.client.get_hit(HITId=hit_id)["HIT"]
    assert (hit["HITStatus"], hit["NumberOfAssignmentsCompleted"]) == ("Unassignable", 1)


@succeeds("ListHITs")
def hits_in_pages(world: World) -> None:
    made = {world.hit()["HITId"] for _ in range(5)}
    world.stranger.create_hit(**TYPE, **WORK)

    pages = world.client.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 2})

    listed = [hit["HITId"] for page in pages for hit in page["HITs"]]
    assert len(listed) == 5
    assert set(listed) == made
    assert world.client.list_hits(MaxResults=3)["NumResults"] == 3


@succeeds("ListReviewableHITs")
def hits_to_look_at(world: World) -> None:
    type_id = world.hit_type()
    done = world.client.create_hit_with_hit_type(HITTypeId=type_id, **{**WORK, "MaxAssignments": 1})["HIT"]["HITId"]
    world.submitted(done)
    world.hit()

    for filters in ({}, {"HITTypeId": type_id}, {"Status": "Reviewable"}):
        assert [hit["HITId"] for hit in world.client.list_reviewable_hits(**filters)["HITs"]] == [done]
    assert world.client.list_reviewable_hits(Status="Reviewing")["HITs"] == []


@succeeds("CreateAdditionalAssignmentsForHIT")
def more_places(world: World) -> None:
    hit_id = world.hit()["HITId"]

    world.client.create_additional_assignments_for_hit(HITId=hit_id, NumberOfAdditionalAssignments=3)

    assert world.client.get_hit(HITId=hit_id)["HIT"]["MaxAssignments"] == 5
    assert world.balance() == "997.00"


@succeeds("UpdateExpirationForHIT")
def a_time_that_is_past_ends_a_hit(world: World) -> None:
    hit_id = world.hit()["HITId"]

    world.client.update_expiration_for_hit(HITId=hit_id, ExpireAt=LONG_AGO)
    assert world.client.get_hit(HITId=hit_id)["HIT"]["HITStatus"] == "Reviewable"
    assert world.balance() == "1000.00"

    later = datetime.now(UTC).replace(microsecond=0) + timedelta(days=2)
    world.client.update_expiration_for_hit(HITId=hit_id, ExpireAt=later)
    hit = world.client.get_hit(HITId=hit_id)["HIT"]
    assert (hit["HITStatus"], hit["Expiration"]) == ("Assignable", later)


@succeeds("UpdateHITReviewStatus")
def reviewing_and_back(world: World) -> None:
    hit_id = world.reviewable()

    world.client.update_hit_review_status(HITId=hit_id)
    assert world.client.get_hit(HITId=hit_id)["HIT"]["HITStatus"] == "Reviewing"
    world.client.update_hit_review_status(HITId=hit_id, Revert=True)
    assert world.client.get_hit(HITId=hit_id)["HIT"]["HITStatus"] == "Reviewable"


@succeeds("UpdateHITTypeOfHIT")
def another_type(world: World) -> None:
    hit_id, type_id = world.hit()["HITId"], world.hit_type(Title="A better title")

    world.client.update_hit_type_of_hit(HITId=hit_id, HITTypeId=type_id)

    hit = world.client.get_hit(HITId=hit_id)["HIT"]
    assert (hit["HITTypeId"], hit["Title"]) == (type_id, "A better title")


@succeeds("DeleteHIT")
def disposed_of(world: World) -> None:
    hit_id = world.reviewable()

    world.client.delete_hit(HITId=hit_id)

    assert world.client.get_hit(HITId=hit_id)["HIT"]["HITStatus"] == "Disposed"
    assert world.client.list_hits()["HITs"] == []


@succeeds("DeleteHIT")
def disposed_of_while_reviewing(world: World) -> None:
    """Amazon's own message says that both states will do: boto/boto3#2107."""
    hit_id = world.reviewable()
    world.client.update_hit_review_status(HITId=hit_id)

    world.client.delete_hit(HITId=hit_id)

    assert world.client.get_hit(HITId=hit_id)["HIT"]["HITStatus"] == "Disposed"


@succeeds("ListReviewPolicyResultsForHIT")
def no_policy_has_no_results(world: World) -> None:
    hit_id = world.hit()["HITId"]

    assert world.client.list_review_policy_results_for_hit(HITId=hit_id)["HITId"] == hit_id


# --- What is refused ----------------------------------------------------------------------------------------


def extended_before(world: World) -> dict[str, Any]:
    wanted = {"HITId": a_hit(world), "NumberOfAdditionalAssignments": 1, "UniqueRequestToken": "once"}
    world.client.create_additional_assignments_for_hit(**wanted)
    return wanted


MORE = "CreateAdditionalAssignmentsForHIT"
CHANGING = [
    *ids("UpdateHITTypeOfHIT", "HITId", "HIT", a_hit, HITTypeId=NOWHERE),
    No(
        "UpdateHITTypeOfHIT",
        "unknown HITTypeId",
        lambda world: {"HITId": a_hit(world), "HITTypeId": NOWHERE},
        mturk("HITTypeDoesNotExist"),
    ),
    No(
        "UpdateHITTypeOfHIT",
        "someone else's HITTypeId",
        lambda world: {"HITId": a_hit(world), "HITTypeId": world.stranger.create_hit_type(**TYPE)["HITTypeId"]},
        mturk("HITTypeDoesNotExist"),
    ),
    No(
        "UpdateHITTypeOfHIT",
        "disposed",
        lambda world: {"HITId": world.disposed(), "HITTypeId": world.hit_type(Title="Another")},
        STATE,
        source=SDKS,
    ),
    *ids("UpdateExpirationForHIT", "HITId", "HIT", a_hit, ExpireAt=LONG_AGO),
    No(
        "UpdateExpirationForHIT",
        "disposed",
        lambda world: {"HITId": world.disposed(), "ExpireAt": LONG_AGO},
        STATE,
        source=SDKS,
    ),
    *ids(MORE, "HITId", "HIT", a_hit, NumberOfAdditionalAssignments=1),
    No(
        MORE,
        "from nine to ten",
        lambda world: {"HITId": world.hit(MaxAssignments=9)["HITId"], "NumberOfAdditionalAssignments": 1},
        mturk("InvalidMaximumAssignmentsIncrease"),
        source=MODEL,
    ),
    No(
        MORE,
        "not enough money",
        lambda world: {"HITId": world.hit(Reward="100.00")["HITId"], "NumberOfAdditionalAssignments": 7},
        mturk("InsufficientFunds"),
        source=FUNDS_SEEN,
        says=NO_FUNDS,
    ),
    No(
        MORE,
        "token used",
        extended_before,
        mturk("HitAlreadyExtended"),
        source=OURS,  # of another operation, with these words: Dallinger/Dallinger#3109
        says='The idempotency token "once" has already been processed.',
    ),
    No(
        MORE,
        "disposed",
        lambda world: {"HITId": world.disposed(), "NumberOfAdditionalAssignments": 1},
        STATE,
        source=SDKS,
        says="This HIT is currently in the state 'Disposed'.",
    ),
    *ids("UpdateHITReviewStatus", "HITId", "HIT", World.reviewable),
    No("UpdateHITReviewStatus", "assignable", lambda world: {"HITId": a_hit(world)}, STATE, source=SDKS),
]
REFUSALS = [
    *CHANGING,
    *ids("GetHIT", "HITId", "HIT", a_hit),
    No("ListHITs", "made-up token", given({"NextToken": "x"}), BAD, WRONG),
    *ids("ListReviewableHITs", "HITTypeId", "HITType", World.hit_type),
    *ids("ListReviewPolicyResultsForHIT", "HITId", "HIT", a_hit),
    *ids("DeleteHIT", "HITId", "HIT", World.reviewable),
    No(
        "DeleteHIT",
        "assignable",
        lambda world: {"HITId": a_hit(world)},
        STATE,
        source=DELETE_SEEN,
        says="This operation can be called with a status of: Reviewing, Reviewable",
    ),
    No(
        "DeleteHIT",
        "undecided work",
        lambda world: {"HITId": world.hit_of(world.submitted())},
        STATE,
        source=DELETE_SEEN,
    ),
]


@pytest.mark.parametrize("case", each_success(SUCCESSES))
def test_success(world: World, case: tuple[str, Act]) -> None:
    assert_success(world, case)


@pytest.mark.parametrize("case", each_refusal(REFUSALS))
def test_refusal(world: World, case: No) -> None:
    assert_refusal(world, case)
