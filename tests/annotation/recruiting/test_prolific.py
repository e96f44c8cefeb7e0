"""A study on Prolific, against a small server made from its documentation: nothing happens twice, nothing is lost."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.models import AuditEntry, OutsideAssignment, Payment, PlatformCall, Posting, Study
from annotation.platforms import PlatformTrouble
from annotation.platforms.prolific.api import Account, Api
from annotation.platforms.prolific.platform import Prolific
from annotation.recruiting import changing_offers, deciding_on_platform, differences, publishing, syncing
from annotation.studies.storing import change_study
from annotation.work import confirmation
from common.problems import Invalid
from tests.annotation.recruiting.helpers import send_claim
from tests.annotation.recruiting.prolific_server import TOKEN, prolific_server
from tests.annotation.recruiting.prolific_server import Prolific as Server
from tests.factories import make_study

pytestmark = pytest.mark.django_db(transaction=True)
REASON = "The second and the third text are copied word for word from the examples in the instructions. " * 2


@pytest.fixture
def server() -> Iterator[Server]:
    with prolific_server() as state:
        yield state


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def prolific(server: Server, waits: list[float]) -> Prolific:
    return Prolific(Api(Account(server.address, TOKEN), sleep=waits.append))


def draft(**values: Any) -> Study:
    defaults: dict[str, Any] = {"items": 3, "ratings_per_item": 2, "reward": Decimal("1.25"), "estimated_minutes": 5}
    return make_study(**defaults | values)


def publish(study: Study, prolific: Prolific) -> publishing.Posted:
    publishing.plan_postings(study=study, platform=prolific, actor="test")
    return publishing.post_all(study=study, platform=prolific)


@pytest.fixture
def posting(prolific: Prolific) -> Posting:
    study = draft()
    publish(study, prolific)
    return Posting.objects.select_related("study").get()


def sent(posting: Posting, prolific: Prolific, server: Server, who: str = "a" * 24) -> OutsideAssignment:
    """Work that arrived here and on Prolific."""
    session = server.submit(posting.external_id, who, code=posting.code)
    send_claim(posting, who, session)
    syncing.sync_study(study=posting.study, platform=prolific)
    return OutsideAssignment.objects.select_related("posting__study").get(external_id=session)


# --- publish ---


def test_one_study_there_offers_all_hits_of_a_reward(posting: Posting, server: Server) -> None:
    (there,) = server.studies.values()
    assert (there["status"], there["reward"], there["total_available_places"]) == ("ACTIVE", 125, 6)
    assert there["external_study_url"] == (
        f"{posting.url}?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&STUDY_ID={{{{%STUDY_ID%}}}}&SESSION_ID={{{{%SESSION_ID%}}}}"
    )
    assert there["completion_codes"] == [
        {"code": posting.code, "code_type": "COMPLETED", "actions": [{"action": "MANUALLY_REVIEW"}]}
    ]
    assert there["submissions_config"] == {"max_submissions_per_participant": 1, "max_concurrent_submissions": -1}
    assert (posting.state, posting.external_id, posting.pays) == ("open", there["id"], Decimal("1.25"))
    assert server.requests == ["POST studies/", f"POST studies/{there['id']}/transition/"]


def test_different_rewards_become_different_studies(prolific: Prolific, server: Server) -> None:
    publish(draft(arms=({"name": "a", "reward": Decimal("2")}, {"name": "b"})), prolific)
    assert sorted((each["reward"], each["total_available_places"]) for each in server.studies.values()) == [
        (125, 6),
        (200, 6),
    ]


def test_filters_quotas_and_barred_studies_are_passed_on(posting: Posting, prolific: Prolific, server: Server) -> None:
    filters = [
        {"filter": "handedness", "values": "1, 2"},
        {"filter": "age", "from": "18", "to": "60"},
        {"filter": "sex", "values": "0, 1", "weights": "1, 1"},
    ]
    study = draft(live=False)
    study.exclude_studies.add(posting.study)
    study = change_study(study=study, platforms={"prolific": {"filters": filters}}, actor="test")
    call = next(iter(prolific_calls(study, prolific)))
    assert call[1]["filters"] == [  # docs.prolific.com: “Filters overview”, “Study distribution (quotas) with filters”
        {"filter_id": "handedness", "selected_values": ["1", "2"]},
        {"filter_id": "age", "selected_range": {"lower": 18, "upper": 60}},
        {"filter_id": "sex", "selected_values": ["0", "1"], "weightings": {"0": 1, "1": 1}},
        {"filter_id": "previous_studies_blocklist", "selected_values": [posting.external_id]},
    ]
    assert len(server.studies) == 1


def prolific_calls(study: Study, prolific: Prolific) -> list[tuple[str, dict[str, Any]]]:
    Study.objects.filter(pk=study.pk).update(status="live")
    planned = Posting(study=study, platform="prolific", reward=Decimal("1"), wanted=1, state="planned", code="C")
    planned.save()
    return list(publishing.calls_ahead(study, prolific))


@pytest.mark.parametrize(
    "row",
    [
        {"filter": "age"},
        {"filter": "age", "values": "1", "from": "18"},
        {"filter": "age", "from": "young"},
        {"filter": "sex", "values": "0, 1", "weights": "1"},
        {"values": "1"},
    ],
)
def test_an_incomplete_or_contradictory_filter_is_refused(row: dict[str, str]) -> None:
    with pytest.raises(Invalid, match="Entry 1"):
        change_study(study=draft(live=False), platforms={"prolific": {"filters": [row]}}, actor="test")


def test_what_prolific_cannot_offer_is_refused_before_anything_is_sent(prolific: Prolific, server: Server) -> None:
    for values in ({"reward": Decimal("0.056")}, {"reward": Decimal(0)}, {"estimated_minutes": None}):
        with pytest.raises(Invalid):
            publish(draft(**values), prolific)
    assert not server.requests


@pytest.mark.parametrize("lost", [r"POST studies/", r"POST studies/\w+/transition/"])
def test_a_lost_answer_makes_no_second_study(lost: str, prolific: Prolific, server: Server) -> None:
    server.lose = lost
    study = draft()
    for _ in range(2):
        try:
            publish(study, prolific)
        except PlatformTrouble as trouble:
            assert trouble.again
    assert publish(study, prolific) == publishing.Posted(1, 1)
    assert [each["status"] for each in server.studies.values()] == ["ACTIVE"]


def test_a_study_in_another_currency_stays_a_draft(prolific: Prolific, server: Server) -> None:
    server.currency = "GBP"
    with pytest.raises(PlatformTrouble, match="in GBP, and rewards here are in USD"):
        publish(draft(), prolific)
    assert [each["status"] for each in server.studies.values()] == ["UNPUBLISHED"]
    assert Posting.objects.get().state == "planned"


def test_a_study_is_offered_on_one_platform_only(posting: Posting, prolific: Prolific) -> None:
    Posting.objects.filter(pk=posting.pk).update(platform="mturk")
    with pytest.raises(Invalid, match="already offered on mturk"):
        publish(posting.study, prolific)


def test_settings_are_locked_once_it_is_posted(posting: Posting) -> None:
    with pytest.raises(ValueError, match="Locked when the study was posted"):
        change_study(study=posting.study, platforms={"prolific": {"description": "New"}}, actor="test")


def test_pause_resume_and_stop(posting: Posting, prolific: Prolific, server: Server) -> None:
    there = server.studies[posting.external_id]
    for _ in range(2):
        assert changing_offers.pause_posting(posting=posting, platform=prolific, actor="test")
        posting.refresh_from_db()
        assert (posting.state, there["status"]) == ("paused", "PAUSED")
        assert not changing_offers.pause_posting(posting=posting, platform=prolific, actor="test")
        assert changing_offers.resume_posting(posting=posting, platform=prolific, actor="test")
        posting.refresh_from_db()
        assert (posting.state, there["status"]) == ("open", "ACTIVE")
    changing_offers.end_posting(posting=posting, platform=prolific, actor="test")
    posting.refresh_from_db()
    assert (posting.state, there["status"]) == ("expired", "COMPLETED")


# --- sync ---


def test_all_pages_of_submissions_are_read(posting: Posting, prolific: Prolific, server: Server) -> None:
    for number in range(5):
        server.submit(posting.external_id, f"{number:024x}")
    server.submit(posting.external_id, "f" * 24, status="ACTIVE")
    found = syncing.sync_study(study=posting.study, platform=prolific)
    assert (found.postings, found.assignments, found.changed) == (1, 5, 5)
    assert syncing.sync_study(study=posting.study, platform=prolific).changed == 0
    (first, *_) = OutsideAssignment.objects.order_by("pk")
    assert first.approves_itself_at and first.submitted_at
    assert first.approves_itself_at - first.submitted_at == timedelta(days=21)


def test_work_is_confirmed_by_prolific_and_not_by_the_address(
    posting: Posting, prolific: Prolific, server: Server
) -> None:
    session = server.submit(posting.external_id, "a" * 24)
    send_claim(posting, "b" * 24, session)  # somebody who changed their id in the address
    syncing.sync_study(study=posting.study, platform=prolific)
    assert confirmation.unconfirmed_submissions(posting.study).count() == 1
    assert len(differences.differences(posting.study).other_worker) == 1
    assert not deciding_on_platform.to_approve(posting.study)


def test_a_returned_submission_frees_its_place_and_confirms_nothing(
    posting: Posting, prolific: Prolific, server: Server
) -> None:
    working = server.submit(posting.external_id, "a" * 24, status="RETURNED")
    made = send_claim(posting, "a" * 24, working, pages=0)
    done = server.submit(posting.external_id, "b" * 24, status="RETURNED")
    send_claim(posting, "b" * 24, done)
    syncing.sync_study(study=posting.study, platform=prolific)
    made.refresh_from_db()
    assert made.state == "returned"
    assert sum(hit.n_live for hit in posting.study.hits.all()) == 1
    assert confirmation.unconfirmed_submissions(posting.study).count() == 1


def test_a_list_that_changes_while_it_is_read_does_no_harm(
    posting: Posting, prolific: Prolific, server: Server
) -> None:
    session = server.submit(posting.external_id, "a" * 24)
    server.submissions["copy"] = server.submissions[session]  # as if it had moved to the next page
    assert syncing.sync_study(study=posting.study, platform=prolific).changed == 1
    assert OutsideAssignment.objects.count() == 1


def test_a_study_deleted_there_is_marked(posting: Posting, prolific: Prolific, server: Server) -> None:
    server.studies.clear()
    assert syncing.sync_study(study=posting.study, platform=prolific).deleted == 1
    assert Posting.objects.get().state == "deleted"


# --- decide ---


def test_an_approval_is_paid_once(posting: Posting, prolific: Prolific, server: Server) -> None:
    outside = sent(posting, prolific, server)
    server.lose = r"POST submissions/\w+/transition/"
    for _ in range(3):
        deciding_on_platform.approve(outside=outside, platform=prolific, actor="test")
    assert [payment.amount for payment in Payment.objects.all()] == [Decimal("1.250")]
    assert server.submissions[outside.external_id]["status"] == "APPROVED"
    with pytest.raises(Invalid, match="has been paid"):
        deciding_on_platform.reject(outside=outside, platform=prolific, actor="test", feedback=REASON, category="OTHER")


def test_a_rejection_needs_a_category_and_a_long_reason(posting: Posting, prolific: Prolific, server: Server) -> None:
    outside = sent(posting, prolific, server)
    for feedback, category, said in [
        (REASON, "", "needs a category"),
        (REASON, "LAZY", "no “LAZY”"),
        ("Too short.", "LOW_EFFORT", "at least 100 characters; this has 10"),
    ]:
        with pytest.raises(Invalid, match=said):
            deciding_on_platform.reject(
                outside=outside, platform=prolific, actor="test", feedback=feedback, category=category
            )
    deciding_on_platform.reject(
        outside=outside, platform=prolific, actor="test", feedback=REASON, category="FAILED_INSTRUCTIONS"
    )
    assert (outside.state, server.submissions[outside.external_id]["status"]) == ("rejected", "REJECTED")
    assert not Payment.objects.exists()


def test_a_second_rejection_whose_reply_was_lost_is_noted_by_the_next_sync(
    posting: Posting, prolific: Prolific, server: Server
) -> None:
    """Rejected, taken back, rejected again: the last reply never arrived here, but the platform reports it."""
    outside = sent(posting, prolific, server)
    PlatformCall.objects.create(
        study=posting.study, posting=posting, key=f"reject-again/{outside.pk}/1", operation="transition_submission",
        params={}, token="t", tries=1, first_tried_at=timezone.now(),
    )  # fmt: skip
    server.submissions[outside.external_id]["status"] = "REJECTED"
    for _ in range(2):
        syncing.sync_study(study=posting.study, platform=prolific)
    assert PlatformCall.objects.get(key__startswith="reject-again/").state == "done"
    [noted] = AuditEntry.objects.filter(action="reject")
    assert noted.detail["assignment"] == outside.external_id


def test_a_decision_that_prolific_refuses_changes_nothing(posting: Posting, prolific: Prolific, server: Server) -> None:
    outside = sent(posting, prolific, server)
    server.submissions[outside.external_id]["status"] = "RETURNED"
    done = deciding_on_platform.approve_all(outside=[outside], platform=prolific, actor="test")
    assert (done.count, done.total) == (0, Decimal(0))
    assert done.refused and "The submission is RETURNED" in done.refused[0]
    assert not Payment.objects.exists()


def pay_bonus(outside: OutsideAssignment, prolific: Prolific, key: str = "1", amount: str = "0.50") -> None:
    deciding_on_platform.send_bonus(
        outside=outside, amount=Decimal(amount), reason="Thank you", platform=prolific, actor="test", key=key
    )


def test_a_bonus_is_set_up_and_paid_once_for_its_key(posting: Posting, prolific: Prolific, server: Server) -> None:
    outside = sent(posting, prolific, server)
    for key in ("1", "1", "2"):
        pay_bonus(outside, prolific, key)
    assert server.submissions[outside.external_id]["bonus_payments"] == [50, 50]


def test_a_bonus_whose_answer_was_lost_is_not_paid_again(posting: Posting, prolific: Prolific, server: Server) -> None:
    outside = sent(posting, prolific, server)
    pay_bonus(outside, prolific, "1")
    server.lose = r"POST bulk-bonus-payments/[\w-]+/pay/"
    with pytest.raises(PlatformTrouble):
        pay_bonus(outside, prolific, "2")
    pay_bonus(outside, prolific, "2")  # Prolific shows it
    assert server.submissions[outside.external_id]["bonus_payments"] == [50, 50]


def test_a_bonus_with_an_unknown_result_waits_an_hour(posting: Posting, prolific: Prolific, server: Server) -> None:
    """“Pay bonuses”: not idempotent, and paid some minutes later."""
    outside = sent(posting, prolific, server)
    there = server.submissions[outside.external_id]
    server.lose = r"POST bulk-bonus-payments/[\w-]+/pay/"
    with pytest.raises(PlatformTrouble):
        pay_bonus(outside, prolific)
    there["bonus_payments"].clear()  # not shown yet
    with pytest.raises(PlatformTrouble, match="an hour after the first try"):
        pay_bonus(outside, prolific)
    assert not there["bonus_payments"]
    PlatformCall.objects.filter(operation="pay_bonus").update(first_tried_at=timezone.now() - timedelta(hours=2))
    pay_bonus(outside, prolific)
    assert there["bonus_payments"] == [50]


# --- the command ---


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("study", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def test_the_whole_workflow_from_the_command_line(server: Server, settings: Any) -> None:
    settings.PROLIFIC_API, settings.PROLIFIC_TOKEN = server.address, ""
    draft(live=False, slug="weather")
    said = run("publish", "weather", "--platform", "prolific", "--dry-run")
    assert "6 assignments: $7.50 in rewards and $2.50 in fees, $10.00 in total." in said  # 33.3 % of 7.50 is 2.4975
    assert not server.requests
    with pytest.raises(CommandError, match="HITSERVER_PROLIFIC_TOKEN"):
        run("publish", "weather", "--platform", "prolific")
    settings.PROLIFIC_TOKEN = TOKEN
    assert "the platform has 1 of 1 Prolific study" in run("publish", "weather", "--platform", "prolific")
    posting = Posting.objects.get()
    assert "Prolific: 1 Prolific study paused." in run("pause", "weather")
    assert "Prolific: 1 Prolific study offered again." in run("resume", "weather")
    session = server.submit(posting.external_id, "a" * 24, code="GUESSED")
    assert "nothing arrived here" in run("sync", "weather")
    send_claim(posting, "a" * 24, session)
    assert "1 assignment to approve, $1.25 in rewards" in run("approve", "weather", "--dry-run")
    assert "Approved: 1, $1.25." in run("approve", "weather")
    assert "1 Prolific study ended." in run("end", "weather")
