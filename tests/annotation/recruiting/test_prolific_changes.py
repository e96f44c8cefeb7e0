"""What can be changed on Prolific after publishing: more places, a bonus for work it does not pay, a return."""

from __future__ import annotations

import io
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Assignment, AuditEntry, Compensation, OutsideAssignment, Payment, PlatformCall, Posting
from annotation.platforms import PlatformTrouble
from annotation.platforms.prolific.api import Account, Api
from annotation.platforms.prolific.platform import Prolific
from annotation.recruiting import adding_ratings, deciding_on_platform, publishing, syncing
from annotation.recruiting.compensating import compensate
from annotation.recruiting.lost_places import replace_lost
from annotation.recruiting.offered_work import unplaced
from common.problems import Invalid
from tests.annotation.recruiting.helpers import send_claim
from tests.annotation.recruiting.prolific_server import TOKEN, prolific_server
from tests.annotation.recruiting.prolific_server import Prolific as Server
from tests.factories import make_study

pytestmark = pytest.mark.django_db(transaction=True)
WHO = "a" * 24


@pytest.fixture
def server() -> Iterator[Server]:
    with prolific_server() as state:
        yield state


@pytest.fixture
def prolific(server: Server) -> Prolific:
    return Prolific(Api(Account(server.address, TOKEN), sleep=lambda seconds: None))


@pytest.fixture
def posting(prolific: Prolific) -> Posting:
    """Three hits that each need two submissions: six places."""
    study = make_study(items=3, ratings_per_item=2, reward=Decimal("1.25"), estimated_minutes=5, slug="weather")
    publishing.plan_postings(study=study, platform=prolific, actor="test")
    publishing.post_all(study=study, platform=prolific)
    return Posting.objects.select_related("study").get()


def places(server: Server, posting: Posting) -> int:
    return int(server.studies[posting.external_id]["total_available_places"])


def reported(posting: Posting, prolific: Prolific, session: str) -> OutsideAssignment:
    syncing.sync_study(study=posting.study, platform=prolific)
    return OutsideAssignment.objects.select_related("posting__study").get(external_id=session)


# --- places ---


def test_more_ratings_add_places_once(posting: Posting, prolific: Prolific, server: Server) -> None:
    study = adding_ratings.add_ratings(study=posting.study, ratings=4, actor="ada")
    assert unplaced(study, "prolific") == 6  # by hand: 3 hits × 2 more
    server.lose = r"PATCH studies/\w+/"
    assert replace_lost(study=study, platform=prolific, actor="ada").added == 6
    assert places(server, posting) == 12
    assert replace_lost(study=study, platform=prolific, actor="ada").added == 0
    assert (unplaced(study, "prolific"), places(server, posting)) == (0, 12)


def test_a_rejected_place_comes_back_by_itself_and_a_lost_one_is_added(
    posting: Posting, prolific: Prolific, server: Server
) -> None:
    """“Pausing and stopping a study”: Prolific itself offers a rejected place again."""
    rejected = server.submit(posting.external_id, WHO)
    send_claim(posting, WHO, rejected)
    server.submissions[rejected]["status"] = "REJECTED"
    server.submit(posting.external_id, "b" * 24, status="APPROVED")  # approved there, and nothing arrived here
    syncing.sync_study(study=posting.study, platform=prolific)
    assert replace_lost(study=posting.study, platform=prolific).added == 1
    assert places(server, posting) == 7


def test_work_that_prolific_has_not_reported_yet_adds_no_place(
    posting: Posting, prolific: Prolific, server: Server
) -> None:
    for number in range(7):  # one more than there are places: Prolific gave a place out again
        send_claim(posting, f"{number:024x}", f"{number:024x}")
    assert replace_lost(study=posting.study, platform=prolific).added == 0
    assert places(server, posting) == 6


def test_what_prolific_cannot_do_is_explained_and_sends_nothing(
    posting: Posting, prolific: Prolific, server: Server, settings: Any
) -> None:
    settings.PROLIFIC_API, settings.PROLIFIC_TOKEN = server.address, TOKEN
    before = len(server.requests)
    with pytest.raises(CommandError, match="offers a study until all its places are taken"):
        run("extend", "weather", "--days", "3")
    Posting.objects.update(state="expired")
    with pytest.raises(CommandError, match="deletes only drafts"):
        run("delete-hits", "weather")
    assert len(server.requests) == before


# --- compensation ---


def returned(posting: Posting, prolific: Prolific, server: Server) -> Assignment:
    """Work that was saved here and timed out there."""
    session = server.submit(posting.external_id, WHO)
    work = send_claim(posting, WHO, session)
    server.submissions[session]["status"] = "TIMED-OUT"
    syncing.sync_study(study=posting.study, platform=prolific)
    return Assignment.objects.select_related("hit__study", "posting", "participant__worker").get(pk=work.pk)


def pay(work: Assignment, prolific: Prolific) -> Compensation:
    reason = "Your answers were saved after the time was up."
    return compensate(work=work, amount=Decimal("1.25"), reason=reason, platform=prolific, actor="ada")


def test_work_that_timed_out_is_paid_by_a_bonus_once(posting: Posting, prolific: Prolific, server: Server) -> None:
    work = returned(posting, prolific, server)
    owed = pay(work, prolific)
    assert server.submissions[work.platform_assignment_id]["bonus_payments"] == [125]
    paid = Payment.objects.get()
    assert (paid.kind, paid.amount, paid.worker_id) == ("compensation", Decimal("1.25"), WHO)
    assert owed.paid_at is not None
    with pytest.raises(Invalid, match="compensated before"):
        pay(work, prolific)
    assert server.submissions[work.platform_assignment_id]["bonus_payments"] == [125]


def test_a_compensation_whose_answer_was_lost_is_not_paid_again(
    posting: Posting, prolific: Prolific, server: Server
) -> None:
    work = returned(posting, prolific, server)
    server.lose = r"POST bulk-bonus-payments/[\w-]+/pay/"
    with pytest.raises(PlatformTrouble):
        pay(work, prolific)
    pay(work, prolific)  # Prolific shows it
    assert server.submissions[work.platform_assignment_id]["bonus_payments"] == [125]
    assert Payment.objects.count() == 1


def test_a_bonus_before_does_not_hide_a_compensation(posting: Posting, prolific: Prolific, server: Server) -> None:
    session = server.submit(posting.external_id, WHO)
    work = send_claim(posting, WHO, session)
    outside = reported(posting, prolific, session)
    deciding_on_platform.send_bonus(
        outside=outside, amount=Decimal("1.25"), reason="Well done.", platform=prolific, actor="ada", key="1"
    )
    server.submissions[session]["status"] = "RETURNED"
    syncing.sync_study(study=posting.study, platform=prolific)
    server.lose = r"POST bulk-bonus-payments/[\w-]+/pay/"
    with pytest.raises(PlatformTrouble):
        pay(Assignment.objects.get(pk=work.pk), prolific)
    server.submissions[session]["bonus_payments"].pop()  # not shown yet: only the bonus is there
    with pytest.raises(PlatformTrouble, match="an hour after"):
        pay(Assignment.objects.get(pk=work.pk), prolific)


# --- asking for a return ---


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("study", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def test_a_worker_is_asked_once_to_return_their_work(
    posting: Posting, prolific: Prolific, server: Server, settings: Any
) -> None:
    settings.PROLIFIC_API, settings.PROLIFIC_TOKEN = server.address, TOKEN
    session = server.submit(posting.external_id, WHO)
    reported(posting, prolific, session)
    server.lose = r"POST submissions/\w+/request-return/"
    with pytest.raises(CommandError, match="did not answer"):
        run("ask-back", "weather", session, "--reason", "Withdrew consent")
    assert "was asked to return it" in run("ask-back", "weather", session, "--reason", "Withdrew consent")
    assert server.messages == [(WHO, "Withdrew consent")]
    assert AuditEntry.objects.get(action="ask for return").detail["reason"] == "Withdrew consent"


def test_only_work_that_waits_for_a_decision_is_asked_back(
    posting: Posting, prolific: Prolific, server: Server
) -> None:
    session = server.submit(posting.external_id, WHO, status="APPROVED")
    outside = reported(posting, prolific, session)
    for reason, said in (("", "There is no reason"), ("Withdrew consent", "approved on the platform")):
        with pytest.raises(Invalid, match=said):
            deciding_on_platform.ask_back(outside=outside, reason=reason, platform=prolific, actor="ada")
    assert not PlatformCall.objects.filter(operation="request_return").exists()
