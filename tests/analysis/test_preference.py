"""Choices between two: published p values, counts by hand, and the report's section."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from analysis.diversity.resampling import Bootstrap
from analysis.preference import Choices, binomial_test, count_choices, majorities, preference_share, win_share
from tests.analysis.support.pages import Page, built, unknown_numbers
from tests.analysis.support.studies import CHOICE, Values, a_set, study_data

PLAN = Bootstrap(draws=500, seed=2)


@pytest.mark.parametrize(("wins", "losses", "p"), [(76, 122, 0.0013), (108, 160, 0.0018)])
def test_published_counts_give_their_p(wins: int, losses: int, p: float) -> None:
    """Clark 2021, B.5, ties dropped, two-sided."""
    assert binomial_test(Choices(wins, 40, losses)) == pytest.approx(p, abs=5e-5)


def test_the_test_is_the_binomial_by_hand() -> None:
    # 1 of 6: 2 · (1 + 6) / 64.
    assert binomial_test(Choices(1, 3, 5)) == pytest.approx(float(Fraction(14, 64)))
    # Three ties: one to either side, the odd one dropped: 2 of 8, 2 · (1 + 8 + 28) / 256.
    assert binomial_test(Choices(1, 3, 5), ties="split") == pytest.approx(float(Fraction(74, 256)))
    assert binomial_test(Choices(4, 0, 4)) == 1
    assert math.isnan(binomial_test(Choices(0, 5, 0)))


def test_shares_have_wilsons_interval() -> None:
    # Newcombe 1998, table I: Wilson's interval without continuity correction of 81/263 is 0.2553 to 0.3662, of 15/148
    # 0.0624 to 0.1605.
    found = win_share(Choices(81, 10, 263 - 81))
    assert (found.low, found.high) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    found = win_share(Choices(15, 0, 133))
    assert (found.low, found.high) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert found.n == 148
    assert win_share(Choices(3, 2, 1), ties="split").value == pytest.approx(4 / 6)
    assert math.isnan(win_share(Choices(0, 3, 0)).value)


def test_counts_and_majorities_by_hand() -> None:
    choices = [1, 1, -1, 0, -1, 1, -1, 0, 0, math.nan]
    items = ["a", "a", "a", "b", "b", "c", "c", "d", "d", "e"]

    assert count_choices(choices) == Choices(3, 3, 3)
    found = majorities(choices, items)
    # a 2:1, b 0:1 and a tie, c 1:1, d nothing but ties, e unknown.
    assert (found.first, found.neither, found.second, found.n) == (1, 2, 1, 4)


def test_a_value_that_is_not_a_choice_is_refused() -> None:
    with pytest.raises(ValueError, match="1, 0 or −1, not 2"):
        count_choices([1, 2])


def test_the_share_over_items_resamples_items() -> None:
    # Two items, one all wins, one all losses: resampled shares are 0, 1/2 and 1, so that the interval says nothing.
    found = preference_share([1] * 50 + [-1] * 50, ["a"] * 50 + ["b"] * 50, plan=PLAN)
    assert (found.value, found.low, found.high, found.n, found.n_of) == (0.5, 0, 1, 2, "items")
    # With an item for every choice it comes near Wilson's.
    rng = np.random.default_rng(4)
    alone = preference_share(rng.permutation([1] * 60 + [-1] * 40), range(100), plan=PLAN)
    wilson = win_share(Choices(60, 0, 40))
    assert (alone.low, alone.high) == pytest.approx((wilson.low, wilson.high), abs=0.02)


def test_ties_alone_leave_the_share_undefined() -> None:
    assert math.isnan(preference_share([0, 0], ["a", "b"], plan=PLAN).value)


# --- the section ---


def an_item(name: str, first: str, second: str) -> dict[str, object]:
    return a_set(name, cells={"system_1": first, "system_2": second}, texts=[["One."], ["Two."]])


def test_systems_are_counted_whatever_side_they_stand_on(tmp_path: Path) -> None:
    items = [an_item("a", "gpt", "human"), an_item("b", "human", "gpt"), an_item("c", "gpt", "human")]
    values: Values = {
        ("a", "x"): 1, ("a", "y"): 1, ("a", "z"): 0,  # gpt, gpt, neither
        ("b", "x"): 1, ("b", "y"): 1, ("b", "z"): -1,  # human, human, gpt
        ("c", "x"): -1, ("c", "y"): -1, ("c", "z"): 1,  # human, human, gpt
    }  # fmt: skip

    page, sections = built(study_data(items, values, **CHOICE), tmp_path)

    (pair,) = sections["preference"]["overall"]["pairs"]
    assert (pair["first"], pair["second"]) == ("gpt", "human")
    assert pair["counts"] == {"wins": 4, "ties": 1, "losses": 4}
    assert pair["majorities"] == {"first": 1, "neither": 0, "second": 2}
    assert pair["p_ties_dropped"] == 1
    assert "2 of 3" in page and "gpt against human" in page
    assert unknown_numbers(Page(page), sections) == []


def test_kappa_of_three_categories(tmp_path: Path) -> None:
    # Two items, three raters: (1, 1, −1) and (−1, −1, −1): P = 2/3, shares 1/3 and 2/3, P_e = 5/9, κ = 1/4.
    values: Values = {
        ("a", "x"): 1, ("a", "y"): 1, ("a", "z"): -1, ("b", "x"): -1, ("b", "y"): -1, ("b", "z"): -1,
    }  # fmt: skip

    _, sections = built(study_data(["a", "b"], values, **CHOICE), tmp_path)

    found = sections["preference"]["overall"]
    assert found["fleiss_kappa"]["value"] == pytest.approx((2 / 3 - 5 / 9) / (1 - 5 / 9))
    # The items' file names no systems.
    assert (found["pairs"][0]["first"], found["pairs"][0]["second"]) == ("text 1", "text 2")


def test_pairs_of_systems_are_kept_apart(tmp_path: Path) -> None:
    items = [an_item("a", "A", "B"), an_item("b", "B", "C"), an_item("c", "A", "A"), an_item("d", "", "B")]
    values: Values = {(name, "x"): 1 for name in "abcd"}

    _, sections = built(study_data(items, values, **CHOICE), tmp_path)

    pairs = [(each["first"], each["second"]) for each in sections["preference"]["overall"]["pairs"]]
    assert pairs == [("A", "B"), ("B", "C"), ("A, text 1", "A, text 2"), ("text 1", "text 2")]
    assert all(each["share_by_item"]["low"] is None for each in sections["preference"]["overall"]["pairs"])


def test_ratings_that_are_not_choices_are_named(tmp_path: Path) -> None:
    page, _ = built(study_data(["a"], {("a", "x"): 3.0}, **CHOICE), tmp_path)

    assert "cannot be counted: a choice is 1, 0 or −1, not 3" in page
