"""Fees and amounts. The percentages are MTurk's published ones: 20 %, 40 % from ten assignments, 5 % for masters."""

from decimal import Decimal
from functools import partial

import pytest
from django.db import DatabaseError, transaction

from marketplace import money
from marketplace.models import LedgerEntry
from marketplace.money import ZERO
from marketplace.services.money import payments
from marketplace.services.refusals import AlreadyExists, Refusal
from tests.marketplace.support import factories
from tests.marketplace.support.checks import check_all

FEES = [
    # reward, assignments, masters, fee
    ("1.00", 1, False, "0.20"),
    ("1.00", 9, False, "0.20"),
    ("1.00", 10, False, "0.40"),
    ("1.00", 1, True, "0.25"),
    ("1.00", 10, True, "0.45"),
    ("0.01", 1, False, "0.01"),  # never less than a cent
    ("0.00", 1, False, "0.01"),
    ("0.13", 1, False, "0.03"),  # 2.6 cents
    ("0.12", 1, False, "0.02"),  # 2.4 cents
]


@pytest.mark.parametrize(("reward", "assignments", "masters", "fee"), FEES)
def test_fee_of_an_assignment(reward: str, assignments: int, masters: bool, fee: str) -> None:
    found = money.assignment_fee(Decimal(reward), max_assignments=assignments, masters=masters)
    assert found == Decimal(fee)


@pytest.mark.parametrize("text", ["", "-1", "1.234", "1e3", "NaN", ".5", " 1", "1,00", "٣", "12345678901"])
def test_text_that_is_not_an_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="dollars"):
        money.amount(text)


def test_amounts_as_the_api_writes_them() -> None:
    assert [money.amount(text) for text in ("5", "5.", "0.05", "1.5")] == [
        Decimal(text) for text in ("5.00", "5.00", "0.05", "1.50")
    ]


@pytest.mark.django_db
def test_a_hit_holds_what_it_may_cost() -> None:
    requester = factories.make_requester(balance="10.00")
    factories.make_hit(requester=requester, max_assignments=3, reward="0.50")  # 3 × (0.50 + 0.10)
    assert (payments.available(requester), payments.held(requester)) == (Decimal("8.20"), Decimal("1.80"))
    check_all()


@pytest.mark.django_db
def test_a_hit_that_the_balance_does_not_cover_is_refused_to_the_cent() -> None:
    requester = factories.make_requester(balance="1.79")
    with pytest.raises(payments.InsufficientFunds) as refused:
        factories.make_hit(requester=requester, max_assignments=3, reward="0.50")
    assert refused.value.needed == Decimal("1.80")
    assert not requester.hits.exists()
    assert payments.available(requester) == Decimal("1.79")
    payments.deposit(requester=requester, amount=Decimal("0.01"), actor="test")
    factories.make_hit(requester=requester, max_assignments=3, reward="0.50")
    assert payments.available(requester) == 0


@pytest.mark.django_db
def test_a_bonus_costs_its_fee_and_is_sent_once_for_a_token() -> None:
    requester = factories.make_requester(balance="10.00")
    assignment = factories.make_assignment(hit=factories.make_hit(requester=requester), submitted=True)
    before = payments.available(requester)
    send = partial(
        payments.send_bonus,
        requester=requester,
        worker=assignment.worker,
        assignment=assignment,
        amount=Decimal("1.00"),
        reason="Thank you",
        token="t",
    )
    send()
    with pytest.raises(AlreadyExists):
        send()
    assert before - payments.available(requester) == Decimal("1.20")
    assert payments.owed(assignment.worker) == Decimal("1.00")
    check_all()


@pytest.mark.django_db
def test_payouts_never_exceed_what_is_owed() -> None:
    requester = factories.make_requester()
    assignment = factories.make_assignment(hit=factories.make_hit(requester=requester), submitted=True)
    worker = assignment.worker
    with pytest.raises(Refusal):
        payments.pay_out(worker=worker, actor="test")
    payments.send_bonus(
        requester=requester, worker=worker, assignment=assignment, amount=Decimal("2.00"), reason="Thank you"
    )
    with pytest.raises(Refusal):
        payments.pay_out(worker=worker, amount=Decimal("2.01"), actor="test")
    payments.pay_out(worker=worker, amount=Decimal("0.50"), actor="test")
    assert payments.pay_out(worker=worker, actor="test") == Decimal("1.50")
    earned = payments.earnings(worker)
    assert (earned.bonuses, earned.paid_out, earned.owed) == (Decimal("2.00"), Decimal("2.00"), ZERO)
    assert earned.pending == Decimal("0.50")
    assert payments.owed(worker) == 0
    check_all()


@pytest.mark.django_db
def test_the_ledger_cannot_be_changed() -> None:
    factories.make_requester()
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        LedgerEntry.objects.update(amount=1)
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        LedgerEntry.objects.all()[0].delete()
