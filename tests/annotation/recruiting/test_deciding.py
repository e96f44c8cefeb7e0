"""Decisions reach the platform once, and what it paid is recorded here."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from annotation.models import AuditEntry, OutsideAssignment, Payment, Posting, Study, Submission
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import changing_offers, deciding_on_platform, matching, syncing
from annotation.review.pay_decisions import decide_pay
from annotation.work.excluding import review_submission
from annotation.work.left_out import excluded_submissions
from common.problems import Invalid
from marketplace.models import Assignment as MarketAssignment
from tests.annotation.console_helpers import make_user
from tests.annotation.recruiting.helpers import accept_there, posted_study, send_both, send_there
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(api: Mturk) -> Study:
    return posted_study(api)


@pytest.fixture
def posting(study: Study) -> Posting:
    return study.postings.get(part=0, hit__position=0)


def sent(posting: Posting, api: Mturk) -> OutsideAssignment:
    send_both(posting)
    syncing.sync_study(study=posting.study, platform=api)
    return OutsideAssignment.objects.select_related("posting__study", "posting__hit").latest("pk")


def test_approval_pays_once_on_both_sides(study: Study, posting: Posting, api: Mturk) -> None:
    before = api.balance()
    outside = sent(posting, api)
    for _ in range(3):
        deciding_on_platform.approve(outside=outside, platform=api, actor="test")
    assert [payment.amount for payment in Payment.objects.all()] == [Decimal("0.180")]
    assert outside.state == "approved"
    assert MarketAssignment.objects.get().state == "Approved"
    assert api.balance() <= before


class LosesTheAnswer(Mturk):
    """An API where one call takes effect but its answer never arrives."""

    lost = False

    def call(self, operation: str, **params: Any) -> dict[str, Any]:
        answer = super().call(operation, **params)
        if not self.lost:
            self.lost = True
            raise PlatformTrouble("The connection was lost.", again=True)
        return answer


def test_an_approval_whose_answer_was_lost_counts(posting: Posting, api: Mturk, client: Any) -> None:
    outside = sent(posting, api)
    with pytest.raises(PlatformTrouble):
        deciding_on_platform.approve(outside=outside, platform=LosesTheAnswer(client), actor="test")
    assert not Payment.objects.exists()
    deciding_on_platform.approve(outside=outside, platform=api, actor="test")
    assert Payment.objects.count() == 1


def test_only_confirmed_and_included_work_is_offered_for_approval(study: Study, posting: Posting, api: Mturk) -> None:
    good = sent(posting, api)
    other = study.postings.get(part=0, hit__position=1)
    send_there(accept_there(other, make_market_worker()))  # never arrived here
    excluded = sent(other, api)
    submission = matching.submission_of(excluded)
    assert submission is not None
    review_submission(submission=submission, decision="exclude", note="", user=make_user("rita"))
    assert list(deciding_on_platform.to_approve(study)) == [good]
    done = deciding_on_platform.approve_all(outside=deciding_on_platform.to_approve(study), platform=api, actor="test")
    assert (done.count, done.total, done.refused) == (1, Decimal("0.180"), [])


def test_a_rejection_needs_a_reason_and_can_be_undone(posting: Posting, api: Mturk) -> None:
    outside = sent(posting, api)
    with pytest.raises(Invalid, match="no reason"):
        deciding_on_platform.reject(outside=outside, platform=api, actor="test", feedback=" ")
    deciding_on_platform.reject(outside=outside, platform=api, actor="test", feedback="All answers are the same.")
    assert outside.state == "rejected"
    assert MarketAssignment.objects.get().requester_feedback == "All answers are the same."
    deciding_on_platform.approve(outside=outside, platform=api, actor="test")
    assert (outside.state, Payment.objects.count()) == ("approved", 1)


def test_a_decision_with_other_details_than_an_earlier_try_is_refused(
    posting: Posting, api: Mturk, client: Any
) -> None:
    """The first try may have taken effect, so the second must neither send nor record another reason."""
    outside = sent(posting, api)
    losing = LosesTheAnswer(client)
    with pytest.raises(PlatformTrouble):
        deciding_on_platform.reject(outside=outside, platform=losing, actor="test", feedback="All the same.")
    with pytest.raises(PlatformTrouble, match=r"with other details: .*All the same"):
        deciding_on_platform.reject(outside=outside, platform=losing, actor="test", feedback="Copied.")
    assert not AuditEntry.objects.filter(action="reject").exists()
    deciding_on_platform.reject(outside=outside, platform=losing, actor="test", feedback="All the same.")
    assert AuditEntry.objects.get(action="reject").detail["reason"] == "All the same."


def test_a_bonus_with_another_amount_under_the_same_key_is_refused(posting: Posting, api: Mturk) -> None:
    outside = sent(posting, api)
    about: dict[str, Any] = {"outside": outside, "reason": "Thanks.", "platform": api, "actor": "test", "key": "1"}
    deciding_on_platform.send_bonus(amount=Decimal("0.50"), **about)
    with pytest.raises(PlatformTrouble, match="with other details"):
        deciding_on_platform.send_bonus(amount=Decimal("0.75"), **about)
    assert [payment.amount for payment in Payment.objects.all()] == [Decimal("0.500")]


@pytest.mark.parametrize("by_hand", [False, True])
def test_undoing_a_rejection_takes_back_only_the_exclusion_that_came_with_it(
    posting: Posting, api: Mturk, by_hand: bool
) -> None:
    outside = sent(posting, api)
    submission = Submission.objects.get()
    about: dict[str, Any] = {"submission": submission, "actor": "ada", "connect": lambda name, study: api}
    if by_hand:
        review_submission(submission=submission, decision="exclude", note="Not a person.", user=make_user("ada"))
    decide_pay(decision="reject", feedback="All the same.", exclude=True, **about)
    assert list(excluded_submissions(submission.study)) == [submission.pk]
    decide_pay(decision="approve", feedback="", **about)
    outside.refresh_from_db()
    assert outside.state == "approved"
    assert list(excluded_submissions(submission.study)) == ([submission.pk] if by_hand else [])


def test_what_is_paid_cannot_be_rejected(posting: Posting, api: Mturk) -> None:
    outside = sent(posting, api)
    deciding_on_platform.approve(outside=outside, platform=api, actor="test")
    with pytest.raises(Invalid, match="has been paid"):
        deciding_on_platform.reject(outside=outside, platform=api, actor="test", feedback="No.")


def test_a_bonus_is_paid_once_for_its_key(posting: Posting, api: Mturk) -> None:
    outside = sent(posting, api)
    give: dict[str, Any] = {
        "outside": outside,
        "reason": "Thank you",
        "platform": api,
        "actor": "test",
        "amount": Decimal("0.50"),
    }
    before = api.balance()
    deciding_on_platform.send_bonus(**give, key="1")
    after = api.balance()
    deciding_on_platform.send_bonus(**give, key="1")
    assert api.balance() == after < before
    assert AuditEntry.objects.filter(action="bonus").count() == 1
    with pytest.raises(Invalid, match="whole cents"):
        deciding_on_platform.send_bonus(**give | {"amount": Decimal("0.005")}, key="2")


def test_an_ended_hit_is_offered_no_more(posting: Posting, api: Mturk, client: Any) -> None:
    for _ in range(2):
        changing_offers.end_posting(posting=posting, platform=api, actor="test")
        posting.refresh_from_db()
    assert posting.state == "expired"
    assert client.get_hit(HITId=posting.external_id)["HIT"]["HITStatus"] == "Reviewable"
