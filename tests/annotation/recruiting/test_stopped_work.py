"""A worker of a platform stops early for part pay: one payment, whatever way it takes, and accounts that agree."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

from annotation.management.study_lifecycle import remedy_lines
from annotation.models import Assignment, Compensation, PartPayment, Payment, Study
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting.compensating import compensate, note_paid, promise
from annotation.recruiting.syncing import sync_study
from annotation.results.frames import study_data
from annotation.review import paying as payments_service
from annotation.review.paying import mark_paid
from annotation.review.payment_lists import totals
from annotation.review.payments_due import Due, due, payable, payment_rows
from annotation.tokens import participant_token
from annotation.work.part_pay import stop_for_part_pay, unpaid_parts
from common.problems import Invalid
from marketplace.models import Hit as MarketHit
from marketplace.models import Requester
from marketplace.models import Worker as MarketWorker
from marketplace.services.hits import assignments as market
from marketplace.services.money import payments as ledger
from tests.annotation.recruiting.helpers import accept_there, posted_study, send_claim
from tests.factories import make_researcher
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db
D = Decimal
REASON = "You stopped early. This is for the part that you did."
PART = D("0.30")


@pytest.fixture
def study(api: Mturk) -> Study:
    """absHDS with three steps and $0.90: each step is worth $0.30."""
    return posted_study(api, items=1, ratings_per_item=1, reward="0.90", part_pay="steps", slug="weather")


@pytest.fixture
def worker() -> MarketWorker:
    return make_market_worker()


def stopped(study: Study, worker: MarketWorker) -> tuple[Assignment, str]:
    """Their work here, stopped after one of three steps, and their assignment there."""
    posting = study.postings.get()
    accepted = accept_there(posting, worker)
    work = send_claim(posting, worker.worker_id, accepted.assignment_id, pages=1)
    owed = stop_for_part_pay(assignment_id=work.pk, participant_id=work.participant_id)
    assert owed is not None
    assert owed.amount == PART
    work.refresh_from_db()
    return work, accepted.assignment_id


def accept_pay(owed: Compensation, worker: MarketWorker) -> None:
    """The worker accepts the HIT that pays them, and sends it."""
    hit = MarketHit.objects.get(hit_id=owed.external_id)
    accepted = market.accept(hit=hit, worker=worker)
    market.submit(assignment_id=accepted.assignment_id, answers={})


def test_from_the_return_of_the_hit_to_equal_accounts(
    study: Study, worker: MarketWorker, requester: Requester, api: Mturk
) -> None:
    work, there = stopped(study, worker)
    page = Client().get(reverse("work", args=[participant_token(work.participant_id, work.pk)]), follow=True)
    assert "You have stopped this" in page.content.decode()
    market.return_(assignment_id=there, worker=worker)
    sync_study(study=study, platform=api)
    before = ledger.available(requester) + ledger.held(requester)

    owed = compensate(work=work, amount=PART, reason=REASON, platform=api, actor="test")
    assert unpaid_parts(study).count() == 0, "it must not be paid by hand as well"
    accept_pay(owed, worker)
    assert [note_paid(study=study, platform=api) for _ in range(2)] == [1, 0]
    sync_study(study=study, platform=api)

    payment = Payment.objects.get()
    assert (payment.kind, payment.amount, payment.submission) == ("compensation", PART, None)
    assert payment.worker_id == worker.worker_id
    assert (due(study).hits, totals(study)["paid"]) == (0, PART)
    # The marketplace's own ledger: the worker has the part, and the requester paid it and a fee of 20%.
    after = ledger.available(requester) + ledger.held(requester)
    assert (ledger.owed(worker), before - after, ledger.imbalance()) == (PART, PART + D("0.06"), D(0))
    (row,) = study_data(study).stopped.to_dict("records")
    assert (row["owed"], row["paid"], row["steps_done"], row["steps_in_all"]) == ("0.30", "0.30", 1, 3.0)


def test_what_was_promised_is_not_marked_as_paid_by_hand(study: Study, worker: MarketWorker, api: Mturk) -> None:
    work, _ = stopped(study, worker)
    compensate(work=work, amount=PART, reason=REASON, platform=api, actor="test")
    with pytest.raises(Invalid, match="nothing to pay"):
        mark_paid(study=study, actor="ann")
    # The report shows that it is not paid before the worker has accepted it.
    assert study_data(study).stopped["paid"].tolist() == ["0.00"]


def test_what_was_marked_as_paid_is_not_compensated(study: Study, worker: MarketWorker, api: Mturk) -> None:
    work, _ = stopped(study, worker)
    mark_paid(study=study, actor="ann")
    with pytest.raises(Invalid, match="has been paid"):
        compensate(work=work, amount=PART, reason=REASON, platform=api, actor="test")
    assert not MarketHit.objects.filter(annotation__contains="compensation").exists()
    assert Payment.objects.get().kind == "partial"
    assert study_data(study).stopped["paid"].tolist() == ["0.30"]


def test_the_place_goes_to_somebody_else_whose_reward_is_paid_as_usual(
    study: Study, worker: MarketWorker, api: Mturk
) -> None:
    _, there = stopped(study, worker)
    market.return_(assignment_id=there, worker=worker)
    other = make_market_worker()
    posting = study.postings.get()
    accepted = accept_there(posting, other)
    sent = send_claim(posting, other.worker_id, accepted.assignment_id)
    market.submit(assignment_id=accepted.assignment_id, answers={"saved": ["here"]})
    assert sent.state == "submitted"
    sync_study(study=study, platform=api)
    assert PartPayment.objects.count() == 1
    # The reward is paid there by an approval, the part by hand or by an extra HIT.
    assert (due(study).hits, due(study).total) == (1, PART)


def test_the_page_of_differences_pays_them_and_then_no_longer_lists_them(
    study: Study, worker: MarketWorker, api: Mturk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.recruiting.pages.reconcile.connect", lambda name, study: api)
    work, there = stopped(study, worker)
    client = Client()
    client.force_login(make_researcher("root", is_superuser=True))
    address = reverse("console_reconcile", args=[study.slug])
    page = client.get(address).content.decode()
    assert "Stopped for part pay" in page
    assert there in page
    assert 'value="0.30"' in page
    assert "early. This pays for the part that you did." in page
    (row,) = payment_rows(study, list(payable(study)))
    assert (row.hits_due, row.due) == (1, PART)
    form = {"work": str(work.pk), "amount": "0.30", "reason": REASON}
    client.post(reverse("console_compensate", args=[study.slug]), form)
    assert Compensation.objects.get().assignment == work
    assert "Stopped for part pay" not in client.get(address).content.decode()


def test_the_command_names_who_is_owed(study: Study, worker: MarketWorker) -> None:
    _, there = stopped(study, worker)
    assert f"study compensate weather {there} --amount 0.30" in "\n".join(remedy_lines(study))
    mark_paid(study=study, actor="ann")
    assert next(iter(remedy_lines(study))) == "There are no differences."


@pytest.mark.django_db(transaction=True)
def test_paying_by_hand_and_promising_a_hit_at_once_pay_only_once(
    study: Study, worker: MarketWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, _ = stopped(study, worker)
    has_read = threading.Event()

    def slow(study: Study, **selection: Any) -> Due:
        """Between reading what is owed and storing the payment, there is time for a promise."""
        owed = due(study, **selection)
        has_read.set()
        time.sleep(0.3)
        return owed

    monkeypatch.setattr(payments_service, "due", slow)

    def by_hand() -> str:
        mark_paid(study=study, actor="ann")
        return "by hand"

    def by_a_hit() -> str:
        has_read.wait(30)
        promise(work=work, amount=PART, reason=REASON, actor="ben")
        return "by a HIT"

    def run(act: object) -> str:
        try:
            return act()  # type: ignore[operator, no-any-return]
        except Invalid:
            return "refused"
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(run, [by_hand, by_a_hit]))
    # Whichever was first, the other says that nothing is owed.
    counts = {("by hand", "refused"): (1, 0), ("refused", "by a HIT"): (0, 1)}
    assert (Payment.objects.count(), Compensation.objects.count()) == counts[done[0], done[1]]
