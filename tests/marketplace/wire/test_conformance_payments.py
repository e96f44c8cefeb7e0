"""Balance and bonuses."""

from decimal import Decimal
from typing import Any

import pytest

from tests.marketplace.support.conformance import (
    BAD,
    OURS,
    UNKNOWN,
    UNKNOWN_WORKER,
    WRONG,
    Act,
    No,
    Successes,
    a_hit,
    assert_refusal,
    assert_success,
    each_refusal,
    each_success,
    given,
    ids,
    mturk,
    registers,
)
from tests.marketplace.support.world import NOBODY, NOWHERE, World

pytestmark = pytest.mark.django_db
SUCCESSES: Successes = {}
succeeds = registers(SUCCESSES)


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


@succeeds("ListBonusPayments")
def both_filters_at_once(world: World) -> None:
    """The documentation asks for either and does not forbid both."""
    identifier = world.approved()
    world.client.send_bonus(**world.bonus(identifier))

    both = world.client.list_bonus_payments(HITId=world.hit_of(identifier), AssignmentId=identifier)
    assert len(both["BonusPayments"]) == 1
    elsewhere = world.client.list_bonus_payments(HITId=a_hit(world), AssignmentId=identifier)
    assert elsewhere["BonusPayments"] == []


# --- What is refused ----------------------------------------------------------------------------------------


def paid_before(world: World) -> dict[str, Any]:
    wanted = world.bonus(world.approved(), UniqueRequestToken="once")
    world.client.send_bonus(**wanted)
    return wanted


def for_work_in_progress(world: World) -> dict[str, Any]:
    worker = world.worker()
    return world.bonus(world.accepted(a_hit(world), worker), WorkerId=worker.worker_id)


REFUSALS = [
    No("GetAccountBalance", "another region", given({}), "", "InvalidSignatureException", who="abroad"),
    No(
        "SendBonus",
        "unknown WorkerId",
        lambda world: world.bonus(world.approved(), WorkerId=NOBODY),
        BAD,
        WRONG,
        source=UNKNOWN_WORKER,
        says=f'The value "{NOBODY}" is not valid for the parameter WorkerId.',
    ),
    No(
        "SendBonus",
        "unknown AssignmentId",
        lambda world: world.bonus(NOWHERE, WorkerId=world.worker().worker_id),
        mturk("AssignmentDoesNotExist"),
        source=UNKNOWN["Assignment"],
        says=f"Assignment {NOWHERE} does not exist.",
    ),
    No(
        "SendBonus",
        "someone else's AssignmentId",
        lambda world: world.bonus(world.approved()),
        mturk("AssignmentDoesNotExist"),
        who="stranger",
    ),
    No(
        "SendBonus",
        "work in progress",
        for_work_in_progress,
        mturk("AssignmentDoesNotExist"),
        source="seen: facebookresearch/Mephisto#1081",
        says="does not exist.",
    ),
    No(
        "SendBonus",
        "another worker",
        lambda world: world.bonus(world.approved(), WorkerId=world.worker().worker_id),
        mturk("InvalidAssignmentState"),
        source=OURS,  # that it fails is in NYUCCL/psiTurk#190; how, is not
    ),
    No("SendBonus", "nothing", lambda world: world.bonus(world.approved(), BonusAmount="0"), BAD, WRONG),
    No(
        "SendBonus",
        "not enough money",
        lambda world: world.bonus(world.approved(), BonusAmount="9000"),
        mturk("InsufficientFunds"),
        source="seen: NRGI/resourcecontracts.org#538, facebookresearch/Mephisto#342",
        says="This Requester has insufficient funds in their account to complete this transaction.",
    ),
    No(
        "SendBonus",
        "token used",
        paid_before,
        mturk("BonusAlreadyGranted"),
        source=OURS,  # the words: Dallinger/Dallinger#3109, and the tool nodekit looks for "idempotency"
        says='The idempotency token "once" has already been processed.',
    ),
    *ids("ListBonusPayments", "HITId", "HIT", a_hit),
    *ids("ListBonusPayments", "AssignmentId", "Assignment", World.submitted),
    No("ListBonusPayments", "neither HIT nor assignment", given({}), BAD, WRONG),
]


@pytest.mark.parametrize("case", each_success(SUCCESSES))
def test_success(world: World, case: tuple[str, Act]) -> None:
    assert_success(world, case)


@pytest.mark.parametrize("case", each_refusal(REFUSALS))
def test_refusal(world: World, case: No) -> None:
    assert_refusal(world, case)
