"""Costs: figures of Tevet & Berant 2021 (§6.2, app. A) and of Amazon's price list, worked out by hand."""

from __future__ import annotations

from decimal import Decimal

import pytest

from annotation.platforms.costs import MTURK, NO_FEES, Fees, Offered, cost_of, hourly_wage, parts_of, reward_problems

ABS_HDS = Offered(hits=200, reward=Decimal("0.18"), wanted=10)


def test_an_abs_hds_experiment_costs_360_dollars_before_fees() -> None:
    assert cost_of([ABS_HDS], fees=NO_FEES).total == Decimal("360.00")


def test_unsplit_hits_of_ten_pay_the_higher_fee() -> None:
    cost = cost_of([ABS_HDS], fees=MTURK)
    assert (cost.hits, cost.assignments, cost.rewards) == (200, 2000, Decimal("360.00"))
    assert cost.total == Decimal("504.00")


def test_split_hits_pay_the_lower_fee() -> None:
    cost = cost_of([ABS_HDS], fees=MTURK, split=True)
    assert (cost.hits, cost.total) == (400, Decimal("432.00"))


def test_a_sim_hds_experiment_costs_1120_dollars_before_fees() -> None:
    assert cost_of([Offered(200, Decimal("0.56"), 10)], fees=NO_FEES).total == Decimal("1120.00")


def test_each_assignment_pays_at_least_a_cent() -> None:
    assert cost_of([Offered(1, Decimal("0.01"), 3)], fees=MTURK).fees == Decimal("0.03")


def test_masters_cost_five_percent_more() -> None:
    assert cost_of([Offered(1, Decimal("1.00"), 2)], fees=MTURK, masters=True).fees == Decimal("0.50")


def test_a_marketplace_that_rounds_each_fee() -> None:
    # 20 % of 0.18 is 0.036: charged as 0.04 for each of 2,000
    assert cost_of([ABS_HDS], fees=Fees(each_rounded=True), split=True).fees == Decimal("80.00")


@pytest.mark.parametrize(
    ("wanted", "parts"), [(1, [1]), (9, [9]), (10, [5, 5]), (11, [6, 5]), (19, [7, 6, 6]), (27, [9, 9, 9])]
)
def test_a_split_makes_parts_of_at_most_nine(wanted: int, parts: list[int]) -> None:
    assert parts_of(wanted, split=True) == parts


def test_without_a_split_there_is_one_part() -> None:
    assert parts_of(27, split=False) == [27]


def test_hourly_wage() -> None:
    assert hourly_wage(Decimal("0.18"), 60) == Decimal("10.80")
    with pytest.raises(ValueError, match="more than 0 seconds"):
        hourly_wage(Decimal("0.18"), 0)


def test_a_part_of_a_cent_is_refused_with_the_way_out() -> None:
    (problem,) = reward_problems([Decimal("0.056"), Decimal("0.18")])
    assert "$0.056" in problem.what
    # Ten pairs make 0.56 (Tevet & Berant, app. A); five make 0.28, which is the smallest bundle.
    assert "put 5 items into each hit and pay $0.28" in problem.fix
