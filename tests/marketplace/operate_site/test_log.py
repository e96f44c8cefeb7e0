"""The audit log: every call of the API that changes something is in it, with the key's id, and requesters see theirs.

Calls are made as clients make them: signed by boto3, over HTTP. Which operations change something is decided by their
names in AWS's service model: those that do not begin with Get, List or SendTest.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

import marketplace
from marketplace import clock
from marketplace.models import AuditRow, Requester
from marketplace.operations.registry import Call, handlers
from marketplace.services import audit_log
from marketplace.services.accounts import requester_accounts, worker_accounts
from marketplace.services.qualifications import grants, qualification_types
from marketplace.sites.operate import queries
from marketplace.wire import service
from tests.marketplace.support import in_process
from tests.marketplace.support.clients import Key, boto3_client
from tests.marketplace.support.operate_site import make_operator, make_requester, make_user, make_worker, signed_in
from tests.marketplace.support.world import FORM, TYPE, WORK, World

READS = ("Get", "List", "SendTest")


def test_the_operations_that_are_logged_are_those_that_change_something() -> None:
    assert set(audit_log.CHANGES) == {name for name in service.operations() if not name.startswith(READS)}


@pytest.fixture
def lab(db: None) -> Requester:
    cache.clear()
    return make_requester(name="Speech lab", balance="500.00", user=make_user("sue"))


@pytest.fixture
def key(lab: Requester) -> requester_accounts.NewKey:
    return requester_accounts.create_access_key(requester=lab, actor="test")


@pytest.fixture
def world(key: requester_accounts.NewKey) -> World:
    client = boto3_client(in_process.ADDRESS, Key(key.key.access_key_id, key.secret))
    return World(client=client, stranger=None, poor=None)


def calls(world: World) -> dict[str, tuple[str, dict[str, Any], str]]:
    """By operation: boto3's method, its arguments, and the id that the row should be about; "" for one that is new."""
    approved = {"AssignmentId": world.submitted()}
    rejected = {"AssignmentId": world.submitted(), "RequesterFeedback": "Empty."}
    paid = world.approved()
    hit, gone, reviewed = world.hit(MaxAssignments=1)["HITId"], world.reviewable(), world.reviewable()
    type_, other_type = world.qualification_type(), world.qualification_type()
    asked, refused = world.qualification_request(), world.qualification_request()
    worker, blocked = world.qualified(type_), world.worker()
    hit_type = world.hit_type(Title="Another")
    notification = {
        "Destination": "https://queue.example/1/q", "Transport": "SQS", "Version": "2014-08-15",
        "EventTypes": ["HITExpired"],
    }  # fmt: skip
    return {
        "CreateHITType": ("create_hit_type", {**TYPE, "Title": "New"}, ""),
        "CreateHIT": ("create_hit", {**TYPE, **WORK}, ""),
        "CreateHITWithHITType": ("create_hit_with_hit_type", {"HITTypeId": hit_type, **WORK}, ""),
        "CreateAdditionalAssignmentsForHIT": (
            "create_additional_assignments_for_hit", {"HITId": hit, "NumberOfAdditionalAssignments": 1}, hit,
        ),
        "UpdateExpirationForHIT": (
            "update_expiration_for_hit", {"HITId": hit, "ExpireAt": clock.now() + timedelta(days=2)}, hit,
        ),
        "UpdateHITReviewStatus": ("update_hit_review_status", {"HITId": reviewed}, reviewed),
        "UpdateHITTypeOfHIT": ("update_hit_type_of_hit", {"HITId": hit, "HITTypeId": hit_type}, hit),
        "DeleteHIT": ("delete_hit", {"HITId": gone}, gone),
        "UpdateNotificationSettings": (
            "update_notification_settings", {"HITTypeId": hit_type, "Notification": notification}, hit_type,
        ),
        "ApproveAssignment": ("approve_assignment", approved, approved["AssignmentId"]),
        "RejectAssignment": ("reject_assignment", rejected, rejected["AssignmentId"]),
        "SendBonus": ("send_bonus", world.bonus(paid), paid),
        "CreateWorkerBlock": ("create_worker_block", {"WorkerId": blocked.worker_id, "Reason": "x"}, blocked.worker_id),
        "DeleteWorkerBlock": ("delete_worker_block", {"WorkerId": blocked.worker_id}, blocked.worker_id),
        "NotifyWorkers": (
            "notify_workers", {"Subject": "Hi", "MessageText": "Secret text", "WorkerIds": [world.worker_of(paid)]}, "",
        ),
        "CreateQualificationType": (
            "create_qualification_type",
            {"Name": "N", "Description": "D", "QualificationTypeStatus": "Active", "Test": FORM,
             "TestDurationInSeconds": 60}, "",
        ),
        "UpdateQualificationType": (
            "update_qualification_type", {"QualificationTypeId": type_, "Description": "Other"}, type_,
        ),
        "DeleteQualificationType": ("delete_qualification_type", {"QualificationTypeId": other_type}, other_type),
        "AcceptQualificationRequest": ("accept_qualification_request", {"QualificationRequestId": asked}, asked),
        "RejectQualificationRequest": ("reject_qualification_request", {"QualificationRequestId": refused}, refused),
        "AssociateQualificationWithWorker": (
            "associate_qualification_with_worker",
            {"QualificationTypeId": type_, "WorkerId": blocked.worker_id, "IntegerValue": 7}, type_,
        ),
        "DisassociateQualificationFromWorker": (
            "disassociate_qualification_from_worker", {"QualificationTypeId": type_, "WorkerId": worker.worker_id},
            type_,
        ),
    }  # fmt: skip


def id_in(answer: dict[str, Any]) -> str:
    for name in ("HIT", "QualificationType"):
        if name in answer:
            return str(answer[name][f"{name}Id"])
    return str(answer.get("HITTypeId", ""))


def test_every_call_that_changes_something_is_in_the_log(
    world: World, lab: Requester, key: requester_accounts.NewKey, settings: Any
) -> None:
    settings.MARKETPLACE_SQS_URL = "https://queue.example"
    made = calls(world)
    assert set(made) == set(audit_log.CHANGES)
    for operation, (method, arguments, about) in made.items():
        last = AuditRow.objects.order_by("-pk").values_list("pk", flat=True)[0]
        answer = getattr(world.client, method)(**arguments)
        (row,) = AuditRow.objects.filter(pk__gt=last)
        assert (row.action, row.requester, row.actor) == (operation, lab, "Speech lab")
        assert row.access_key == key.key.access_key_id
        assert row.about == (about or id_in(answer)), operation
        assert row.kind == audit_log.CHANGES[operation]
        assert abs(row.at - clock.now()) < timedelta(minutes=1)
    stored = str(list(AuditRow.objects.values()))
    for never in (key.secret, "Secret text", "Which is a number?"):
        assert never not in stored


def test_the_log_keeps_the_important_parameters(world: World) -> None:
    paid = world.approved()
    world.client.send_bonus(**world.bonus(paid, BonusAmount="1.25", Reason="Good work."))
    row = AuditRow.objects.get(action="SendBonus")
    assert row.detail == {"WorkerId": world.worker_of(paid), "BonusAmount": "1.25", "Reason": "Good work."}
    assert AuditRow.objects.filter(action="ApproveAssignment", about=paid).count() == 1


def test_a_call_that_is_refused_is_not_in_the_log_and_reading_is_not(world: World) -> None:
    paid = world.approved()
    before = AuditRow.objects.count()
    with pytest.raises(ClientError):
        world.client.approve_assignment(AssignmentId=paid)
    with pytest.raises(ClientError):
        world.client.send_bonus(**world.bonus(paid, BonusAmount="9999"))
    world.client.get_account_balance()
    world.client.list_hits()
    world.client.get_assignment(AssignmentId=paid)
    assert AuditRow.objects.count() == before


def test_without_its_row_nothing_is_changed(world: World, lab: Requester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row and the change it records are one transaction: if it cannot be written, the work is not approved."""
    identifier = world.submitted()

    def broken(**given: Any) -> None:
        raise OSError("The disk is full.")

    monkeypatch.setattr(audit_log, "record_call", broken)
    with pytest.raises(ClientError):
        world.client.approve_assignment(AssignmentId=identifier)
    assert world.client.get_assignment(AssignmentId=identifier)["Assignment"]["AssignmentStatus"] == "Submitted"


@pytest.mark.django_db
def test_a_row_costs_one_insert() -> None:
    lab = make_requester()
    call = Call(
        requester=lab, parameters={"WorkerId": worker_accounts.create_worker(actor="t").worker_id, "Reason": "x"},
        now=clock.now(), operation="CreateWorkerBlock", access_key="AKIATEST",
    )  # fmt: skip
    with CaptureQueriesContext(connection) as asked:
        handlers()["CreateWorkerBlock"](call)
    about_the_log = [query["sql"] for query in asked if "auditrow" in query["sql"]]
    assert len(about_the_log) == 1
    assert about_the_log[0].startswith("INSERT")


# --- the pages --------------------------------------------------------------------------------------------------


def row(requester: Requester | None = None, *, action: str, kind: str = "other", days: int = 0, **given: Any) -> None:
    AuditRow.objects.create(
        at=clock.now() - timedelta(days=days), actor=given.pop("actor", "olga"), action=action, kind=kind,
        requester=requester, **given,
    )  # fmt: skip


@pytest.mark.django_db
def test_the_operator_filters_by_requester_kind_day_and_words() -> None:
    one, two = make_requester(name="Lab One", balance="0"), make_requester(name="Lab Two", balance="0")
    row(one, action="first thing", kind="money", days=10)
    row(two, action="second thing", kind="work", access_key="AKIASECOND")
    client = signed_in(make_operator())

    def shown(**query: str) -> set[str]:
        page = client.get(reverse("operate_log"), query).content.decode()
        return {word for word in ("first", "second") if f"{word} thing" in page}

    assert shown() == {"first", "second"}
    assert shown(requester="one") == {"first"}
    assert shown(kind="work") == {"second"}
    today = clock.now().date()
    assert shown(since=str(today - timedelta(days=5))) == {"second"}
    assert shown(until=str(today - timedelta(days=5))) == {"first"}
    assert shown(since=str(today - timedelta(days=10)), until=str(today - timedelta(days=10))) == {"first"}
    assert shown(q="AKIASECOND") == {"second"}
    assert shown(requester="nobody of this name") == set()
    assert client.get(reverse("operate_log"), {"since": "soon"}).status_code == 422
    assert client.get(reverse("operate_log"), {"kind": "nonsense"}).status_code == 422


@pytest.mark.django_db
def test_an_id_is_looked_up_as_a_whole() -> None:
    """By index, because what happened to an assignment is the usual question, even in a log of a million calls."""
    row(action="approved", about="3ASSIGNMENT01")
    row(action="other", about="3ASSIGNMENT012")
    row(action="by key", access_key="AKIA0123456789")
    worker = make_worker()
    row(action="by worker", worker=worker)
    if connection.vendor == "postgresql":  # which reads so small a table whole, index or not
        connection.cursor().execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off")
    for identifier, action, indexes in (
        ("3ASSIGNMENT01", "approved", {"market_audit_about"}),
        ("AKIA0123456789", "by key", {"market_audit_about", "market_audit_key"}),
        (worker.worker_id, "by worker", {"market_audit_about", "worker_id"}),
    ):
        found = queries.log(q=identifier)
        others = {"approved", "other", "by key", "by worker"} - {action}
        actions = {each.action for each in found}  # making the worker left a row about it, too
        assert action in actions
        assert not others & actions
        assert all(index in found.explain() for index in indexes), found.explain()


@pytest.mark.django_db
def test_a_requester_sees_its_own_rows_and_no_others() -> None:
    mine, other = make_requester(name="Lab One"), make_requester(name="Lab Two")
    row(mine, action="mine by olga")
    row(other, action="theirs")
    row(None, action="nobodys")
    client = signed_in(mine.user)
    page = client.get(reverse("operate_my_log")).content.decode()
    assert "mine by olga" in page
    assert "deposit" in page
    assert "theirs" not in page and "nobodys" not in page
    asked = client.get(reverse("operate_my_log"), {"requester": "Lab Two", "q": "theirs"}).content.decode()
    assert "No entries match" in asked


@pytest.mark.django_db
def test_what_operators_grant_is_in_the_log() -> None:
    worker = worker_accounts.create_worker(actor="test")
    type_ = qualification_types.find_type("2F1QJWKUDD8XADTFD2Q0G6UTO95ALH")
    grants.grant(type=type_, worker=worker, actor="olga")
    found = AuditRow.objects.get(action="qualification granted")
    assert (found.kind, found.worker) == ("qualifications", worker)


def test_every_action_has_a_kind() -> None:
    """An action that a service records and the list of kinds lacks would be found under Other only."""
    services = Path(marketplace.__file__).parent / "services"
    recorded = {name for path in services.glob("*.py") for name in re.findall(r'action="([a-z ]+)"', path.read_text())}
    assert recorded
    assert {name for name in recorded if name not in audit_log._KIND_OF} == set()


def test_amounts_are_kept_as_text(db: None) -> None:
    audit_log.record(actor="olga", action="deposit", amount=Decimal("1.50"), at=clock.now())
    assert AuditRow.objects.get().detail["amount"] == "1.50"
