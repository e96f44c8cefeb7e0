"""A worker who cannot be paid through the HIT of their work is paid once, through a HIT made for them."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command

from annotation.models import Assignment, Compensation, Payment, PlatformCall, Posting, Study
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import deciding_on_platform, syncing
from annotation.recruiting.compensating import compensate, note_paid
from annotation.review.payment_lists import totals
from annotation.review.payments_due import payable, payment_rows
from common.problems import Invalid
from marketplace.models import Hit as MarketHit
from marketplace.models import Worker as MarketWorker
from marketplace.services.hits import assignments as market
from marketplace.services.qualifications.requirements import Standing
from marketplace.services.refusals import Refusal
from tests.annotation.recruiting.helpers import accept_there, posted_study, send_both, send_claim, send_here
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db
REASON = "Your work was saved, but your time was up."


@pytest.fixture
def study(api: Mturk) -> Study:
    return posted_study(api, items=2, ratings_per_item=2, slug="weather")


@pytest.fixture
def posting(study: Study) -> Posting:
    return study.postings.order_by("pk")[0]


@pytest.fixture
def worker() -> MarketWorker:
    return make_market_worker()


@pytest.fixture
def work(posting: Posting, worker: MarketWorker) -> Assignment:
    """Sent here and never on the platform."""
    return send_here(posting, worker.worker_id, accept_there(posting, worker).assignment_id)


def pay(work: Assignment, api: Mturk, **changes: Any) -> Compensation:
    values: dict[str, Any] = {"amount": Decimal("0.18"), "reason": REASON}
    return compensate(work=work, platform=api, actor="test", **values | changes)


def test_only_this_worker_can_accept_it_and_is_paid_once(work: Assignment, worker: MarketWorker, api: Mturk) -> None:
    owed = pay(work, api)
    hit = MarketHit.objects.select_related("hit_type").get(hit_id=owed.external_id)
    assert (hit.max_assignments, hit.hit_type.reward) == (1, Decimal("0.18"))
    stranger = make_market_worker()
    assert Standing(stranger).unmet(hit.hit_type.requirements)
    with pytest.raises(Refusal):
        market.accept(hit=hit, worker=stranger)
    accepted = market.accept(hit=hit, worker=worker)
    assert note_paid(study=work.hit.study, platform=api) == 0
    market.submit(assignment_id=accepted.assignment_id, answers={})
    assert [note_paid(study=work.hit.study, platform=api) for _ in range(2)] == [1, 0]
    payment = Payment.objects.get()
    assert (payment.submission, payment.amount, payment.platform_id) == (
        work.submission,
        Decimal("0.18"),
        owed.external_id,
    )
    with pytest.raises(Invalid, match="compensated before"):
        pay(work, api)
    assert MarketHit.objects.filter(requester=hit.requester).count() == 3  # two of the study, one that pays


def test_it_continues_where_it_stopped_and_nothing_is_done_twice(
    work: Assignment, api: Mturk, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Mturk.call
    for lost in ("create_qualification_type", "create_hit_with_hit_type"):

        def loses(self: Mturk, operation: str, lost: str = lost, **params: Any) -> dict[str, Any]:
            answer = whole(self, operation, **params)
            if operation == lost:
                raise PlatformTrouble("The connection was lost.", again=True)
            return answer

        with monkeypatch.context() as patched, pytest.raises(PlatformTrouble):
            patched.setattr(Mturk, "call", loses)
            pay(work, api)
    pay(work, api)
    assert Compensation.objects.get().external_id
    assert MarketHit.objects.filter(annotation__contains="compensation").count() == 1
    assert set(PlatformCall.objects.filter(key__startswith="compensation").values_list("state", flat=True)) == {"done"}


def test_another_amount_than_promised_is_refused(work: Assignment, api: Mturk, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Mturk, operation: str, **params: Any) -> dict[str, Any]:
        raise PlatformTrouble("No.", again=True)

    with monkeypatch.context() as patched, pytest.raises(PlatformTrouble):
        patched.setattr(Mturk, "call", refuse)
        pay(work, api)
    with pytest.raises(Invalid, match=r"\$0.18 was promised"):
        pay(work, api, amount=Decimal("5.00"))


def test_what_the_platform_can_pay_is_not_compensated(posting: Posting, api: Mturk) -> None:
    work = send_both(posting)
    syncing.sync_study(study=posting.study, platform=api)
    with pytest.raises(Invalid, match="The platform has this work"):
        pay(work, api)
    deciding_on_platform.approve(outside=posting.outside.get(), platform=api, actor="test")
    with pytest.raises(Invalid, match="has been paid"):
        pay(work, api)


@pytest.mark.parametrize("amount", ["0", "-1", "0.005", "NaN", "Infinity", "500.01"])
def test_a_wrong_amount_is_refused_and_nothing_is_promised(amount: str, work: Assignment, api: Mturk) -> None:
    with pytest.raises(Invalid, match="cannot be paid"):
        pay(work, api, amount=Decimal(amount))
    assert not Compensation.objects.exists()


def test_a_reason_is_needed(work: Assignment, api: Mturk) -> None:
    with pytest.raises(Invalid, match="no reason"):
        pay(work, api, reason="  ")


def test_a_worker_whom_the_platform_does_not_know_gets_nothing(posting: Posting, api: Mturk) -> None:
    work = send_here(posting, "AINVENTED", "3INVENTED")
    with pytest.raises(PlatformTrouble):
        pay(work, api)
    assert not MarketHit.objects.filter(annotation__contains="compensation").exists()


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("study", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def test_the_commands_record_a_compensation_and_list_it_with_the_payments(
    study: Study, posting: Posting, work: Assignment, worker: MarketWorker, api: Mturk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: a reward of 0.18 to one worker; a reward and a compensation to the other, of whom nothing else came."""
    monkeypatch.setattr(Mturk, "connected", classmethod(lambda cls, account=None: api))
    rewarded = send_both(posting)
    syncing.sync_study(study=study, platform=api)
    deciding_on_platform.approve(outside=posting.outside.get(), platform=api, actor="test")
    owed = pay(work, api, amount=Decimal("0.30"))
    market.submit(
        assignment_id=market.accept(hit=MarketHit.objects.get(hit_id=owed.external_id), worker=worker).assignment_id,
        answers={},
    )
    assert "1 compensation paid." in command("sync", study.slug)
    assert "compensation" not in command("sync", study.slug)
    rows = {row["worker"]: row for row in csv.DictReader(io.StringIO(command("payments", study.slug)))}
    assert rows[rewarded.participant.pseudonym]["usd_paid"] == "0.180"
    listed = rows[work.participant.pseudonym]
    assert (listed["usd_paid"], listed["usd_bonuses_and_compensations"], listed["state"]) == ("0.300", "0.300", "paid")
    assert totals(study)["paid"] == sum(Decimal(row["usd_paid"]) for row in rows.values()) == Decimal("0.48")


def test_a_compensation_for_work_without_a_submission_is_listed_too(
    posting: Posting, worker: MarketWorker, api: Mturk
) -> None:
    accepted = accept_there(posting, worker)
    work = send_claim(posting, worker.worker_id, accepted.assignment_id, pages=0)
    owed = pay(work, api, amount=Decimal("0.30"))
    accepted = market.accept(hit=MarketHit.objects.get(hit_id=owed.external_id), worker=worker)
    market.submit(assignment_id=accepted.assignment_id, answers={})
    assert note_paid(study=work.hit.study, platform=api) == 1
    (row,) = payment_rows(work.hit.study, list(payable(work.hit.study)))
    assert (row.pseudonym, row.paid, row.extra, row.state) == (
        work.participant.pseudonym,
        Decimal("0.300"),
        Decimal("0.300"),
        "paid",
    )


def test_a_deleted_compensation_does_not_keep_others_from_being_recorded(
    posting: Posting, work: Assignment, worker: MarketWorker, api: Mturk
) -> None:
    gone = pay(work, api)
    Compensation.objects.filter(pk=gone.pk).update(external_id="3DELETED")
    other = make_market_worker()
    second = pay(send_here(posting, other.worker_id, accept_there(posting, other).assignment_id), api)
    accepted = market.accept(hit=MarketHit.objects.get(hit_id=second.external_id), worker=other)
    market.submit(assignment_id=accepted.assignment_id, answers={})
    assert note_paid(study=work.hit.study, platform=api) == 1
