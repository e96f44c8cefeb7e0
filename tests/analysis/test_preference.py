"""Choices between two: published p values, counts by hand, and the report's section."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from analysis.inference import Dimensions
from analysis.preference import Choices, binomial_test, count_choices, majorities, preference, win_share
from tests.analysis.support.pages import Page, built, unknown_numbers
from tests.analysis.support.studies import CHOICE, Values, a_set, study_data
from tests.analysis.support.two_way import reference_spread


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


def crossed_choices(
    rng: np.random.Generator, items: int = 30, workers: int = 12, per_item: int = 5, sd: float = 1.0
) -> tuple[np.ndarray[Any, Any], Dimensions]:
    """Choices without any true preference; items and workers have effects."""
    item = np.repeat(np.arange(items), per_item)
    worker = np.concatenate([rng.permutation(workers)[:per_item] for _ in range(items)])
    latent = rng.normal(0, sd, items)[item] + rng.normal(0, sd, workers)[worker] + rng.logistic(size=len(item))
    return np.where(latent > 0, 1.0, -1.0), Dimensions.of(items=item, workers=worker)


def test_the_share_has_the_two_way_interval_by_moments() -> None:
    choices, dimensions = crossed_choices(np.random.default_rng(4))
    choices[::10] = 0  # ties are left out
    found = preference(choices, dimensions)
    kept = choices != 0
    won = (choices[kept] == 1).astype(float)
    reference = reference_spread(won, dimensions.codes["items"][kept], dimensions.codes["workers"][kept])
    share = won.mean()
    half = stats.t.ppf(0.975, reference.freedom) * math.sqrt(reference.variance) / (share * (1 - share))
    bounds = [1 / (1 + math.exp(-(math.log(share / (1 - share)) + sign * half))) for sign in (-1, 1)]
    assert (found.share.low, found.share.high) == pytest.approx(bounds)
    assert (found.share.n, found.share.n_of) == (len(won), "answers")
    t = math.log(share / (1 - share)) * share * (1 - share) / math.sqrt(reference.variance)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(t), reference.freedom))


def test_no_preference_is_found_in_about_one_study_of_twenty() -> None:
    """300 studies of 30 items with 5 of 12 workers each: 15 expected, s.d. 3.8. The binomial test finds over 45."""
    rng = np.random.default_rng(11)
    crossed = binomial = 0
    for _ in range(300):
        choices, dimensions = crossed_choices(rng)
        crossed += preference(choices, dimensions).p < 0.05
        binomial += binomial_test(count_choices(choices)) < 0.05
    assert 4 <= crossed <= 27 and binomial > 45


def test_ties_alone_leave_the_share_undefined() -> None:
    found = preference([0, 0], Dimensions.of(items=["a", "b"], workers=["x", "y"]))
    assert math.isnan(found.share.value) and math.isnan(found.p) and found.share.note == "all choices are ties"


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
    # Two items, three raters: (1, 1, −1) and (−1, −1, −1): P = 2/3. The texts have no names, so both orders count:
    # shares 1/2 and 1/2, P_e = 1/2, κ = 1/3.
    values: Values = {
        ("a", "x"): 1, ("a", "y"): 1, ("a", "z"): -1, ("b", "x"): -1, ("b", "y"): -1, ("b", "z"): -1,
    }  # fmt: skip

    _, sections = built(study_data(["a", "b"], values, **CHOICE), tmp_path)

    found = sections["preference"]["overall"]
    assert found["fleiss_kappa"]["value"] == pytest.approx(1 / 3)
    # The items' file names no systems.
    assert (found["pairs"][0]["first"], found["pairs"][0]["second"]) == ("first text", "second text")


def test_pairs_of_systems_are_kept_apart(tmp_path: Path) -> None:
    items = [an_item("a", "A", "B"), an_item("b", "B", "C"), an_item("c", "A", "A"), an_item("d", "", "B")]
    values: Values = {(name, "x"): 1 for name in "abcd"}

    page, sections = built(study_data(items, values, **CHOICE), tmp_path)

    pairs = [(each["first"], each["second"]) for each in sections["preference"]["overall"]["pairs"]]
    assert pairs == [("A", "B"), ("B", "C"), ("first text", "second text")]
    assert "1 choice between two texts by one system, left out." in page
    assert all(
        "items, and there is only 1" in each["share"]["note"] for each in sections["preference"]["overall"]["pairs"]
    )


def test_ratings_that_are_not_choices_are_named(tmp_path: Path) -> None:
    page, _ = built(study_data(["a"], {("a", "x"): 3.0}, **CHOICE), tmp_path)

    assert "cannot be counted: a choice is 1, 0 or −1, not 3" in page


def test_the_headline_is_about_items_and_workers_and_p_is_never_zero(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    items = [an_item(f"i{at}", "gpt", "human") for at in range(14)]
    values: Values = {(f"i{at}", f"w{of}"): 1 if rng.random() < 0.8 else -1 for at in range(14) for of in range(15)}

    page, sections = built(study_data(items, values, **CHOICE), tmp_path)

    (pair,) = sections["preference"]["overall"]["pairs"]
    assert "14 items and 15 workers" in pair["share"]["method"]
    assert 0 < pair["p"] < 0.0001 and pair["p_corrected"] == pair["p"]
    assert 0 < pair["p_ties_dropped"] < 0.0001
    assert "0.0000" not in page and "&lt; 0.0001" in page
    assert "the paper’s test" in page and "too sure if items or workers differ" in page
    share, low, high = (f"{pair['share'][end]:.2f}" for end in ("value", "low", "high"))
    assert f"gpt is preferred to human in {share} [{low}, {high}] of choices that are no tie; p &lt; 0.0001" in page


def test_holms_correction_is_over_pairs_and_criteria(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    items = [an_item(f"i{at}", *pair) for at, pair in enumerate([("A", "B"), ("B", "C")] * 8)]
    values: Values = {(f"i{at}", f"w{of}"): int(rng.choice([1, 1, -1])) for at in range(16) for of in range(7)}

    _, sections = built(study_data(items, values, **CHOICE), tmp_path)

    pairs = sections["preference"]["overall"]["pairs"]
    expected = multipletests([each["p"] for each in pairs], method="holm")[1]
    assert [each["p_corrected"] for each in pairs] == pytest.approx(expected.tolist())


def test_agreement_does_not_depend_on_which_system_the_file_calls_first(tmp_path: Path) -> None:
    """The same choices between three systems, once with half of the items turned round; one κ for a question."""
    rng = np.random.default_rng(6)
    pairs = [("A", "B"), ("B", "C"), ("A", "C")] * 6
    chosen = {(f"i{at}", f"w{of}"): int(rng.choice([1, 1, 0, -1])) for at in range(18) for of in range(6)}
    turned = {f"i{at}" for at in range(18) if at % 4 > 1}
    found = []
    for name, flip in (("as_filed", set()), ("turned", turned)):
        items = [an_item(f"i{at}", *(pair[::-1] if f"i{at}" in flip else pair)) for at, pair in enumerate(pairs)]
        values: Values = {key: -value if key[0] in flip else value for key, value in chosen.items()}
        _, sections = built(study_data(items, values, **CHOICE), tmp_path / name)
        agreed = sections["answers"]["overall"]["agreement"]
        assert agreed["Fleiss’ κ"] == sections["preference"]["overall"]["fleiss_kappa"]
        found.append(agreed)
    assert found[0] == found[1]


def test_agreement_on_texts_without_system_names_counts_both_orders(tmp_path: Path) -> None:
    """Turning half of the items round changes neither α nor κ; α is the krippendorff package's on both orders."""
    rng = np.random.default_rng(7)
    chosen = {(f"i{at}", f"w{of}"): int(rng.choice([1, 1, 0, -1])) for at in range(18) for of in range(6)}
    table = np.array([[chosen[f"i{at}", f"w{of}"] for at in range(18)] for of in range(6)], dtype=float)
    agreed = []
    for name, flip in (("as_filed", set()), ("turned", {f"i{at}" for at in range(18) if at % 4 > 1})):
        items = [an_item(f"i{at}", "", "") for at in range(18)]
        values: Values = {key: -value if key[0] in flip else value for key, value in chosen.items()}
        _, sections = built(study_data(items, values, **CHOICE), tmp_path / name)
        agreed.append(sections["answers"]["overall"]["agreement"])
        assert agreed[-1]["Fleiss’ κ"] == sections["preference"]["overall"]["fleiss_kappa"]
    for name, coefficient in agreed[0].items():
        for part in ("value", "low", "high"):
            assert coefficient[part] == pytest.approx(agreed[1][name][part], rel=1e-9)
    reference = krippendorff.alpha(np.hstack([table, -table]), level_of_measurement="nominal")
    assert agreed[0]["Krippendorff’s α, nominal"]["value"] == pytest.approx(reference, rel=1e-9)
    alone = krippendorff.alpha(table, level_of_measurement="nominal")
    assert alone != pytest.approx(reference, abs=0.005)
