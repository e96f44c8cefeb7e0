"""Figures of decoders: expected values worked out by hand from the definitions in the module."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from analysis.decoding import decoder_figures, trend
from analysis.decoding.measures import COLUMNS, repeated_share, same_text


def samples(*rows: tuple[str, str, str, int, float | None, float | None, str]) -> pd.DataFrame:
    """Rows of context, decoder, text, n_tokens, log_p, log_q, finish_reason."""
    full = [(context, "m", decoder, *rest, 0.1) for context, decoder, *rest in rows]
    return pd.DataFrame(full, columns=list(COLUMNS)).astype({"log_p": float, "log_q": float})


TWO_CONTEXTS = samples(
    ("1", "ancestral", "a b c d", 4, -8.0, -6.0, "length"),
    ("1", "ancestral", "a b c d", 6, -4.0, -2.0, "end"),
    ("2", "ancestral", "e f g h i", 5, -10.0, -9.0, "sentence"),
)


def figure(frame: pd.DataFrame, key: str) -> float:
    return decoder_figures(frame)[0].estimates[key].value


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("entropy", (4.0 + 9.0) / 2),  # −mean log q at each context: 4 and 9; contexts count alike
        ("entropy_per_token", (8 / 10 + 9 / 5) / 2),
        ("log_p", (-6.0 - 10.0) / 2),
        ("log_p_per_token", (-12 / 10 - 10 / 5) / 2),
        ("tokens", (5 + 5) / 2),
        ("words", (4 + 5) / 2),
        ("ended", (0.5 + 1.0) / 2),
        ("same", 1.0),  # the one pair is equal; the second context has no pair
        ("repetition", 0.0),
        # Context 1: orders 1 to 4 have half of their n-grams unique, order 5 none: (4 · 1/2 + 0) / 5.
        # Context 2: every n-gram of orders 1 to 5 is unique: 1.
        ("distinct", (0.4 + 1.0) / 2),
        ("distinct_1", (4 / 8 + 1.0) / 2),
        ("distinct_2", (3 / 6 + 1.0) / 2),
    ],
)
def test_a_measure_is_the_mean_over_contexts(key: str, expected: float) -> None:
    assert figure(TWO_CONTEXTS, key) == pytest.approx(expected)


def test_the_interval_is_over_contexts() -> None:
    # Five contexts with entropies 1 to 5: Student's t with 4 degrees of freedom, s.e. √(2.5/5).
    five = samples(*((str(at), "d", "a", 1, -1.0, -float(at), "end") for at in range(1, 6)))
    found = decoder_figures(five)[0].estimates["entropy"]
    half = 2.7764451 * math.sqrt(0.5)
    assert (found.low, found.high) == pytest.approx((3 - half, 3 + half))
    assert (found.n, found.n_of) == (5, "contexts")
    # Two contexts say next to nothing.
    assert math.isnan(decoder_figures(TWO_CONTEXTS)[0].estimates["entropy"].low)


def test_one_context_gives_no_interval() -> None:
    found = decoder_figures(TWO_CONTEXTS[TWO_CONTEXTS["context"] == "2"])[0].estimates["entropy"]
    assert found.value == 9.0
    assert math.isnan(found.low)


def test_one_unknown_probability_leaves_the_context_undefined() -> None:
    frame = samples(
        ("1", "d", "a", 1, None, None, "end"),
        ("1", "d", "b", 1, -1.0, -1.0, "end"),
        ("2", "d", "c", 1, -3.0, -2.0, "end"),
    )
    found = decoder_figures(frame)[0].estimates["entropy"]
    assert (found.value, found.n) == (2.0, 1)
    assert "not defined at 1 of 2 contexts" in found.note or "no interval" in found.note


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b c d", 0.0),
        ("a a a a a", 0.5),  # two 4-grams, one of them unique
        ("a b a b a b a", 0.5),  # abab, baba, abab, baba
    ],
)
def test_repeated_share(text: str, expected: float) -> None:
    assert repeated_share(text) == expected


def test_a_short_text_has_no_repeated_share() -> None:
    assert math.isnan(repeated_share("a b c"))


def test_same_text_counts_pairs() -> None:
    frame = pd.DataFrame({"text": ["a", "a", "a", "b"]})
    assert same_text(frame) == pytest.approx(3 / 6)  # pairs aa, aa, aa of six


def test_trend_is_spearman() -> None:
    # Ranks 1 2 3 4 against 1 3 2 4: Σd² = 2, ρ = 1 − 6·2 / (4·15) = 0.8.
    assert trend([0.1, 0.2, 0.3, 0.4], [1.0, 3.0, 2.0, 4.0]).value == pytest.approx(0.8)


def test_a_trend_needs_three_points_that_vary() -> None:
    assert math.isnan(trend([1, 2], [1.0, 2.0]).value)
    assert math.isnan(trend([1, 2, 3], [1.0, 1.0, 1.0]).value)


def test_a_missing_column_is_named() -> None:
    with pytest.raises(ValueError, match="log_q"):
        decoder_figures(TWO_CONTEXTS.drop(columns="log_q"))
