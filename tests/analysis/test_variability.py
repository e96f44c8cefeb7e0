"""Distances between texts by hand, fits as SciPy has them, and the released replies."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.diversity.resampling import Bootstrap
from analysis.tagging import load_tagger
from analysis.variability import (
    CONTROL,
    Productions,
    control_fit,
    corpus_view,
    cosine_matrix,
    cross_distances,
    fit,
    fit_table,
    matrices,
    ngram_distance,
    ngram_matrix,
    self_distances,
    split_by_writer,
    within_and_between,
    worst_fit,
)
from analysis.variability.fit import wasserstein
from analysis.variability.views import PEOPLE

PLAN = Bootstrap(draws=100)


@pytest.mark.parametrize(
    ("first", "second", "n", "distance"),
    [
        # Of 3 + 4 words, “slept” and “well” of the second and “ran” of the first are alone.
        ("the dog ran", "the dog slept well", 1, 3 / 7),
        # Bigrams: the-dog in both; dog-ran; dog-slept, slept-well: 3 of 5.
        ("the dog ran", "the dog slept well", 2, 3 / 5),
        ("the dog ran", "the dog slept well", 3, 1.0),
        # Every occurrence counts: both “no” of the first are in the second, which has nothing alone.
        ("no no", "no", 1, 0.0),
        ("no no yes", "no", 1, 1 / 4),
        ("same", "same", 1, 0.0),
        ("yes", "", 1, 1.0),
        ("", "", 1, math.nan),
        # Too short for bigrams on both sides, on one side.
        ("yes", "no", 2, math.nan),
        ("yes", "no thanks", 2, 1.0),
    ],
)
def test_distances_by_hand(first: str, second: str, n: int, distance: float) -> None:
    left, right = first.split(), second.split()
    assert ngram_distance(left, right, n) == pytest.approx(distance, nan_ok=True)
    assert ngram_distance(right, left, n) == pytest.approx(distance, nan_ok=True)
    assert ngram_matrix([left, right], n) == pytest.approx(np.array([[0, distance], [distance, 0]]), nan_ok=True)


def test_an_order_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="one token or more"):
        ngram_distance(["a"], ["b"], 0)
    with pytest.raises(ValueError, match="one token or more"):
        ngram_matrix([], 0)


def test_cosine_distances_are_between_0_and_1() -> None:
    found = cosine_matrix([[1, 0], [2, 0], [0, 3], [-1, 0], [1, 1], [0, 0]])

    assert found[0, :5] == pytest.approx([0, 0, 1, 1, 1 - 1 / math.sqrt(2)])
    assert np.isnan(found[5, :5]).all() and found[5, 5] == 0
    with pytest.raises(ValueError, match="finite"):
        cosine_matrix([[math.nan]])
    with pytest.raises(ValueError, match="one row per text"):
        cosine_matrix([1.0])


# --- fits ---

# Texts 0, 1, 2 by people, 3 and 4 by a model; 2–4 is undefined.
MATRIX = np.array(
    [
        [0.0, 0.2, 0.4, 0.8, 1.0],
        [0.2, 0.0, 0.6, 0.9, 0.7],
        [0.4, 0.6, 0.0, 0.5, math.nan],
        [0.8, 0.9, 0.5, 0.0, 0.1],
        [1.0, 0.7, math.nan, 0.1, 0.0],
    ]
)


def test_the_three_sets_of_pairs() -> None:
    human, model = [0, 1, 2], [3, 4]
    assert sorted(self_distances(MATRIX, human)) == [0.2, 0.4, 0.6]
    assert self_distances(MATRIX, model).tolist() == [0.1]
    assert sorted(cross_distances(MATRIX, human, model)) == [0.5, 0.7, 0.8, 0.9, 1.0]


def test_a_fit_by_hand() -> None:
    found = fit([0.2, 0.4, 0.6], [0.1], [0.5, 0.7, 0.9])

    assert (found.mu_human, found.mu_model, found.mu_cross) == pytest.approx((0.4, 0.1, 0.7))
    assert (found.model_minus_human, found.cross_minus_human) == pytest.approx((-0.3, 0.3))
    # Everything moves in one direction: W1 is the difference of means.
    assert (found.w1_model, found.w1_cross) == pytest.approx((0.3, 0.3))
    assert (found.n_human, found.n_model, found.n_cross) == (3, 1, 3)
    # Means alike, values not: 0 and 1 against 0.5 twice is 0.5 to carry each.
    assert fit([0.0, 1.0], [0.5], []).w1_model == pytest.approx(0.5)
    assert math.isnan(fit([0.5], [], []).mu_model) and math.isnan(fit([0.5], [], []).w1_cross)


@settings(max_examples=60, deadline=None)
@given(*[st.lists(st.floats(0, 1), min_size=1, max_size=12)] * 2)
def test_wasserstein_is_scipys_and_the_area_between_distributions(first: list[float], second: list[float]) -> None:
    found = wasserstein(np.array(first), np.array(second))
    assert found == stats.wasserstein_distance(first, second)
    # Its definition in one dimension: ∫ |F − G|, summed over the steps of both.
    steps = sorted([*first, *second])
    area = sum(
        abs(sum(x <= low for x in first) / len(first) - sum(x <= low for x in second) / len(second)) * (high - low)
        for low, high in pairwise(steps)
    )
    assert found == pytest.approx(area, abs=1e-12)


def test_the_control_group_is_two_disjoint_halves() -> None:
    matrix = np.abs(np.subtract.outer(2.0 ** np.arange(7), 2.0 ** np.arange(7)))

    found = control_fit(matrix, list(range(7)), rng=np.random.default_rng(3))

    assert found is not None
    # 3 and 4 texts: 3 pairs within the first, 6 within the second, 12 between: 21, all pairs of seven.
    assert (found.n_human, found.n_model, found.n_cross) == (3, 6, 12)
    total = found.n_human * found.mu_human + found.n_model * found.mu_model + found.n_cross * found.mu_cross
    assert total == pytest.approx(matrix[np.triu_indices(7, 1)].sum())


@pytest.mark.parametrize(("references", "has_control"), [(5, False), (6, True)])
def test_five_references_are_too_few_for_a_control_group(references: int, has_control: bool) -> None:
    """Giulianelli et al. 2023, fn. 11."""
    each = Productions("c", [f"word{at} other" for at in range(references)])
    table = fit_table(matrices([each]))
    assert (CONTROL in set(table["decoder"])) == has_control


def test_within_and_between_writers_by_hand() -> None:
    # Writers a, a, b: within 0–1; between 0–2 and 1–2; a text without a writer counts nowhere.
    within, between = split_by_writer(MATRIX, [0, 1, 2, 3], ["a", "a", "b", ""])
    assert within.tolist() == [0.2] and sorted(between) == [0.4, 0.6]

    texts = ["red dog", "red dog", "blue cat", "blue bird"]
    found = within_and_between(matrices([Productions("c", texts, ["a", "a", "b", "b"])]))["lexical-1"]
    # Within: 0 and 1/2; between: all four 1.
    assert (found["within"].value, found["between"].value, found["difference"].value) == (0.25, 1.0, 0.75)
    assert math.isnan(found["within"].low) and "contexts, and there is only 1" in found["within"].note


# --- contexts ---

TWO = [
    Productions("c1", ["a dog ran", "a cat ran"], (), {"m": ["a dog ran", "a dog ran"]}),
    Productions("c2", ["a dog ran", "a cat ran"], (), {"m": ["it snows", "they sing"]}),
]


def test_the_corpus_and_the_instance_view() -> None:
    table = fit_table(matrices(TWO))
    # Words: H is 2/6 in both. c1: M 0, C 0 and 1/3 twice each. c2: M 1, C 1.
    mine = table[(table["decoder"] == "m") & (table["kind"] == "lexical-1")].set_index("context")
    assert mine["mu_human"].tolist() == pytest.approx([1 / 3, 1 / 3])
    assert mine["mu_model"].tolist() == pytest.approx([0, 1])
    assert mine["mu_cross"].tolist() == pytest.approx([1 / 6, 1])

    views = corpus_view(table)
    assert views["m", "lexical-1"]["model_minus_human"].value == pytest.approx((0 + 1) / 2 - 1 / 3)
    assert views[PEOPLE, "lexical-1"]["mu_human"].n == 2
    worst = worst_fit(table, decoder="m", kind="lexical-1")
    assert worst["context"].tolist() == ["c2", "c1"]
    assert worst["w1_cross"].tolist() == pytest.approx([2 / 3, 1 / 6])


def test_tags_and_embeddings_add_kinds() -> None:
    vectors = np.eye(8)
    found = dict(next(iter(matrices(TWO[:1], tagger=load_tagger(), vectors=vectors[:4])))[1])
    assert list(found) == [f"{kind}-{n}" for kind in ("lexical", "syntactic") for n in (1, 2, 3)] + ["semantic"]
    # “a dog ran” and “a cat ran” have the same parts of speech.
    assert found["syntactic-3"][0, 1] == 0 and found["semantic"][0, 1] == 1
    for count in (7, 9):
        with pytest.raises(ValueError, match="embeddings"):
            list(matrices(TWO, vectors=np.ones((count, 2))))


def test_the_halves_do_not_depend_on_the_order_of_contexts() -> None:
    contexts = [Productions(f"c{at}", [f"{word} {at}" for word in "abcdefgh"[: 6 + at]]) for at in range(3)]
    one, other = fit_table(matrices(contexts)), fit_table(matrices(contexts[::-1]))
    one, other = (table.sort_values(["context", "decoder", "kind"], ignore_index=True) for table in (one, other))
    pd.testing.assert_frame_equal(one, other)


def test_writers_must_fit_their_texts() -> None:
    with pytest.raises(ValueError, match="2 texts have 1 writers"):
        Productions("c", ["a", "b"], ["w"])


@pytest.mark.released
@pytest.mark.slow
def test_replies_to_dialogues_are_further_from_random_replies(released: Path) -> None:
    """DailyDialog++, five replies by people to each context; replies from other dialogues fit worse than people's.

    No published figure exists for these exact tokens; what must hold is the direction (Giulianelli et al. 2023, §5:
    people's replies share few words) and that each context has its ten pairs.
    """
    lines = (released / "dailydialog-plusplus" / "dev.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    contexts = [
        Productions(str(row["id"]), row["positive_responses"], (), {"random": row["random_negative_responses"]})
        for row in rows
    ]
    assert len(contexts) == 1028

    table = fit_table(matrices(contexts))

    people = table[(table["decoder"] == PEOPLE) & (table["kind"] == "lexical-1")]
    assert (people["n_human"] == 10).all() and CONTROL not in set(table["decoder"])
    views = corpus_view(table)
    assert views["random", "lexical-1"]["cross_minus_human"].low > 0
    means = [views[PEOPLE, f"lexical-{n}"]["mu_human"].value for n in (1, 2, 3)]
    assert 0.5 < means[0] < means[1] < means[2] < 1
