"""Assignments: listed, approved, rejected, and the files that came with them."""

from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.test import Client

from tests.marketplace.support.conformance import (
    Act,
    No,
    Successes,
    a_hit,
    assert_refusal,
    assert_success,
    each_refusal,
    each_success,
    ids,
    mturk,
    registers,
)
from tests.marketplace.support.world import World

pytestmark = pytest.mark.django_db
SUCCESSES: Successes = {}
succeeds = registers(SUCCESSES)


@succeeds("GetAssignment")
def an_assignment_with_its_hit(world: World) -> None:
    worker, hit_id = world.worker(), world.hit()["HITId"]
    identifier = world.submitted(hit_id, worker)

    answer = world.client.get_assignment(AssignmentId=identifier)

    assignment = answer["Assignment"]
    assert (assignment["AssignmentId"], assignment["WorkerId"]) == (identifier, worker.worker_id)
    assert (assignment["HITId"], answer["HIT"]["HITId"]) == (hit_id, hit_id)
    assert assignment["AssignmentStatus"] == "Submitted"
    assert "<QuestionIdentifier>rating</QuestionIdentifier><FreeText>4</FreeText>" in assignment["Answer"]
    assert assignment["AcceptTime"] <= assignment["SubmitTime"]
    assert assignment["AutoApprovalTime"] - assignment["SubmitTime"] == timedelta(days=1)


@succeeds("ListAssignmentsForHIT")
def assignments_in_pages_and_by_status(world: World) -> None:
    hit_id = world.hit(MaxAssignments=5)["HITId"]
    made = [world.submitted(hit_id) for _ in range(3)]
    world.accepted(hit_id)
    world.client.approve_assignment(AssignmentId=made[0])

    paginator = world.client.get_paginator("list_assignments_for_hit")
    pages = paginator.paginate(HITId=hit_id, PaginationConfig={"PageSize": 2})
    assert [each["AssignmentId"] for page in pages for each in page["Assignments"]] == made
    approved = world.client.list_assignments_for_hit(HITId=hit_id, AssignmentStatuses=["Approved"])
    assert [each["AssignmentId"] for each in approved["Assignments"]] == made[:1]


@succeeds("ApproveAssignment")
def approved_and_paid(world: World) -> None:
    identifier = world.submitted()

    world.client.approve_assignment(AssignmentId=identifier, RequesterFeedback="Thank you.")

    assignment = world.client.get_assignment(AssignmentId=identifier)["Assignment"]
    assert (assignment["AssignmentStatus"], assignment["RequesterFeedback"]) == ("Approved", "Thank you.")
    assert assignment["ApprovalTime"]
    assert world.balance() == "999.40"


@succeeds("ApproveAssignment")
def a_rejection_is_taken_back(world: World) -> None:
    identifier = world.rejected()

    world.client.approve_assignment(AssignmentId=identifier, OverrideRejection=True)

    assert world.client.get_assignment(AssignmentId=identifier)["Assignment"]["AssignmentStatus"] == "Approved"
    assert world.balance() == "999.40"


@succeeds("RejectAssignment")
def rejected_and_not_paid(world: World) -> None:
    identifier = world.rejected()

    assignment = world.client.get_assignment(AssignmentId=identifier)["Assignment"]
    assert (assignment["AssignmentStatus"], assignment["RequesterFeedback"]) == ("Rejected", "Not done.")
    assert world.balance() == "1000.00"


@succeeds("GetFileUploadURL")
def a_file_that_a_worker_sent(world: World) -> None:
    identifier = world.with_file(b"a tree")

    url = world.client.get_file_upload_url(AssignmentId=identifier, QuestionIdentifier="photo")["FileUploadURL"]

    assert Client().get(urlsplit(url).path).getvalue() == b"a tree"


# --- What is refused ----------------------------------------------------------------------------------------

FEEDBACK = {"RequesterFeedback": "No."}
STATE = mturk("InvalidAssignmentState")
CAN_BE_CALLED = "This operation can be called with a status of: "
DECIDED_SEEN = "seen: Dallinger/Dallinger#1398, NRGI/resourcecontracts.org#1384"
EARLY_SEEN = "seen: facebookresearch/ParlAI#2957"
# ParlAI's mturk_manager.py and crowdresearch/daemo's mturk interface go by the words and the code.
IN_PROGRESS_SEEN = "seen: facebookresearch/ParlAI parlai/mturk/core/mturk_manager.py"


def accepted(world: World) -> dict[str, str]:
    return {"AssignmentId": world.accepted(a_hit(world))}


REFUSALS = [
    *ids("GetAssignment", "AssignmentId", "Assignment", World.submitted),
    No(
        "GetAssignment",
        "in progress",
        accepted,
        STATE,
        source=IN_PROGRESS_SEEN,
        says=CAN_BE_CALLED + "Reviewable,Approved,Rejected",
    ),
    *ids("ListAssignmentsForHIT", "HITId", "HIT", a_hit),
    *ids("ApproveAssignment", "AssignmentId", "Assignment", World.submitted),
    No("ApproveAssignment", "in progress", accepted, STATE, source=EARLY_SEEN, says=CAN_BE_CALLED + "null"),
    No(
        "ApproveAssignment",
        "approved",
        lambda world: {"AssignmentId": world.approved()},
        STATE,
        source=DECIDED_SEEN,
        says=CAN_BE_CALLED + "Submitted",
    ),
    No(
        "ApproveAssignment",
        "rejected",
        lambda world: {"AssignmentId": world.rejected()},
        STATE,
        source=DECIDED_SEEN,
        says=CAN_BE_CALLED + "Submitted",
    ),
    No(
        "ApproveAssignment",
        "approved, to be overridden",
        lambda world: {"AssignmentId": world.approved(), "OverrideRejection": True},
        STATE,
    ),
    *ids("RejectAssignment", "AssignmentId", "Assignment", World.submitted, **FEEDBACK),
    No(
        "RejectAssignment",
        "in progress",
        lambda world: {**accepted(world), **FEEDBACK},
        STATE,
        source=EARLY_SEEN,
        says=CAN_BE_CALLED + "null",
    ),
    No(
        "RejectAssignment",
        "approved",
        lambda world: {"AssignmentId": world.approved(), **FEEDBACK},
        STATE,
        source=DECIDED_SEEN,
        says=CAN_BE_CALLED + "Submitted",
    ),
    No(
        "RejectAssignment",
        "rejected",
        lambda world: {"AssignmentId": world.rejected(), **FEEDBACK},
        STATE,
        source=DECIDED_SEEN,
    ),
    *ids("GetFileUploadURL", "AssignmentId", "Assignment", World.submitted, QuestionIdentifier="q"),
    No(
        "GetFileUploadURL",
        "no file for the question",
        lambda world: {"AssignmentId": world.with_file(b"a tree"), "QuestionIdentifier": "other"},
        mturk("FileUploadDoesNotExist"),
    ),
]


@pytest.mark.parametrize("case", each_success(SUCCESSES))
def test_success(world: World, case: tuple[str, Act]) -> None:
    assert_success(world, case)


@pytest.mark.parametrize("case", each_refusal(REFUSALS))
def test_refusal(world: World, case: No) -> None:
    assert_refusal(world, case)
