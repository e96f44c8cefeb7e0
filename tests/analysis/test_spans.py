"""Spans: stored form, weights and agreement, counted by hand."""

from __future__ import annotations

import math
import random

import pytest

from analysis.spans import Span, character_f1, exact_f1, spans_in, spans_text, weight_of
from analysis.spans.agreement import by_severity, characters
from analysis.spans.pooled import pooled_f1

STUDIES = 60
MINOR, MAJOR = Span(0, 3, "minor"), Span(4, 9, "major", "accuracy/omission")


def test_the_stored_form_has_an_order_and_leads_back() -> None:
    stored = spans_text([MAJOR, MINOR, Span(12, 12, "major", missing=True)])
    assert stored == (
        '[{"start":0,"end":3,"severity":"minor"},{"start":4,"end":9,"severity":"major","label":"accuracy/omission"},'
        '{"start":12,"end":12,"severity":"major","missing":true}]'
    )
    assert spans_in(stored) == [MINOR, MAJOR, Span(12, 12, "major", missing=True)]
    assert spans_text([]) == "[]"


@pytest.mark.parametrize("text", ["{}", "[1]", '[{"start": 1}]', "no", '[{"start":"a","end":2,"severity":"x"}]'])
def test_what_is_no_list_of_spans_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        spans_in(text)


def test_weights_of_mqm() -> None:
    """Freitag et al. 2021, table 2: major 5, minor 1, minor punctuation 0.1, non-translation 25."""
    weights = {"major": 5.0, "minor": 1.0}
    special = {("fluency/punctuation", "minor"): 0.1, ("non-translation", "major"): 25.0}
    spans = [
        Span(0, 1, "major", "accuracy/mistranslation"),
        Span(1, 2, "minor", "style"),
        Span(2, 3, "minor", "fluency/punctuation"),
        Span(2, 3, "major", "fluency/punctuation"),
    ]
    assert weight_of(spans, weights, special) == pytest.approx(5 + 1 + 0.1 + 5)
    assert weight_of([Span(0, 9, "major", "non-translation")], weights, special) == 25
    assert weight_of([Span(0, 1, "minor", "fluency/punctuation/comma")], weights, special) == 0.1
    assert weight_of([], weights, special) == 0


def test_agreement_on_characters_by_hand() -> None:
    """One marks 0–4 and 6–8 (6 characters), the other 2–7 (5): 2, 3 and 6 are in both. F1 = 2·3 / (6 + 5)."""
    one = [Span(0, 4, "minor"), Span(6, 8, "major")]
    other = [Span(2, 7, "major")]
    assert character_f1([(one, other)]) == pytest.approx(6 / 11)
    assert character_f1([(one, other)], by_severity) == pytest.approx(2 * 1 / 11)  # only 6 is major in both
    assert character_f1([(one, other), ([], [])]) == pytest.approx(6 / 11)
    assert character_f1([(one, one)]) == 1
    assert math.isnan(character_f1([([], [])]))


def test_overlapping_spans_of_one_marker_count_once() -> None:
    assert character_f1([([Span(0, 4, "minor"), Span(2, 6, "minor")], [Span(0, 6, "minor")])]) == 1


def test_agreement_on_whole_spans_by_hand() -> None:
    one = [Span(0, 4, "minor"), Span(6, 8, "major")]
    other = [Span(0, 4, "major"), Span(6, 9, "major"), Span(12, 12, "minor", missing=True)]
    assert exact_f1([(one, other)]) == pytest.approx(2 * 1 / 5)
    assert exact_f1([(one, other)], by_severity) == 0


# --- all markers together ---


def answers(n_items: int, n_workers: int, *, agree: bool) -> dict[tuple[object, str], list[tuple[str, list[Span]]]]:
    """Every worker marks one place of every text: the same, or another one for each third worker."""
    return {
        (f"i{item}", ""): [
            (f"w{worker}", [Span(0, 4 if agree or worker % 3 else 8, "minor")]) for worker in range(n_workers)
        ]
        for item in range(n_items)
    }


def test_agreement_of_all_pairs_by_hand() -> None:
    """Workers 0 and 3 of six mark 8 characters, the others 4. Pairs: 1 of 8 and 8, 8 of 8 and 4, 6 of 4 and 4. F1 =
    2 (8 + 8·4 + 6·4) / (16 + 8·12 + 6·8)."""
    figure = pooled_f1(answers(6, 6, agree=False), characters)
    assert figure.value == pytest.approx(2 * (8 + 32 + 24) / (16 + 96 + 48))
    assert figure.n == 6
    assert figure.low < figure.value < figure.high


def test_full_agreement_has_no_interval_and_few_workers_say_why() -> None:
    assert pooled_f1(answers(6, 6, agree=True), characters).value == 1
    few = pooled_f1(answers(6, 3, agree=False), characters)
    assert math.isnan(few.low)
    assert few.note == "an interval needs at least 5 workers, and there are only 3"
    alone = pooled_f1({("i", ""): [("w", [Span(0, 1, "minor")])]}, characters)
    assert alone.note == "no text has two markers"


def test_the_interval_holds_the_truth_for_new_texts_and_new_workers() -> None:
    """Workers find each of a text's errors with their own probability, texts have more or fewer errors: the interval of
    the pooled F1 holds its long-run value in about 95 of 100 studies."""
    rng = random.Random(1)

    def study(n_items: int, n_workers: int) -> dict[tuple[object, str], list[tuple[str, list[Span]]]]:
        ability = [rng.uniform(0.4, 0.9) for _ in range(n_workers)]
        made: dict[tuple[object, str], list[tuple[str, list[Span]]]] = {}
        for item in range(n_items):
            errors = [Span(10 * at, 10 * at + rng.randint(2, 8), "minor") for at in range(rng.randint(1, 6))]
            made[f"i{item}", ""] = [
                (f"w{worker}", [error for error in errors if rng.random() < ability[worker]])
                for worker in range(n_workers)
            ]
        return made

    truth = pooled_f1(study(150, 24), characters).value
    held = 0
    for _ in range(STUDIES):
        figure = pooled_f1(study(20, 8), characters)
        held += figure.low <= truth <= figure.high
    assert held >= 0.85 * STUDIES
