"""Gwet's coefficients against irrCAC, intraclass correlations against Shrout & Fleiss 1979 and psych (R)."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from analysis.agreement import (
    gwet_ac1,
    gwet_ac2,
    icc,
    mean_ratings,
    noise_ceiling,
    ratings_from_arrays,
    ratings_from_matrix,
    split_half,
)
from analysis.agreement.icc import FORMS, one_way, two_way

DATA = Path(__file__).parent / "support" / "agreement_data"
TEXTBOOK = json.loads((DATA / "textbook.json").read_text())["shrout_fleiss_1979"]
R = json.loads((DATA / "reference_r.json").read_text())
GWET = json.loads((DATA / "reference_gwet.json").read_text())
NAN = math.nan
PSYCH_NAMES = {"1,1": "ICC1", "2,1": "ICC2", "3,1": "ICC3", "1,k": "ICC1k", "2,k": "ICC2k", "3,k": "ICC3k"}


# --- Gwet


@pytest.mark.parametrize("case", GWET.values(), ids=GWET)
def test_equal_to_irrcac(case: Any) -> None:
    ratings = np.array(case["ratings"], dtype=float)
    assert gwet_ac1(ratings, interval=False).value == pytest.approx(case["identity"], abs=1e-9)
    assert gwet_ac2(ratings, "linear", interval=False).value == pytest.approx(case["linear"], abs=1e-9)
    assert gwet_ac2(ratings, "quadratic", interval=False).value == pytest.approx(case["quadratic"], abs=1e-9)


def test_a_frequent_value_does_not_bring_it_down() -> None:
    """The paradox of Feinstein & Cicchetti 1990: 118 of 125 both positive, κ near 0, AC1 near the raw 0.944.

    By hand: p_o = 118/125, share of positive 243/250, p_e = 2 · 243/250 · 7/250, AC1 = (p_o − p_e)/(1 − p_e).
    """
    pairs = [["+", "+"]] * 118 + [["+", "-"]] * 5 + [["-", "+"]] * 2
    chance = 2 * 243 / 250 * 7 / 250
    assert gwet_ac1(pairs, interval=False).value == pytest.approx((118 / 125 - chance) / (1 - chance))
    assert gwet_ac1(pairs, interval=False).value == pytest.approx(0.941, abs=1e-3)


def test_categories_nobody_used_count() -> None:
    used = gwet_ac1(ratings_from_matrix([["a", "b"], ["a", "a"]]), interval=False).value
    wider = gwet_ac1(ratings_from_matrix([["a", "b"], ["a", "a"]], categories=["a", "b", "c"]), interval=False).value
    assert wider > used


def test_weights_of_words_go_by_their_position() -> None:
    words = np.array([["low", "mid"], ["high", "high"], ["mid", "mid"]], dtype=object)
    numbers = [[1, 2], [3, 3], [2, 2]]
    by_word = gwet_ac2(ratings_from_matrix(words, categories=["low", "mid", "high"]), interval=False).value
    assert by_word == pytest.approx(gwet_ac2(numbers, interval=False).value)


def test_one_category_is_undefined() -> None:
    assert "only one category" in gwet_ac1([[1, 1], [1, 1]]).note


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ([["a", "b"]], {}, "categories in their order"),
        ([[1, 2]], {"weights": "cubic"}, '"linear" or "quadratic"'),
        (np.arange(2002.0).reshape(-1, 2), {}, "2002 different values"),
        ([[1], [2]], {}, "only one rater"),
    ],
)
def test_ac2_refuses_values_that_it_cannot_weigh(data: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gwet_ac2(data, **options)


# --- ICC


@pytest.mark.parametrize("form", FORMS)
def test_the_example_of_shrout_and_fleiss(form: Any) -> None:
    assert icc(TEXTBOOK["ratings"], form).value == pytest.approx(TEXTBOOK["icc"][form], abs=5e-3)


def test_the_mean_squares_of_shrout_and_fleiss() -> None:
    squares, _ = two_way(ratings_from_matrix(TEXTBOOK["ratings"]))
    for name, expected in TEXTBOOK["mean_squares"].items():
        assert getattr(squares, name) == pytest.approx(expected, abs=6e-3)
    assert one_way(ratings_from_matrix(TEXTBOOK["ratings"]))[0].within == pytest.approx(squares.within)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", R.values(), ids=R)
def test_equal_to_psych_of_r_with_its_interval(case: Any, form: Any) -> None:
    value, low, high = case["icc"][PSYCH_NAMES[form]]
    estimate = icc(case["ratings"], form)
    assert estimate.value == pytest.approx(value, abs=1e-9)
    assert estimate.high == pytest.approx(high, abs=1e-9)
    if form == "2,k" and low > 1:
        # psych steps up a lower limit below −1/(k − 1), which gives nonsense; ours says that there is none.
        assert math.isnan(estimate.low)
        assert "no lower limit" in estimate.note
    else:
        assert estimate.low == pytest.approx(low, abs=1e-9)


def test_a_crowd_with_unequal_numbers_recovers_the_correlation_it_was_drawn_with() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 8, 6000)
    unit = np.repeat(np.arange(6000), sizes)
    rater = np.concatenate([rng.choice(500, size, replace=False) for size in sizes])
    value = rng.normal(size=6000)[unit] + math.sqrt(3) * rng.normal(size=len(unit))
    estimate = icc(ratings_from_arrays(unit, rater, value), "1,1")
    assert estimate.low < 0.25 < estimate.high
    assert estimate.high - estimate.low < 0.05
    assert estimate.n == int((sizes > 1).sum())
    assert "unequal" in estimate.method


def test_unequal_numbers_by_hand() -> None:
    """Donner 1986: k₀ = (N − Σn²/N)/(U − 1). Units 1 2 | 3 5 4: MSB 7.5·…, worked out in fractions."""
    estimate = icc([[1, 2, NAN], [3, 5, 4]], "1,1")  # type: ignore[arg-type]
    between = 2 * (1.5 - 3) ** 2 + 3 * (4 - 3) ** 2
    within = (0.5 + 2) / 3
    k = 5 - 13 / 5
    assert estimate.value == pytest.approx((between - within) / (between + (k - 1) * within))


def test_forms_2_and_3_leave_out_incomplete_units_and_say_so() -> None:
    full = TEXTBOOK["ratings"]
    estimate = icc([*full, [1, 2, NAN, 4]], "2,1")
    assert estimate.value == pytest.approx(icc(full, "2,1").value)
    assert estimate.n == 6
    assert "1 of 7 units lack some rater" in estimate.note


def test_the_interval_covers_as_often_as_it_says() -> None:
    covered = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        estimate = icc(rng.normal(size=(30, 1)) + rng.normal(size=(30, 4)), "1,1")
        covered += estimate.low <= 0.5 <= estimate.high
    assert 273 <= covered <= 297  # 95% of 300 is 285, standard deviation 3.8


def test_degenerate_ratings_are_undefined_with_a_reason() -> None:
    assert "no variance" in icc([[3, 3], [3, 3]], "2,1").note
    full = icc([[1, 1], [2, 2], [3, 3]], "3,k")
    assert full.value == 1
    assert math.isnan(full.low)
    assert "no lower limit" in full.note
    flat = icc([[1, 2], [2, 1], [1, 2]], "1,k")
    assert math.isnan(flat.value)
    assert "do not differ" in flat.note


@pytest.mark.parametrize(
    ("data", "form", "message"),
    [
        ([[1, 2], [NAN, 1]], "1,1", "fewer than two units"),
        ([[1, 2, NAN], [NAN, 1, 2]], "2,k", "rated by every rater"),
        ([["a", "b"], ["a", "a"]], "1,1", "text"),
        ([[1], [2]], "1,1", "one rater"),
        ([[1, 2], [2, 3]], "4,1", "the form is one of"),
    ],
)
def test_data_without_an_icc_are_refused(data: Any, form: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        icc(data, form)


def compared_sets() -> tuple[Any, Any]:
    """25 pairs on 1 to 5, of which 3 says “the same”, by six raters; and with every other pair turned around."""
    rng = np.random.default_rng(4)
    table = np.clip(np.round(3.7 + rng.normal(0, 1, (25, 1)) + rng.normal(0, 1, (25, 6))), 1, 5)
    turned = np.where(np.arange(25)[:, None] % 2, 6 - table, table)
    return table, turned


@pytest.mark.parametrize("form", ["1,1", "1,k"])
def test_icc_of_comparisons_does_not_depend_on_which_comes_first(form: Any) -> None:
    """Every pair and its mirror image by `f_oneway` (SciPy), whose 49 degrees of freedom between 50 means are 50, since
    their mean is known."""
    table, turned = compared_sets()
    f = float(stats.f_oneway(*table, *(6 - table)).statistic) * 49 / 50
    single = (f - 1) / (f + 5)
    expected = single if form == "1,1" else 1 - 1 / f
    first, second = icc(table, form, centre=3), icc(turned, form, centre=3)
    assert (first.value, second.value) == pytest.approx((expected, expected))
    assert (first.low, first.high) == pytest.approx((second.low, second.high))
    assert abs(icc(table, form).value - icc(turned, form).value) > 0.01


def test_icc_about_a_centre_has_form_one() -> None:
    with pytest.raises(ValueError, match="have form 1, not 2,1"):
        icc(compared_sets()[0], "2,1", centre=3)


def test_raters_who_differ_make_the_interval_of_crossed_ratings_wider() -> None:
    """Twelve raters with habits of their own rate all of 30 units. The F distribution, which takes raters as drawn anew
    for every unit, is far too sure of what other raters would give."""
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(30, 1)) + rng.normal(size=(1, 12)) + rng.normal(size=(30, 12))
    published, crossed = icc(scores, "1,1"), icc(scores, "1,1", crossed=True)
    assert crossed.value == published.value
    assert crossed.low < 1 / 3 < crossed.high  # units' variance is a third of the whole
    single, mean = (icc(scores, form, crossed=True) for form in ("1,1", "1,k"))
    assert mean.low == pytest.approx(12 * single.low / (1 + 11 * single.low))
    assert "12 raters" in mean.method


def test_crossed_intervals_belong_to_the_published_values() -> None:
    """ICC, split-half and ceiling are functions of the same two figures."""
    rng = np.random.default_rng(7)
    scores = np.round(rng.normal(size=(12, 1)) + rng.normal(size=(12, 6)), 1)
    ratings = ratings_from_matrix(scores)
    single = mean_ratings.single_rating(ratings, None, 0.95)
    mean = mean_ratings.mean_rating(ratings, None, 0.95)
    assert single.value == pytest.approx(icc(scores, "1,1").value)
    assert mean.value == pytest.approx(icc(scores, "1,k").value)
    assert mean.value == pytest.approx(noise_ceiling(scores).value ** 2)
    crossed = noise_ceiling(scores, crossed=True)
    assert (crossed.low**2, crossed.high**2) == pytest.approx((max(mean.low, 0), mean.high))
    half = split_half(scores, crossed=True)
    assert (half.low, half.high) == (mean.low, mean.high)
