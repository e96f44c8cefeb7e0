"""The report on systems whose texts were rated together: its numbers, its page, and what it says without data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.data import StudyData
from analysis.preference import comparison_dimensions, comparisons_from_ratings, system_scores
from tests.analysis.support.judged import QUALITY, an_item, rated_together
from tests.analysis.support.pages import built, is_sound, unknown_numbers
from tests.analysis.support.studies import arm


def rated_study(contexts: int = 20, **description: Any) -> StudyData:
    """Three systems of different quality, one text each per context, rated by three of six workers. Texts of system C
    are the likeliest; within contexts, quality peaks at −30."""
    rng = np.random.default_rng(4)
    items, submissions = [], []
    for context in range(contexts):
        values = {}
        for system, log_prob in (("A", -50.0), ("B", -30.0), ("C", -5.0)):
            name = f"{context}{system}"
            found = log_prob + rng.normal(0, 4)
            items.append(
                an_item(name, f"context {context}", system=system, log_prob=f"{found:.3f}", log_q=f"{found / 2:.3f}")
            )
            values[name] = 4.5 - abs(found + 30) / 10
        for worker in "".join(rng.permutation(list("uvwxyz"))[:3]):
            given = {name: float(np.clip(round(value + rng.normal(0, 0.7)), 1, 5)) for name, value in values.items()}
            submissions.append((worker, context, given))
    return rated_together(items, submissions, **{**QUALITY, **description})


def test_the_section_has_the_librarys_numbers(tmp_path: Path) -> None:
    data = rated_study()
    page, sections = built(data, tmp_path)
    section = sections["systems"]

    names = data.items.set_index("item")["cells"].map(lambda cells: cells["system"])
    ratings = data.ratings
    expected = comparisons_from_ratings(ratings["submission"], ratings["item"].map(names), ratings["value"])
    contexts = ratings["item"].map(data.items.set_index("item")["context"])
    dimensions = comparison_dimensions(expected, workers=ratings["worker"], texts=ratings["item"], contexts=contexts)
    scores = system_scores(expected, dimensions)
    for name, estimate in scores.estimates.items():
        assert section["scores"][name]["value"] == pytest.approx(estimate.value)
        assert section["scores"][name]["low"] == pytest.approx(estimate.low)
    assert section["comparisons"] == 20 * 3 * 3
    assert section["scores"]["B"]["value"] > 0 > section["scores"]["A"]["value"]
    assert section["strengths"]["systems"]["B"]["value"] > 0
    assert section["agreement"]["Fleiss’ κ, all raters"]["n"] == 60
    assert [point["system"] for point in section["tradeoff"]["points"]] == ["C", "B", "A"]
    assert section["likelihood"]["quadratic"]["shape"] == section["likelihood"]["two_lines"]["shape"] == "peak"
    assert unknown_numbers(is_sound(page), sections) == []
    for heading in ("Agreement on pairs", "Quality against diversity", "Likelihood and quality"):
        assert f">{heading}<" in page


def test_the_best_system_is_named_only_if_the_data_tell_it_apart(tmp_path: Path) -> None:
    page, sections = built(rated_study(), tmp_path)
    ranks = {each["system"]: (each["from"], each["to"]) for each in sections["systems"]["ranks"]}
    assert ranks["B"] == (1, 1)
    assert "B scores" in page and "above all others" in page and "do not tell it apart" not in page

    few, sections = built(rated_study(contexts=2), tmp_path)
    assert "above all others" not in few
    assert all((each["from"], each["to"]) == (1, 3) for each in sections["systems"]["ranks"])


def test_two_pools_that_rated_the_same_tasks_are_compared(tmp_path: Path) -> None:
    """A/A: one pool says A > B on context 1 and ties on 2; the other says A > B on both. P_o = 1/2; ties 1/2 and 0, so
    P_e = 0 + 1/2 · 1 / 2 = 1/4 and κ = 1/3."""
    items = [an_item(f"{c}{s}", f"c{c}", system=s) for c in (1, 2) for s in "AB"]
    submissions = [
        ("u", 1, {"1A": 5.0, "1B": 3.0}),
        ("u", 2, {"2A": 3.0, "2B": 3.0}),
        ("v", 3, {"1A": 4.0, "1B": 1.0}),
        ("v", 4, {"2A": 5.0, "2B": 4.0}),
    ]
    data = rated_together(
        items, submissions, arm_of={"u": "day", "v": "night"}, arms=(arm("day"), arm("night")), **QUALITY
    )
    _, sections = built(data, tmp_path)
    found = sections["systems"]["agreement"]["Cohen’s κ, day against night"]
    assert found["value"] == pytest.approx(1 / 3)
    # B never won, so strengths are regularised, and the page says why.
    assert sections["systems"]["strengths"]["prior_sd"] == 1


def test_studies_without_what_is_needed_say_so(tmp_path: Path) -> None:
    items = [an_item("a", system="A"), an_item("b", system="A")]
    page, _ = built(rated_together(items, [], **QUALITY), tmp_path / "none")
    assert "Nobody has rated “quality” yet" in page
    page, _ = built(rated_together(items, [("x", 1, {"a": 3.0, "b": 4.0})], **QUALITY), tmp_path / "one")
    assert "The systems cannot be compared: no task has ratings of two systems." in page
    nameless = [an_item("a"), an_item("b")]
    page, _ = built(rated_together(nameless, [("x", 1, {"a": 3.0, "b": 4.0})], **QUALITY), tmp_path / "nameless")
    assert "the items have no column “system” with the system’s name" in page


def test_few_texts_have_no_likelihood_plot(tmp_path: Path) -> None:
    page, sections = built(rated_study(contexts=5), tmp_path)
    assert "too few for bins" in page
    assert "likelihood" not in sections["systems"]
