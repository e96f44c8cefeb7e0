"""What Prolific's published specification asks of a study: checked before the launch, and never worked around."""

from __future__ import annotations

import csv
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Hit, OutsideAssignment, Payment, PlatformCall, Posting, Study
from annotation.people.own_record import own_record
from annotation.platforms import PlatformTrouble
from annotation.platforms.prolific.platform import Prolific
from annotation.recruiting import adding_ratings, deciding_on_platform, publishing, syncing
from annotation.recruiting.lost_places import replace_lost
from annotation.review.payments_due import payable, payment_rows
from annotation.studies.storing import change_study
from annotation.tokens import participant_token
from common.problems import Invalid
from tests.annotation.recruiting.helpers import send_claim
from tests.annotation.recruiting.prolific_helpers import ANN, BEN, draft, run
from tests.annotation.recruiting.prolific_server import Answer
from tests.annotation.recruiting.prolific_server import Prolific as Server

pytestmark = pytest.mark.django_db(transaction=True)
REASON = "The second and the third text are copied word for word from the examples in the instructions. " * 2


def publish(study: Study, prolific: Prolific) -> Posting:
    publishing.plan_postings(study=study, platform=prolific, actor="test")
    publishing.post_all(study=study, platform=prolific)
    return Posting.objects.select_related("study").get(study=study)


# --- how many at once ---


def test_several_participants_work_at_the_same_time(prolific: Prolific, server: Server) -> None:
    """Schema `BaseStudySubmissionsConfig`: max_concurrent_submissions is a limit of the study; −1 is none."""
    posting = publish(draft(), prolific)
    sessions = [server.start(posting.external_id, who) for who in (ANN, BEN)]
    assert [server.submissions[each]["status"] for each in sessions] == ["ACTIVE", "ACTIVE"]


def test_a_study_can_limit_how_many_work_at_once(prolific: Prolific, server: Server) -> None:
    study = change_study(study=draft(live=False), platforms={"prolific": {"at_once": "5"}}, actor="test")
    run("publish", study.slug, "--platform", "prolific")
    (there,) = server.studies.values()
    assert there["submissions_config"] == {"max_submissions_per_participant": 1, "max_concurrent_submissions": 5}


# --- quotas, times and pay ---


def test_a_quota_is_a_study_of_type_quota(prolific: Prolific, server: Server) -> None:
    """“Quota requirements”: with the study_type field with the value QUOTA."""
    filters = [{"filter": "handedness", "values": "0, 1", "weights": "1, 1"}]
    change_study(study=draft(live=False, slug="w"), platforms={"prolific": {"filters": filters}}, actor="test")
    run("publish", "w", "--platform", "prolific")
    (there,) = server.studies.values()
    assert (there["study_type"], there["status"]) == ("QUOTA", "ACTIVE")


@pytest.mark.parametrize(
    ("minutes", "least"),
    [(1, 6), (5, 17), (9, 26), (16, 42)],  # by hand: 2 + 2t + 2√t, rounded up
)
def test_the_time_limit_has_prolifics_minimum(minutes: int, least: int, prolific: Prolific, server: Server) -> None:
    values = {"estimated_minutes": minutes, "reward": Decimal(minutes) / 5, "live": False}
    study = draft(time_limit_minutes=least - 1, slug="w", **values)
    with pytest.raises(CommandError, match=f"at least {least} minutes"):
        run("publish", "w", "--platform", "prolific")
    assert (study.status, server.requests) == ("draft", [])
    change_study(study=study, values={"time_limit_minutes": least}, actor="test")
    run("publish", "w", "--platform", "prolific")
    assert [each["maximum_allowed_time"] for each in server.studies.values()] == [least]


def test_a_reward_below_eight_dollars_an_hour_is_refused_before_the_launch(prolific: Prolific, server: Server) -> None:
    """“Prolific's payment principles”: $8.00 an hour. By hand: 5 minutes at $8.00 an hour are $0.6667."""
    study = draft(live=False, slug="w", reward=Decimal("0.66"))
    with pytest.raises(CommandError, match=r"\$7\.92 an hour.*at least \$8\.00.*\$0\.67"):
        run("publish", "w", "--platform", "prolific")
    study.refresh_from_db()
    assert (study.status, server.requests) == ("draft", [])
    change_study(study=study, values={"reward": "0.67"}, actor="test")
    run("publish", "w", "--platform", "prolific")
    assert [each["status"] for each in server.studies.values()] == ["ACTIVE"]


def test_an_estimate_is_rounded_up_to_whole_minutes(prolific: Prolific, server: Server) -> None:
    """2.5 minutes are sent as 3, never as 2: participants must not get less time or pay per hour than is shown."""
    publish(draft(estimated_minutes=Decimal("2.5")), prolific)
    assert [each["estimated_completion_time"] for each in server.studies.values()] == [3]


# --- a first publish that was refused ---


@pytest.mark.parametrize("at", ["POST studies/", "publish"])
def test_after_a_refused_first_publish_everything_can_be_changed(at: str, prolific: Prolific, server: Server) -> None:
    study = draft(live=False, slug="w")
    refusal = Answer(400, {"error": {"title": "Bad Request", "detail": "The reward is too low for this filter."}})
    if at == "publish":
        server.available = 100  # cents: Prolific checks the balance when a draft is published
    else:
        server.answer_with = [refusal, refusal]  # the first is for the calculation of the cost
    with pytest.raises(CommandError, match="is a draft again"):
        run("publish", "w", "--platform", "prolific")
    study.refresh_from_db()
    assert (study.status, Hit.objects.count(), Posting.objects.count()) == ("draft", 0, 0)
    assert not server.studies  # the draft there was deleted, too
    server.available = 45_050
    server.answer_with.clear()
    change_study(study=study, values={"reward": "1.50"}, platforms={"prolific": {"description": "New"}}, actor="test")
    run("publish", "w", "--platform", "prolific")
    (there,) = server.studies.values()
    assert (there["reward"], there["description"], there["status"]) == (150, "New", "ACTIVE")


def test_a_lost_answer_does_not_take_the_launch_back(prolific: Prolific, server: Server) -> None:
    draft(live=False, slug="w")
    server.lose = r"POST studies/\w+/transition/"
    with pytest.raises(CommandError, match="did not answer"):
        run("publish", "w", "--platform", "prolific")
    assert Study.objects.get().status == "live"
    assert "1 of 1 Prolific study" in run("publish", "w", "--platform", "prolific")
    assert [each["status"] for each in server.studies.values()] == ["ACTIVE"]


# --- a study that ended there ---


def test_more_ratings_reopen_an_ended_study(prolific: Prolific, server: Server) -> None:
    """“Update a study”: “A completed study will become active again”."""
    posting = publish(draft(slug="w"), prolific)
    there = server.studies[posting.external_id]
    assert "1 Prolific study ended." in run("end", "w")
    assert there["status"] == "COMPLETED"
    assert "6 places added" in run("add-ratings", "w", "4")
    posting.refresh_from_db()
    assert (there["status"], there["total_available_places"], posting.state) == ("ACTIVE", 12, "open")
    run("end", "w")  # a second time
    posting.refresh_from_db()
    assert (there["status"], posting.state) == ("COMPLETED", "expired")


def test_a_sync_does_not_reopen_what_a_person_ended(prolific: Prolific, server: Server) -> None:
    posting = publish(draft(slug="w"), prolific)
    server.submit(posting.external_id, ANN, status="APPROVED")  # lost: nothing arrived here
    run("end", "w")
    syncing.sync_study(study=posting.study, platform=prolific)
    assert replace_lost(study=posting.study, platform=prolific).added == 0
    assert server.studies[posting.external_id]["status"] == "COMPLETED"


def test_ending_and_pausing_what_has_already_ended_there_succeeds(prolific: Prolific, server: Server) -> None:
    posting = publish(draft(slug="w"), prolific)
    server.studies[posting.external_id]["status"] = "COMPLETED"  # all places were taken and approved
    assert "1 Prolific study paused" in run("pause", "w")
    assert "1 Prolific study offered again" in run("resume", "w")
    assert "1 Prolific study ended" in run("end", "w")


def test_what_cannot_get_more_places_is_refused_and_nothing_changes() -> None:
    study = draft(slug="w")
    Posting.objects.create(study=study, platform="mturk", external_id="H", state="expired", hit=Hit.objects.first())
    with pytest.raises(Invalid, match="has ended"):
        adding_ratings.add_ratings(study=study, ratings=4, actor="ada")
    study.refresh_from_db()
    assert study.ratings_per_item == 2


# --- decisions ---


def sent(posting: Posting, prolific: Prolific, server: Server, who: str = ANN) -> OutsideAssignment:
    session = server.submit(posting.external_id, who, code=posting.code)
    send_claim(posting, who, session)
    syncing.sync_study(study=posting.study, platform=prolific)
    return OutsideAssignment.objects.select_related("posting__study").get(external_id=session)


def test_a_rejection_can_be_undone(prolific: Prolific, server: Server) -> None:
    """Schema `SubmissionTransitionAction`: UNREJECT."""
    outside = sent(publish(draft(), prolific), prolific, server)
    deciding_on_platform.reject(
        outside=outside, platform=prolific, actor="test", feedback=REASON, category="LOW_EFFORT"
    )
    for lost in (r"POST submissions/\w+/transition/", ""):
        server.lose = lost
        deciding_on_platform.approve(outside=outside, platform=prolific, actor="test")
    assert server.submissions[outside.external_id]["status"] == "APPROVED"
    assert (outside.state, [each.amount for each in Payment.objects.all()]) == ("approved", [Decimal("1.250")])


@pytest.mark.parametrize(
    ("status", "state", "paid"),
    [
        ("AWAITING REVIEW", "submitted", []),
        ("APPROVED", "approved", ["1.250"]),
        ("PARTIALLY APPROVED", "partial", []),  # Prolific does not report how much it paid
        ("REJECTED", "rejected", []),
        ("RETURNED", "returned", []),
        ("TIMED-OUT", "returned", []),
        ("SCREENED OUT", "screened", []),  # this study pays nothing for it
        ("RESERVED", None, []),
        ("ACTIVE", None, []),
        ("UNKNOWN", None, []),
    ],
)
def test_every_status_of_a_submission_is_known(
    status: str, state: str | None, paid: list[str], prolific: Prolific, server: Server
) -> None:
    """Schema `SubmissionDetailStatus`. What was not paid in full is never recorded as if it were."""
    posting = publish(draft(), prolific)
    session = server.submit(posting.external_id, ANN, status=status)
    send_claim(posting, ANN, session)
    syncing.sync_study(study=posting.study, platform=prolific)
    reported = OutsideAssignment.objects.filter(external_id=session).values_list("state", flat=True).first()
    assert reported == state
    assert [str(each.amount) for each in Payment.objects.all()] == paid


def test_partly_paid_work_counts_and_a_sync_says_so(prolific: Prolific, server: Server) -> None:
    posting = publish(draft(slug="w"), prolific)
    session = server.submit(posting.external_id, ANN, status="PARTIALLY APPROVED")
    send_claim(posting, ANN, session)
    assert f"Partly paid: assignment {session}" in run("sync", "w")
    assert "There are no differences" not in run("reconcile", "w")
    assert Assignment.objects.get().state == "submitted"


def test_no_list_names_an_amount_for_partly_paid_work(prolific: Prolific, server: Server) -> None:
    """Schema `SubmissionDetailResponse` has bonus_payments and no other amount."""
    posting = publish(draft(slug="w"), prolific)
    session = server.submit(posting.external_id, ANN, status="PARTIALLY APPROVED")
    work = send_claim(posting, ANN, session)
    syncing.sync_study(study=posting.study, platform=prolific)
    [row] = payment_rows(posting.study, list(payable(posting.study, state="partly_paid")))
    assert (row.state, row.hits_partly) == ("partly_paid", 1)
    assert not (row.paid or row.due or row.open)
    [line] = csv.DictReader(run("payments", "w").splitlines())
    assert (line["state"], line["usd_paid"], line["hits_partly_paid"]) == ("partly_paid", "0.000", "1")
    [earning] = own_record(work.participant_id).earned
    assert earning.amount is None
    page = Client().get(reverse("work_record", args=[participant_token(work.participant_id, work.pk)])).content.decode()
    assert "paid in part" in page and "not known" in page and "$1.25" not in page


# --- money ---


def test_the_balance_is_the_workspaces(prolific: Prolific, server: Server) -> None:
    """“Get the balance of a workspace”: available_balance in cents. `users/me/` has no balance."""
    assert prolific.balance() == Decimal("450.50")
    server.workspaces = ("workspace1", "workspace2")
    with pytest.raises(PlatformTrouble, match=r"2 workspaces.*project"):
        prolific.balance()
    assert prolific.balance({"project": "project2"}) == Decimal("450.50")
    server.currency = "GBP"
    assert prolific.balance({"project": "project2"}) is None


def test_the_fee_has_vat_on_it(settings: Any) -> None:
    """“What is the impact of adding a VAT number”: 20% on all platform fees. By hand: 7.50 × 0.333 × 1.2 = 2.997."""
    settings.PROLIFIC_VAT_PERCENT = Decimal(20)
    study = draft()
    platform = Prolific.offline()
    assert publishing.cost(study, platform).fees == Decimal("3.00")
    assert "The fees include VAT of 20%." in publishing.cost_remarks(study, platform)


def test_prolifics_own_calculation_is_shown_when_publishing(server: Server) -> None:
    """“Calculate the study cost”. By hand: 6 × $1.25, a third of it, and 20% VAT on that: $10.50."""
    server.vat = 20.0
    draft(live=False, slug="w")
    assert "Prolific itself calculates $10.50 with its fees and VAT." in run("publish", "w", "--platform", "prolific")


def test_a_changed_setting_is_sent_with_the_next_try(prolific: Prolific, server: Server) -> None:
    """A call that was refused had no effect, so the next one is made with what the study is now."""
    study = draft()
    server.answer_with = [Answer(400, {"error": {"title": "Bad Request", "detail": "No."}})]
    with pytest.raises(PlatformTrouble):
        publish(study, prolific)
    study = change_study(study=study, values={"time_limit_minutes": 77}, actor="test")
    publish(study, prolific)
    assert [each["maximum_allowed_time"] for each in server.studies.values()] == [77]
    assert PlatformCall.objects.get(operation="create_study").params["maximum_allowed_time"] == 77
