"""Krippendorff's α against published values, the `krippendorff` package and literal resampling."""

import json
import math
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analysis.agreement import (
    counts_from_table,
    krippendorff_alpha,
    ratings_from_arrays,
    ratings_from_matrix,
)

TEXTBOOK = json.loads((Path(__file__).parent / "support" / "agreement_data" / "textbook.json").read_text())
LEVELS = ["nominal", "ordinal", "interval", "ratio"]
NAN = math.nan


def textbook(name: str) -> Any:
    return np.array(TEXTBOOK[name]["observers"], dtype=float).T


def simulated(units: int = 60, raters: int = 8, missing: float = 0.5, values: int = 5, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    scores = np.round(3 + rng.normal(size=(units, 1)) + rng.normal(size=(units, raters)))
    scores = np.clip(scores, 1, values)
    scores[rng.random(scores.shape) < missing] = NAN
    return scores


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["krippendorff_a", "krippendorff_b"])
def test_krippendorffs_own_examples(name: str, level: Any) -> None:
    estimate = krippendorff_alpha(textbook(name), level, draws=0)
    assert estimate.value == pytest.approx(TEXTBOOK[name]["alpha"][level], abs=5e-5)
    assert estimate.n == TEXTBOOK[name]["paired_units"]


matrices = st.tuples(st.integers(2, 12), st.integers(2, 6)).flatmap(
    lambda shape: arrays(float, shape, elements=st.sampled_from([NAN, 0.0, 1.0, 2.0, 2.5, 4.0, 7.0, 100.0, 1e-3]))
)


@pytest.mark.parametrize("level", LEVELS)
@settings(max_examples=150, deadline=None)
@given(matrix=matrices)
def test_equal_to_the_krippendorff_package_for_any_matrix(level: Any, matrix: Any) -> None:
    paired = matrix[(~np.isnan(matrix)).sum(axis=1) >= 2]
    assume(len(np.unique(paired[~np.isnan(paired)])) > 1)
    expected = krippendorff.alpha(matrix.T, level_of_measurement=level)
    assert krippendorff_alpha(matrix, level, draws=0).value == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_equal_to_the_krippendorff_package_with_a_hundred_values(level: Any) -> None:
    matrix = np.random.default_rng(3).integers(0, 101, (300, 7)).astype(float)
    matrix[np.random.default_rng(4).random(matrix.shape) < 0.4] = NAN
    expected = krippendorff.alpha(matrix.T, level_of_measurement=level)
    assert krippendorff_alpha(matrix, level, draws=0).value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_a_table_of_counts_and_a_long_frame_give_what_the_matrix_gives(level: Any) -> None:
    ratings = ratings_from_matrix(simulated())
    table = counts_from_table(ratings.counts().table.toarray(), ratings.values.tolist())
    arrays_ = ratings_from_arrays(ratings.unit, ratings.rater, ratings.numbers())
    figures = [krippendorff_alpha(data, level, draws=200) for data in (simulated(), table, arrays_)]
    assert figures[0].value == figures[1].value == figures[2].value
    assert (figures[0].low, figures[0].high) == (figures[1].low, figures[1].high)


def test_text_labels_are_nominal_and_ordinal_by_the_order_given() -> None:
    names = np.array(["", "very low", "low", "mid", "high", "very high"], dtype=object)
    matrix = textbook("krippendorff_b")
    words = np.where(np.isnan(matrix), None, names[np.nan_to_num(matrix).astype(int)])
    nominal = krippendorff_alpha(words, draws=0)
    ordinal = krippendorff_alpha(ratings_from_matrix(words, categories=names[1:].tolist()), "ordinal", draws=0)
    # The values in the docstring of krippendorff.alpha, word for word.
    assert nominal.value == pytest.approx(0.743, abs=5e-4)
    assert ordinal.value == pytest.approx(0.815, abs=5e-4)


def test_large_offsets_cost_no_precision() -> None:
    matrix = textbook("krippendorff_b")
    expected = krippendorff_alpha(matrix, "interval", draws=0).value
    assert krippendorff_alpha(matrix + 1e9, "interval", draws=0).value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_full_agreement_is_one(level: Any) -> None:
    assert krippendorff_alpha([[1, 1], [2.5, 2.5], [7, 7]], level, draws=0).value == 1  # type: ignore[arg-type]


# --- intervals


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others() -> None:
    first, again, other = (krippendorff_alpha(simulated(), "ordinal", draws=300, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert (first.low, first.high) != (other.low, other.high)


def literal_draws(matrix: Any, level: Any, draws: int, rows: Any, seed: int = 0) -> Any:
    """Resamples units (rows) or raters (columns) and leaves α to the package."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        size = matrix.shape[0 if rows else 1]
        chosen = rng.integers(0, size, size)
        resampled = matrix[chosen] if rows else matrix[:, chosen]
        found.append(krippendorff.alpha(resampled.T, level_of_measurement=level))
    return np.quantile(found, [0.025, 0.975])


# Tables with few distinct rows, reduced to them; with nearly as many as units; with too many values to reduce.
SIMULATED = {
    "few rows": np.where(simulated(units=200, raters=2, missing=0) > 3, 3.0, 1.0),
    "many rows": simulated(units=40),
    "many values": simulated(units=40) * 10 + np.random.default_rng(5).integers(0, 9, (40, 8)),
}


@pytest.mark.parametrize("data", SIMULATED.values(), ids=SIMULATED)
@pytest.mark.parametrize("level", LEVELS)
def test_the_interval_is_that_of_literally_resampled_units(level: Any, data: Any) -> None:
    matrix = data[(~np.isnan(data)).sum(axis=1) >= 2]
    estimate = krippendorff_alpha(matrix, level, draws=4000)
    low, high = literal_draws(matrix, level, 1000, rows=True)
    assert [estimate.low, estimate.high] == pytest.approx([low, high], abs=0.1 * (high - low))


def alpha_without_copies(matrix: Any, chosen: Any) -> Any:
    """Nominal α of the chosen columns, pair by pair: a rater's rating is never paired with a copy of itself."""
    n = observed = 0.0
    cells = [(unit, rater) for unit in range(len(matrix)) for rater in chosen if not math.isnan(matrix[unit, rater])]
    kept = []
    for unit, row in enumerate(matrix):
        own = [(u, rater) for u, rater in cells if u == unit]
        apart = [row[a] != row[b] for _, a in own for _, b in own if a != b]
        if apart:
            kept += own
            n += len(own)
            observed += len(own) * np.mean(apart)
    expected = [matrix[a] != matrix[b] for a in kept for b in kept if a != b]
    return 1 - observed / n / np.mean(expected)


def test_the_interval_over_raters_is_that_of_literally_resampled_raters() -> None:
    matrix = np.random.default_rng(0).integers(0, 2, (5, 6)).astype(float)
    matrix[:, :3] = matrix[:, :1]
    matrix[np.random.default_rng(1).random(matrix.shape) < 0.15] = NAN
    assert alpha_without_copies(matrix, range(6)) == pytest.approx(krippendorff_alpha(matrix, draws=0).value)
    rng = np.random.default_rng(2)
    draws = [rng.integers(0, 6, 6) for _ in range(600)]
    found = [alpha_without_copies(matrix, chosen) for chosen in draws if len(set(chosen)) > 1]
    low, high = np.nanquantile(found, [0.1, 0.9])
    estimate = krippendorff_alpha(matrix, draws=4000, over="raters", confidence=0.8)
    assert [estimate.low, estimate.high] == pytest.approx([low, high], abs=0.1 * (high - low))


def test_over_raters_a_copy_is_not_paired_with_itself() -> None:
    """Random labels: pairing copies with themselves would put the interval well above 0."""
    labels = np.random.default_rng(0).integers(0, 3, (300, 6)).astype(float)
    estimate = krippendorff_alpha(labels, draws=400, over="raters")
    literal = literal_draws(labels, "nominal", 100, rows=False)
    assert estimate.low < 0.01
    assert estimate.high < 0.06
    assert literal[0] > 0.03 > estimate.value  # the naive interval does not even contain the estimate
    assert "over raters" in estimate.method


def test_over_raters_shows_that_two_camps_of_raters_vary_more_than_units() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, (400, 1))
    careful = np.repeat(truth, 4, axis=1)
    labels = np.hstack([careful, rng.integers(0, 2, (400, 4))])
    units, raters = (krippendorff_alpha(labels, draws=300, over=over) for over in ("units", "raters"))
    assert raters.high - raters.low > 3 * (units.high - units.low)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """One-way normal data: α at interval level estimates the intraclass correlation, here 0.5."""
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=(100, 1)) + rng.normal(size=(100, 4))
        estimate = krippendorff_alpha(scores, "interval", draws=300, seed=seed)
        covered += estimate.low <= 0.5 <= estimate.high
    # 95% of 200 is 190; below 178 (89%) or above 199 would be a wrong interval, not chance (p < 0.001).
    assert 178 <= covered <= 199


# --- what is undefined


def test_units_with_one_rating_do_not_enter_and_are_counted() -> None:
    estimate = krippendorff_alpha([[1, 1, 2], [2, NAN, 2], [3, NAN, NAN], [NAN] * 3], draws=50)  # type: ignore[arg-type]
    assert estimate.n == 2
    assert "of 4 units, 2 with fewer than 2 ratings" in estimate.note


def test_without_variation_it_is_undefined_with_a_reason() -> None:
    estimate = krippendorff_alpha([[3, 3], [3, 3], [3, NAN]])  # type: ignore[arg-type]
    assert math.isnan(estimate.value)
    assert math.isnan(estimate.low)
    assert "same value" in estimate.note
    # 4 is never paired, so it does not count as variation.
    assert math.isnan(krippendorff_alpha([[3, 3], [3, 3], [4, NAN]]).value)  # type: ignore[arg-type]


def test_draws_without_variation_are_counted() -> None:
    estimate = krippendorff_alpha([[1, 1], [1, 1], [1, 1], [2, 2]], draws=500)
    # A draw without the last unit has one value: 500 · (3/4)⁴ ≈ 158 of them.
    lost = int(estimate.note.split(" of 500 bootstrap draws undefined")[0].split("; ")[-1])
    assert 120 < lost < 200


def test_one_unit_or_two_raters_give_no_interval() -> None:
    assert "one unit" in krippendorff_alpha([[1, 2]]).note
    assert math.isnan(krippendorff_alpha([[1, 2]]).low)
    assert "two raters" in krippendorff_alpha([[1, 2], [1, 1]], over="raters").note


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (np.empty((0, 3)), {}, "no ratings"),
        (np.full((3, 3), NAN), {}, "no ratings"),
        ([[1], [2], [3]], {}, "only one rater"),
        ([[1, NAN], [NAN, 2]], {}, "no unit has two ratings"),
        ([[1, 2], [-1, 2]], {"level": "ratio"}, "0 or more"),
        ([["a", "b"], ["a", "a"]], {"level": "interval"}, "text"),
        ([["a", "b"], ["a", "a"]], {"level": "ordinal"}, "categories in their order"),
        ([[1, 2]], {"level": "metric"}, "nominal, ordinal, interval, ratio"),
        ([[1, 2]], {"draws": -1}, "0 or more"),
        ([[1, 2]], {"over": "items"}, '"units" or "raters"'),
        ([[1, 2]], {"confidence": 95}, "between 0 and 1"),
        (counts_from_table([[2, 1]]), {"over": "raters"}, "cannot be resampled"),
        ([1, 2, 3], {}, "two dimensions"),
        ([[1, math.inf]], {}, "infinite"),
    ],
)
def test_degenerate_input_is_refused(data: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        krippendorff_alpha(data, **options)
