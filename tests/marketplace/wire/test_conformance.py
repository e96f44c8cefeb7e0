"""Every operation of the API as boto3 sees it: that it does what it says, and every way in which it says no.

A test holds both tables against the service model, so that no operation can be left out. The model names no error
codes: those expected here follow Amazon's public error lists as far as they were at hand, and are ours otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from marketplace.services import assignments
from marketplace.wire import service
from tests.marketplace.wire import world as w
from tests.marketplace.wire.world import NOBODY, NOWHERE, TYPE, WORK, World

pytestmark = pytest.mark.django_db(transaction=True)
Act = Callable[[World], Any]
SUCCESS: dict[str, list[Act]] = {}
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def world(client: Any, stranger: Any, poor: Any) -> World:
    return World(client=client, stranger=stranger, poor=poor)


def succeeds(operation: str) -> Callable[[Act], Act]:
    def register(act: Act) -> Act:
        SUCCESS.setdefault(operation, []).append(act)
        return act

    return register


# --- HITs ---------------------------------------------------------------------------------------------------


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


@succeeds("CreateHITWithHITType")
def a_hit_of_a_type(world: World) -> None:
    type_id = world.hit_type()

    hit = world.client.create_hit_with_hit_type(HITTypeId=type_id, **WORK)["HIT"]

    assert (hit["HITTypeId"], hit["Title"], hit["Reward"]) == (type_id, TYPE["Title"], "0.50")


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


# --- Assignments --------------------------------------------------------------------------------------------


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


# --- Money --------------------------------------------------------------------------------------------------


@succeeds("GetAccountBalance")
def the_balance(world: World) -> None:
    assert world.client.get_account_balance()["AvailableBalance"] == "1000.00"
    assert world.poor.get_account_balance()["AvailableBalance"] == "0.00"


@succeeds("SendBonus")
def a_bonus_is_paid_with_its_fee(world: World) -> None:
    identifier = world.approved()
    before = Decimal(world.balance())

    world.client.send_bonus(**world.bonus(identifier))

    assert before - Decimal(world.balance()) == Decimal("1.50")  # 1.25 + 20 %


@succeeds("ListBonusPayments")
def bonuses_by_hit_and_by_assignment(world: World) -> None:
    identifier = world.approved()
    world.client.send_bonus(**world.bonus(identifier))

    for filters in ({"HITId": world.hit_of(identifier)}, {"AssignmentId": identifier}):
        (payment,) = world.client.list_bonus_payments(**filters)["BonusPayments"]
        assert (payment["BonusAmount"], payment["Reason"]) == ("1.25", "Good work.")
        assert (payment["AssignmentId"], payment["WorkerId"]) == (identifier, world.worker_of(identifier))
        assert payment["GrantTime"]


# --- Qualifications -----------------------------------------------------------------------------------------


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


# --- Workers ------------------------------------------------------------------------------------------------


@succeeds("CreateWorkerBlock")
def a_blocked_worker_accepts_nothing(world: World) -> None:
    worker, hit_id = world.worker(), world.hit()["HITId"]

    world.client.create_worker_block(WorkerId=worker.worker_id, Reason="Copies answers.")

    with pytest.raises(assignments.Refused):
        world.accepted(hit_id, worker)


@succeeds("ListWorkerBlocks")
def who_is_blocked(world: World) -> None:
    worker = world.worker()
    world.client.create_worker_block(WorkerId=worker.worker_id, Reason="Copies answers.")

    (block,) = world.client.list_worker_blocks()["WorkerBlocks"]

    assert block == {"WorkerId": worker.worker_id, "Reason": "Copies answers."}
    assert world.stranger.list_worker_blocks()["WorkerBlocks"] == []


@succeeds("DeleteWorkerBlock")
def a_block_is_lifted(world: World) -> None:
    worker, hit_id = world.worker(), world.hit()["HITId"]
    world.client.create_worker_block(WorkerId=worker.worker_id, Reason="Copies answers.")

    world.client.delete_worker_block(WorkerId=worker.worker_id, Reason="Talked about it.")

    assert world.client.list_worker_blocks()["WorkerBlocks"] == []
    assert world.accepted(hit_id, worker)


@succeeds("NotifyWorkers")
def workers_are_written_to(world: World) -> None:
    """One whose work the requester never decided on is reported and does not keep the others from their message."""
    known = world.worker_of(world.approved())

    answer = world.client.notify_workers(Subject="Thanks", MessageText="See you.", WorkerIds=[known, NOBODY])

    (failure,) = answer["NotifyWorkersFailureStatuses"]
    assert (failure["WorkerId"], failure["NotifyWorkersFailureCode"]) == (NOBODY, "HardFailure")
    from marketplace.models import Message

    assert [message.worker.worker_id for message in Message.objects.all()] == [known]


# --- Notifications, files, policies -------------------------------------------------------------------------


def notification(**changes: Any) -> dict[str, Any]:
    return {
        "Destination": "https://sqs.us-east-1.amazonaws.com/123456789012/queue",
        "Transport": "SQS",
        "Version": "2014-08-15",
        "EventTypes": ["AssignmentSubmitted"],
        **changes,
    }


@pytest.fixture(autouse=True)
def outbox(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What is sent to the callback; the way of a message is tested in test_notifications."""
    sent: list[dict[str, Any]] = []
    settings.MARKETPLACE_CALLBACK_URL = "https://example.org/events"
    monkeypatch.setattr(
        "marketplace.wire.notifications._send", lambda destination, message: sent.append({destination: message})
    )
    return sent


@succeeds("UpdateNotificationSettings")
def a_notification_is_set_and_switched(world: World) -> None:
    from marketplace.models import NotificationSetting

    type_id = world.hit_type()

    world.client.update_notification_settings(HITTypeId=type_id, Notification=notification(), Active=True)
    assert NotificationSetting.objects.get().active
    world.client.update_notification_settings(HITTypeId=type_id, Active=False)
    assert not NotificationSetting.objects.get().active


@succeeds("SendTestEventNotification")
def a_test_event_is_sent(world: World) -> None:
    world.client.send_test_event_notification(Notification=notification(), TestEventType="HITExpired")


@succeeds("ListReviewPolicyResultsForHIT")
def no_policy_has_no_results(world: World) -> None:
    hit_id = world.hit()["HITId"]

    assert world.client.list_review_policy_results_for_hit(HITId=hit_id)["HITId"] == hit_id


# --- The two tables -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class No:
    """One way in which an operation refuses: `parameters` makes the call's from a world; `who` calls."""

    operation: str
    why: str
    parameters: Act
    code: str
    kind: str = "RequestError"
    who: str = "client"


WRONG = "ParameterValidationError"
BAD = "AWS.MechanicalTurk.InvalidParameterValue"
MAKES = {**TYPE, **WORK}


def mturk(code: str) -> str:
    return f"AWS.MechanicalTurk.{code}"


def ids(operation: str, parameter: str, kind: str, mine: Act, **others: Any) -> list[No]:
    """An id that nobody has and one that is somebody else's are refused alike. Qualification types everybody sees."""
    code = mturk(f"{kind}DoesNotExist")
    theirs = mturk("PermissionDeniedException") if kind == "QualificationType" else code
    return [
        No(operation, f"unknown {parameter}", lambda world: {parameter: NOWHERE, **others}, code),
        No(
            operation,
            f"someone else's {parameter}",
            lambda world: {parameter: mine(world), **others},
            theirs,
            who="stranger",
        ),
    ]


def a_hit(world: World) -> str:
    return str(world.hit()["HITId"])


def hit_cases() -> list[No]:
    long = w.EXTERNAL.replace("a=1", "a=" + "x" * 65_535)
    token = {"UniqueRequestToken": "once"}

    def again(world: World) -> dict[str, Any]:
        world.client.create_hit(**MAKES, **token)
        return {**MAKES, **token}

    def extended(world: World) -> dict[str, Any]:
        given = {"HITId": a_hit(world), "NumberOfAdditionalAssignments": 1, **token}
        world.client.create_additional_assignments_for_hit(**given)
        return given

    wrong_types = [
        ("title too long", {"Title": "x" * 129}),
        ("duration too short", {"AssignmentDurationInSeconds": 29}),
        ("duration too long", {"AssignmentDurationInSeconds": 31_536_001}),
        ("approval delay too long", {"AutoApprovalDelayInSeconds": 2_592_001}),
        (
            "no comparator's value",
            {"QualificationRequirements": [{"QualificationTypeId": "00000000000000000040", "Comparator": "EqualTo"}]},
        ),
    ]
    wrong_work = [
        ("lifetime too short", {"LifetimeInSeconds": 29}),
        ("lifetime too long", {"LifetimeInSeconds": 31_536_001}),
        ("no assignments", {"MaxAssignments": 0}),
        ("annotation too long", {"RequesterAnnotation": "x" * 256}),
    ]
    wrong_questions = [
        ("broken XML", "<ExternalQuestion>"),
        ("entities", '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + w.EXTERNAL),
        ("not https", w.EXTERNAL.replace("https:", "javascript:")),
        ("another element", "<Question/>"),
    ]
    return [
        *[
            No("CreateHITType", why, lambda world, change=change: {**TYPE, **change}, BAD, WRONG)
            for why, change in wrong_types
        ],
        *[
            No("CreateHIT", why, lambda world, change=change: {**MAKES, **change}, BAD, WRONG)
            for why, change in wrong_types
        ],
        *[
            No("CreateHIT", why, lambda world, change=change: {**MAKES, **change}, BAD, WRONG)
            for why, change in wrong_work
        ],
        *[
            No(
                "CreateHIT",
                f"question with {why}",
                lambda world, q=question: {**MAKES, "Question": q},
                mturk("XMLParseError"),
                WRONG,
            )
            for why, question in wrong_questions
        ],
        No(
            "CreateHIT",
            "oversize question",
            lambda world: {**MAKES, "Question": long},
            mturk("ParameterTooLong"),
            WRONG,
        ),
        No("CreateHIT", "not enough money", lambda world: MAKES, mturk("InsufficientFunds"), who="poor"),
        No("CreateHIT", "token used", again, mturk("HitAlreadyExists")),
        No(
            "CreateHIT",
            "unknown layout",
            lambda world: {**TYPE, "LifetimeInSeconds": 60, "HITLayoutId": NOWHERE},
            mturk("NotSupported"),
        ),
        *ids("CreateHITWithHITType", "HITTypeId", "HITType", World.hit_type, **WORK),
        *[
            No(
                "CreateHITWithHITType",
                why,
                lambda world, change=change: {"HITTypeId": world.hit_type(), **WORK, **change},
                BAD,
                WRONG,
            )
            for why, change in wrong_work
        ],
        *ids("GetHIT", "HITId", "HIT", a_hit),
        *ids("UpdateExpirationForHIT", "HITId", "HIT", a_hit, ExpireAt=LONG_AGO),
        No(
            "UpdateExpirationForHIT",
            "disposed",
            lambda world: {"HITId": world.disposed(), "ExpireAt": LONG_AGO},
            mturk("InvalidHITState"),
        ),
        *ids("CreateAdditionalAssignmentsForHIT", "HITId", "HIT", a_hit, NumberOfAdditionalAssignments=1),
        No(
            "CreateAdditionalAssignmentsForHIT",
            "from nine to ten",
            lambda world: {"HITId": world.hit(MaxAssignments=9)["HITId"], "NumberOfAdditionalAssignments": 1},
            mturk("InvalidMaximumAssignmentsIncrease"),
        ),
        No(
            "CreateAdditionalAssignmentsForHIT",
            "not enough money",
            lambda world: {"HITId": world.hit(Reward="100.00")["HITId"], "NumberOfAdditionalAssignments": 7},
            mturk("InsufficientFunds"),
        ),
        No("CreateAdditionalAssignmentsForHIT", "token used", extended, mturk("HitAlreadyExtended")),
        No(
            "CreateAdditionalAssignmentsForHIT",
            "disposed",
            lambda world: {"HITId": world.disposed(), "NumberOfAdditionalAssignments": 1},
            mturk("InvalidHITState"),
        ),
        *ids("UpdateHITReviewStatus", "HITId", "HIT", World.reviewable),
        No("UpdateHITReviewStatus", "assignable", lambda world: {"HITId": a_hit(world)}, mturk("InvalidHITState")),
        *ids("UpdateHITTypeOfHIT", "HITId", "HIT", a_hit, HITTypeId=NOWHERE),
        No(
            "UpdateHITTypeOfHIT",
            "unknown type",
            lambda world: {"HITId": a_hit(world), "HITTypeId": NOWHERE},
            mturk("HITTypeDoesNotExist"),
        ),
        *ids("DeleteHIT", "HITId", "HIT", World.reviewable),
        No("DeleteHIT", "assignable", lambda world: {"HITId": a_hit(world)}, mturk("InvalidHITState")),
        No(
            "DeleteHIT",
            "undecided work",
            lambda world: {"HITId": world.hit_of(world.submitted())},
            mturk("InvalidHITState"),
        ),
        *ids("ListReviewableHITs", "HITTypeId", "HITType", World.hit_type),
        No("ListHITs", "made-up token", lambda world: {"NextToken": "x"}, BAD, WRONG),
    ]


def assignment_cases() -> list[No]:
    feedback = {"RequesterFeedback": "No."}
    return [
        *ids("GetAssignment", "AssignmentId", "Assignment", World.submitted),
        No(
            "GetAssignment",
            "not submitted",
            lambda world: {"AssignmentId": world.accepted(a_hit(world))},
            mturk("InvalidAssignmentState"),
        ),
        *ids("ListAssignmentsForHIT", "HITId", "HIT", a_hit),
        *ids("ApproveAssignment", "AssignmentId", "Assignment", World.submitted),
        No(
            "ApproveAssignment",
            "not submitted",
            lambda world: {"AssignmentId": world.accepted(a_hit(world))},
            mturk("InvalidAssignmentState"),
        ),
        No(
            "ApproveAssignment",
            "approved",
            lambda world: {"AssignmentId": world.approved()},
            mturk("InvalidAssignmentState"),
        ),
        No(
            "ApproveAssignment",
            "rejected",
            lambda world: {"AssignmentId": world.rejected()},
            mturk("InvalidAssignmentState"),
        ),
        *ids("RejectAssignment", "AssignmentId", "Assignment", World.submitted, **feedback),
        No(
            "RejectAssignment",
            "approved",
            lambda world: {"AssignmentId": world.approved(), **feedback},
            mturk("InvalidAssignmentState"),
        ),
        No(
            "RejectAssignment",
            "rejected",
            lambda world: {"AssignmentId": world.rejected(), **feedback},
            mturk("InvalidAssignmentState"),
        ),
    ]


def money_cases() -> list[No]:
    def by_stranger(world: World) -> dict[str, Any]:
        return world.bonus(world.approved())

    def again(world: World) -> dict[str, Any]:
        given = world.bonus(world.approved(), UniqueRequestToken="once")
        world.client.send_bonus(**given)
        return given

    return [
        No("GetAccountBalance", "another region", lambda world: {}, "", "InvalidSignatureException", who="abroad"),
        No(
            "SendBonus",
            "unknown assignment",
            lambda world: world.bonus(NOWHERE, WorkerId=world.worker().worker_id),
            mturk("AssignmentDoesNotExist"),
        ),
        No("SendBonus", "someone else's assignment", by_stranger, mturk("AssignmentDoesNotExist"), who="stranger"),
        No(
            "SendBonus",
            "another worker",
            lambda world: world.bonus(world.approved(), WorkerId=world.worker().worker_id),
            mturk("InvalidAssignmentState"),
        ),
        No(
            "SendBonus",
            "unknown worker",
            lambda world: world.bonus(world.approved(), WorkerId=NOBODY),
            mturk("WorkerDoesNotExist"),
        ),
        No("SendBonus", "nothing", lambda world: world.bonus(world.approved(), BonusAmount="0"), BAD, WRONG),
        No(
            "SendBonus",
            "not enough money",
            lambda world: world.bonus(world.approved(), BonusAmount="9000"),
            mturk("InsufficientFunds"),
        ),
        No("SendBonus", "token used", again, mturk("BonusAlreadyGranted")),
        *ids("ListBonusPayments", "HITId", "HIT", a_hit),
        *ids("ListBonusPayments", "AssignmentId", "Assignment", World.submitted),
        No("ListBonusPayments", "neither HIT nor assignment", lambda world: {}, BAD, WRONG),
    ]


def qualification_cases() -> list[No]:
    new = {"Name": "Q", "Description": "d", "QualificationTypeStatus": "Active"}
    kind = "QualificationType"

    def twice(world: World) -> dict[str, Any]:
        world.client.create_qualification_type(**new)
        return new

    def for_worker(world: World, **more: Any) -> dict[str, Any]:
        return {"QualificationTypeId": world.qualification_type(), "WorkerId": world.worker().worker_id, **more}

    def decided(world: World) -> dict[str, Any]:
        request = world.qualification_request()
        world.client.reject_qualification_request(QualificationRequestId=request)
        return {"QualificationRequestId": request}

    return [
        No("CreateQualificationType", "name taken", twice, mturk("QualificationTypeAlreadyExists")),
        No(
            "CreateQualificationType",
            "test without duration",
            lambda world: {**new, "Test": w.FORM},
            mturk("MissingParameter"),
            WRONG,
        ),
        No(
            "CreateQualificationType",
            "broken test",
            lambda world: {**new, "Test": "<a>", "TestDurationInSeconds": 60},
            mturk("XMLParseError"),
            WRONG,
        ),
        No(
            "CreateQualificationType",
            "test and auto-grant",
            lambda world: {**new, "Test": w.FORM, "TestDurationInSeconds": 60, "AutoGranted": True},
            BAD,
            WRONG,
        ),
        No(
            "GetQualificationType",
            "unknown",
            lambda world: {"QualificationTypeId": NOWHERE},
            mturk(f"{kind}DoesNotExist"),
        ),
        *ids("UpdateQualificationType", "QualificationTypeId", kind, World.qualification_type, Description="d"),
        *ids("DeleteQualificationType", "QualificationTypeId", kind, World.qualification_type),
        No(
            "ListQualificationTypes",
            "made-up token",
            lambda world: {"MustBeRequestable": True, "NextToken": "x"},
            BAD,
            WRONG,
        ),
        *ids(
            "AssociateQualificationWithWorker",
            "QualificationTypeId",
            kind,
            World.qualification_type,
            WorkerId=NOBODY,
            IntegerValue=1,
        ),
        No(
            "AssociateQualificationWithWorker",
            "unknown worker",
            lambda world: for_worker(world, WorkerId=NOBODY),
            mturk("WorkerDoesNotExist"),
        ),
        *ids(
            "DisassociateQualificationFromWorker",
            "QualificationTypeId",
            kind,
            World.qualification_type,
            WorkerId=NOBODY,
        ),
        No("DisassociateQualificationFromWorker", "does not have it", for_worker, mturk("QualificationDoesNotExist")),
        *ids("GetQualificationScore", "QualificationTypeId", kind, World.qualification_type, WorkerId=NOBODY),
        No("GetQualificationScore", "does not have it", for_worker, mturk("QualificationDoesNotExist")),
        *ids("ListWorkersWithQualificationType", "QualificationTypeId", kind, World.qualification_type),
        *ids("ListHITsForQualificationType", "QualificationTypeId", kind, World.qualification_type)[:1],
        *ids("ListQualificationRequests", "QualificationTypeId", kind, World.qualification_type),
        *ids(
            "AcceptQualificationRequest", "QualificationRequestId", "QualificationRequest", World.qualification_request
        ),
        No("AcceptQualificationRequest", "decided", decided, mturk("InvalidQualificationRequestState")),
        *ids(
            "RejectQualificationRequest", "QualificationRequestId", "QualificationRequest", World.qualification_request
        ),
        No("RejectQualificationRequest", "decided", decided, mturk("InvalidQualificationRequestState")),
    ]


def other_cases() -> list[No]:
    email = notification(Transport="Email", Destination="lab@example.org")
    return [
        No(
            "CreateWorkerBlock",
            "unknown worker",
            lambda world: {"WorkerId": NOBODY, "Reason": "r"},
            mturk("WorkerDoesNotExist"),
        ),
        No("DeleteWorkerBlock", "unknown worker", lambda world: {"WorkerId": NOBODY}, mturk("WorkerDoesNotExist")),
        No("ListWorkerBlocks", "made-up token", lambda world: {"NextToken": "x"}, BAD, WRONG),
        No(
            "NotifyWorkers",
            "subject too long",
            lambda world: {"Subject": "x" * 201, "MessageText": "m", "WorkerIds": ["A1"]},
            BAD,
            WRONG,
        ),
        No(
            "NotifyWorkers",
            "too many workers",
            lambda world: {"Subject": "s", "MessageText": "m", "WorkerIds": [f"A{n}" for n in range(101)]},
            BAD,
            WRONG,
        ),
        *ids("UpdateNotificationSettings", "HITTypeId", "HITType", World.hit_type, Active=False),
        No(
            "UpdateNotificationSettings",
            "by e-mail",
            lambda world: {"HITTypeId": world.hit_type(), "Notification": email},
            mturk("NotSupported"),
        ),
        No(
            "UpdateNotificationSettings",
            "nothing to switch",
            lambda world: {"HITTypeId": world.hit_type(), "Active": True},
            mturk("NotificationMissing"),
        ),
        No(
            "SendTestEventNotification",
            "no queue",
            lambda world: {"Notification": notification(Destination="queue"), "TestEventType": "Ping"},
            BAD,
            WRONG,
        ),
        No(
            "SendTestEventNotification",
            "by e-mail",
            lambda world: {"Notification": email, "TestEventType": "Ping"},
            mturk("NotSupported"),
        ),
        *ids("GetFileUploadURL", "AssignmentId", "Assignment", World.submitted, QuestionIdentifier="q"),
        No(
            "GetFileUploadURL",
            "no such file",
            lambda world: {"AssignmentId": world.submitted(), "QuestionIdentifier": "q"},
            mturk("NotSupported"),
        ),
        *ids("ListReviewPolicyResultsForHIT", "HITId", "HIT", a_hit),
    ]


REFUSALS = [*hit_cases(), *assignment_cases(), *money_cases(), *qualification_cases(), *other_cases()]
# Amazon stopped taking files of workers; asking for one says so here.
NEVER_SUCCEEDS = {"GetFileUploadURL"}


def test_both_tables_have_every_operation() -> None:
    assert set(SUCCESS) | NEVER_SUCCEEDS == service.operations()
    assert {case.operation for case in REFUSALS} == service.operations()


@pytest.mark.parametrize(
    "act", [pytest.param(act, id=f"{name}-{act.__name__}") for name, acts in SUCCESS.items() for act in acts]
)
def test_success(world: World, act: Act) -> None:
    act(world)


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case.operation}-{case.why}") for case in REFUSALS])
def test_refusal(world: World, base_url: str, key: Any, case: No) -> None:
    from tests.marketplace.wire.clients import boto3_client

    callers = {"client": world.client, "stranger": world.stranger, "poor": world.poor}
    caller = callers.get(case.who) or boto3_client(base_url, key, region="eu-west-1")
    parameters = case.parameters(world)

    with pytest.raises(ClientError) as refused:
        getattr(caller, xform_name(case.operation))(**parameters)

    response = refused.value.response
    assert response["Error"]["Code"] == case.kind, response
    if case.kind == "RequestError":  # of the others the model says nothing, so boto3 hands on the message alone
        assert response["TurkErrorCode"] == case.code
    assert response["Error"]["Message"].endswith(f"{case.code})" if case.code else "")
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 400


@pytest.mark.parametrize(
    "operation",
    sorted(name for name in service.operations() if service.operation_model(name).input_shape.required_members),
)
def test_required_parameters_are_required(world: World, base_url: str, key: Any, operation: str) -> None:
    from tests.marketplace.wire.clients import call

    answer = call(base_url, key, operation, {})

    assert (answer.status, answer.json()["__type"]) == (400, "ValidationException")
    assert "Member must not be null" in answer.json()["message"]


def test_a_used_token_names_the_hit_it_made(world: World) -> None:
    hit_id = world.client.create_hit(**MAKES, UniqueRequestToken="t1")["HIT"]["HITId"]

    with pytest.raises(ClientError, match=hit_id):
        world.client.create_hit(**MAKES, UniqueRequestToken="t1")

    assert world.stranger.create_hit(**MAKES, UniqueRequestToken="t1")["HIT"]["HITId"] != hit_id
    assert len(world.client.list_hits()["HITs"]) == 1
