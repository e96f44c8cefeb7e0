"""Qualification types, requests for them, and who has them."""

from typing import Any

import pytest

from tests.marketplace.support import world as w
from tests.marketplace.support.conformance import (
    BAD,
    PERL,
    SDKS,
    UNKNOWN_WORKER,
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
    unknown,
)
from tests.marketplace.support.world import NOBODY, World

pytestmark = pytest.mark.django_db
SUCCESSES: Successes = {}
succeeds = registers(SUCCESSES)


@succeeds("CreateQualificationType")
def a_type_with_a_test(world: World) -> None:
    answer = world.client.create_qualification_type(
        Name="Reads well",
        Description="Has passed a test.",
        Keywords="reading",
        QualificationTypeStatus="Active",
        RetryDelayInSeconds=60,
        Test=w.FORM,
        AnswerKey=w.KEY,
        TestDurationInSeconds=300,
    )["QualificationType"]

    assert (answer["Name"], answer["QualificationTypeStatus"]) == ("Reads well", "Active")
    assert (answer["Test"], answer["AnswerKey"], answer["TestDurationInSeconds"]) == (w.FORM, w.KEY, 300)
    assert (answer["RetryDelayInSeconds"], answer["AutoGranted"]) == (60, False)


@succeeds("GetQualificationType")
def a_type_as_it_was_made(world: World) -> None:
    type_id = world.qualification_type(AutoGranted=True, AutoGrantedValue=7)

    answer = world.client.get_qualification_type(QualificationTypeId=type_id)["QualificationType"]

    assert (answer["QualificationTypeId"], answer["AutoGranted"], answer["AutoGrantedValue"]) == (type_id, True, 7)


@succeeds("UpdateQualificationType")
def what_is_given_is_changed(world: World) -> None:
    type_id = world.qualification_type()

    answer = world.client.update_qualification_type(
        QualificationTypeId=type_id, Description="Other words.", QualificationTypeStatus="Inactive"
    )["QualificationType"]

    assert (answer["Description"], answer["QualificationTypeStatus"]) == ("Other words.", "Inactive")


@succeeds("DeleteQualificationType")
def a_type_is_gone(world: World) -> None:
    type_id = world.qualification_type()

    world.client.delete_qualification_type(QualificationTypeId=type_id)

    listed = world.client.list_qualification_types(MustBeRequestable=False, MustBeOwnedByCaller=True)
    assert listed["QualificationTypes"] == []


@succeeds("ListQualificationTypes")
def types_by_owner_and_word(world: World) -> None:
    mine = world.qualification_type(Name="Speaks Basque", Keywords="language")
    world.stranger.create_qualification_type(Name="Theirs", Description="d", QualificationTypeStatus="Active")

    def listed(**filters: Any) -> list[str]:
        found = world.client.list_qualification_types(**{"MustBeRequestable": False, **filters})
        return [each["QualificationTypeId"] for each in found["QualificationTypes"]]

    assert listed(MustBeOwnedByCaller=True) == [mine]
    assert listed(MustBeOwnedByCaller=True, Query="basque") == [mine]
    assert listed(MustBeOwnedByCaller=True, Query="finnish") == []


@succeeds("AssociateQualificationWithWorker")
def a_value_is_given(world: World) -> None:
    type_id = world.qualification_type()
    worker = world.qualified(type_id, 80)

    world.client.associate_qualification_with_worker(
        QualificationTypeId=type_id, WorkerId=worker.worker_id, IntegerValue=90, SendNotification=False
    )

    score = world.client.get_qualification_score(QualificationTypeId=type_id, WorkerId=worker.worker_id)
    assert score["Qualification"]["IntegerValue"] == 90


@succeeds("DisassociateQualificationFromWorker")
def a_value_is_taken_away(world: World) -> None:
    type_id = world.qualification_type()
    worker = world.qualified(type_id)

    world.client.disassociate_qualification_from_worker(
        QualificationTypeId=type_id, WorkerId=worker.worker_id, Reason="Old."
    )

    listed = world.client.list_workers_with_qualification_type(QualificationTypeId=type_id, Status="Granted")
    assert listed["Qualifications"] == []
    revoked = world.client.list_workers_with_qualification_type(QualificationTypeId=type_id, Status="Revoked")
    assert [each["WorkerId"] for each in revoked["Qualifications"]] == [worker.worker_id]


@succeeds("GetQualificationScore")
def a_score(world: World) -> None:
    type_id = world.qualification_type()
    worker = world.qualified(type_id, 80)

    got = world.client.get_qualification_score(QualificationTypeId=type_id, WorkerId=worker.worker_id)["Qualification"]

    assert (got["IntegerValue"], got["Status"]) == (80, "Granted")
    assert (got["QualificationTypeId"], got["WorkerId"]) == (type_id, worker.worker_id)
    assert got["GrantTime"]


@succeeds("ListWorkersWithQualificationType")
def who_has_it(world: World) -> None:
    type_id = world.qualification_type()
    ids = [world.qualified(type_id).worker_id for _ in range(3)]

    paginator = world.client.get_paginator("list_workers_with_qualification_type")
    pages = paginator.paginate(QualificationTypeId=type_id, PaginationConfig={"PageSize": 2})

    assert sorted(each["WorkerId"] for page in pages for each in page["Qualifications"]) == sorted(ids)


@succeeds("ListHITsForQualificationType")
def hits_that_need_it(world: World) -> None:
    type_id = world.qualification_type()
    needs = {"QualificationTypeId": type_id, "Comparator": "Exists"}
    wanted = world.hit(QualificationRequirements=[needs])["HITId"]
    world.hit()

    listed = world.client.list_hits_for_qualification_type(QualificationTypeId=type_id)["HITs"]

    assert [hit["HITId"] for hit in listed] == [wanted]


@succeeds("ListQualificationRequests")
def requests_that_wait(world: World) -> None:
    worker, type_id = world.worker(), world.tested_type()
    world.qualification_request(type_id, worker)

    for filters in ({}, {"QualificationTypeId": type_id}):
        (waiting,) = world.client.list_qualification_requests(**filters)["QualificationRequests"]
        assert (waiting["QualificationTypeId"], waiting["WorkerId"]) == (type_id, worker.worker_id)
        assert "SelectionIdentifier>a<" in waiting["Answer"]
        assert waiting["SubmitTime"]


@succeeds("AcceptQualificationRequest")
def a_request_is_granted(world: World) -> None:
    worker, type_id = world.worker(), world.tested_type()
    request = world.qualification_request(type_id, worker)

    world.client.accept_qualification_request(QualificationRequestId=request, IntegerValue=66)

    got = world.client.get_qualification_score(QualificationTypeId=type_id, WorkerId=worker.worker_id)
    assert got["Qualification"]["IntegerValue"] == 66
    assert world.client.list_qualification_requests()["QualificationRequests"] == []


@succeeds("RejectQualificationRequest")
def a_request_is_refused(world: World) -> None:
    worker, type_id = world.worker(), world.tested_type()
    request = world.qualification_request(type_id, worker)

    world.client.reject_qualification_request(QualificationRequestId=request, Reason="No.")

    assert world.client.list_qualification_requests()["QualificationRequests"] == []
    assert world.client.list_workers_with_qualification_type(QualificationTypeId=type_id)["Qualifications"] == []


@succeeds("ListQualificationTypes")
def everybodys_types_and_the_built_in_ones(world: World) -> None:
    """As the model says: all types without MustBeOwnedByCaller, "including those managed by the system"."""
    mine = world.qualification_type()
    theirs = world.stranger.create_qualification_type(
        Name="Theirs",
        Description="d",
        QualificationTypeStatus="Active",
        Test=w.FORM,
        AnswerKey=w.KEY,
        TestDurationInSeconds=60,
    )["QualificationType"]["QualificationTypeId"]

    listed = world.client.list_qualification_types(MustBeRequestable=False, MaxResults=100)["QualificationTypes"]

    by_id = {each["QualificationTypeId"]: each for each in listed}
    assert {mine, theirs, "00000000000000000071", "000000000000000000L0"} <= set(by_id)
    assert not {"Test", "AnswerKey"} & set(by_id[theirs])  # the answers are their owner's


@succeeds("ListQualificationTypes")
def types_that_can_be_asked_for(world: World) -> None:
    """Not the built-in ones, "managed by the system", and not those that are inactive."""
    mine = world.qualification_type()
    world.qualification_type(QualificationTypeStatus="Inactive")

    listed = world.client.list_qualification_types(MustBeRequestable=True, MaxResults=100)["QualificationTypes"]

    assert [each["QualificationTypeId"] for each in listed] == [mine]


# --- What is refused ----------------------------------------------------------------------------------------

KIND, ID = "QualificationType", "QualificationTypeId"
NEW = {"Name": "Q", "Description": "d", "QualificationTypeStatus": "Active"}
NAME_SEEN = "seen: Dallinger/Dallinger#3331"
GONE_SEEN = "seen: Dallinger/Dallinger#3331, boto/boto#3171"
REVOKED_SEEN = "seen: Dallinger/Dallinger#1046"  # the words; the code is in the lists of Amazon's SDKs
BROKEN = {"Test": "<a>", "TestDurationInSeconds": 60}


def twice(world: World) -> dict[str, Any]:
    world.client.create_qualification_type(**NEW)
    return NEW


def for_worker(world: World) -> dict[str, Any]:
    return {ID: world.qualification_type(), "WorkerId": world.worker().worker_id}


def for_nobody(world: World) -> dict[str, Any]:
    return {ID: world.qualification_type(), "WorkerId": NOBODY}


def revoked(world: World) -> dict[str, Any]:
    wanted = {ID: world.qualification_type()}
    wanted["WorkerId"] = world.qualified(wanted[ID]).worker_id
    world.client.disassociate_qualification_from_worker(**wanted)
    return wanted


def decided(world: World) -> dict[str, Any]:
    request = world.qualification_request()
    world.client.reject_qualification_request(QualificationRequestId=request)
    return {"QualificationRequestId": request}


def unknown_worker(operation: str) -> No:
    says = f'The value "{NOBODY}" is not valid for the parameter WorkerId.'
    return No(operation, "unknown WorkerId", for_nobody, BAD, WRONG, source=UNKNOWN_WORKER, says=says)


TYPES = [
    No(
        "CreateQualificationType",
        "name taken",
        twice,
        mturk("QualificationTypeAlreadyExists"),
        source=NAME_SEEN,
        says="You have already created a QualificationType with this name.",
    ),
    No("CreateQualificationType", "test without duration", given({"Test": w.FORM}, **NEW), BAD, WRONG),
    No(
        "CreateQualificationType",
        "broken test",
        given(BROKEN, **NEW),
        mturk("XMLParseError"),
        WRONG,
        source="seen: boto/boto3#2108, " + PERL.removeprefix("seen: "),
    ),
    No(
        "CreateQualificationType",
        "test and auto-grant",
        given({"Test": w.FORM, "TestDurationInSeconds": 60, "AutoGranted": True}, **NEW),
        BAD,
        WRONG,
    ),
    unknown("GetQualificationType", ID, KIND),
    *ids("UpdateQualificationType", ID, KIND, World.qualification_type, Description="d"),
    *ids("DeleteQualificationType", ID, KIND, World.qualification_type),
    No("ListQualificationTypes", "made-up token", given({"MustBeRequestable": True, "NextToken": "x"}), BAD, WRONG),
    unknown("ListHITsForQualificationType", ID, KIND),
]
GRANTS = [
    *ids("AssociateQualificationWithWorker", ID, KIND, World.qualification_type, WorkerId=NOBODY, IntegerValue=1),
    unknown_worker("AssociateQualificationWithWorker"),
    *ids("DisassociateQualificationFromWorker", ID, KIND, World.qualification_type, WorkerId=NOBODY),
    unknown_worker("DisassociateQualificationFromWorker"),
    No(
        "DisassociateQualificationFromWorker",
        "does not have it",
        for_worker,
        mturk("QualificationDoesNotExist"),
        source=SDKS,
    ),
    No("DisassociateQualificationFromWorker", "revoked", revoked, mturk("QualificationDoesNotExist")),
    *ids("GetQualificationScore", ID, KIND, World.qualification_type, WorkerId=NOBODY),
    unknown_worker("GetQualificationScore"),
    No(
        "GetQualificationScore",
        "does not have it",
        for_worker,
        mturk("QualificationDoesNotExist"),
        source=GONE_SEEN,
        says="You requested a Qualification that does not exist.",
    ),
    No(
        "GetQualificationScore",
        "revoked",
        revoked,
        mturk("InvalidQualificationState"),
        source=REVOKED_SEEN,
        says="This operation can be called with a status of: Granted",
    ),
    *ids("ListWorkersWithQualificationType", ID, KIND, World.qualification_type),
]
REQUEST = ("QualificationRequestId", "QualificationRequest", World.qualification_request)
REFUSALS = [
    *TYPES,
    *GRANTS,
    *ids("ListQualificationRequests", ID, KIND, World.qualification_type),
    *ids("AcceptQualificationRequest", *REQUEST),
    No("AcceptQualificationRequest", "decided", decided, mturk("InvalidQualificationRequestState"), source=SDKS),
    *ids("RejectQualificationRequest", *REQUEST),
    No("RejectQualificationRequest", "decided", decided, mturk("InvalidQualificationRequestState"), source=SDKS),
]


@pytest.mark.parametrize("case", each_success(SUCCESSES))
def test_success(world: World, case: tuple[str, Act]) -> None:
    assert_success(world, case)


@pytest.mark.parametrize("case", each_refusal(REFUSALS))
def test_refusal(world: World, case: No) -> None:
    assert_refusal(world, case)
