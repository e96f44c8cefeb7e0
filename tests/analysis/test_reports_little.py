"""Studies with little data get a report that says so, and never a made-up number."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from analysis.description import TEXT, ArmDescription, Point, QuestionDescription, Scale
from tests.analysis.support.examples import CLASS_VALUES, CLASSES, TEXTBOOK, UNITS
from tests.analysis.support.pages import built, is_sound
from tests.analysis.support.studies import (
    ABS_HDS,
    CHOICE,
    LIKERT,
    RNK_HDS,
    SIM_HDS,
    TEXTS_ONLY,
    WRITTEN,
    a_set,
    arm,
    study_data,
)

TYPES: dict[str, Mapping[str, Any]] = {
    "set": ABS_HDS,
    "pairs of a set": SIM_HDS,
    "two sets": RNK_HDS,
    "texts": TEXTS_ONLY,
    "likert": LIKERT,
    "pairwise": CHOICE,
    "two written sets": WRITTEN,
    "nothing": {"questions": (), "scores": (), "sections": ()},
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("arms", [(), (arm("a"), arm("b", "0.20"))])
@pytest.mark.parametrize(("items", "submissions"), [(0, 0), (1, 0), (1, 1), (3, 1), (1, 3), (4, 9)])
def test_every_kind_of_study_gives_a_sound_page_however_little_there_is(
    kind: str, arms: tuple[ArmDescription, ...], items: int, submissions: int, tmp_path: Path
) -> None:
    names = [f"i{at}" for at in range(items)]
    keys = [(names[at % items], f"w{at // items}") for at in range(submissions)]
    asked = TYPES[kind]["questions"]
    scale = asked[0].scale if asked else TEXT
    points = [point.value for point in scale.points]
    given = {key: points[at % len(points)] for at, key in enumerate(keys)} if points else {}
    texts = {key: {each.topic: [f"words {at}", "more"] for each in asked} for at, key in enumerate(keys)}
    data = study_data(
        [a_set(name, label=at % 2) for at, name in enumerate(names)],
        given,
        texts={} if points else texts,
        arm_of={f"w{at}": "ab"[at % 2] for at in range(9)} if arms else {},
        **{**TYPES[kind], "arms": arms},
    )

    text, sections = built(data, tmp_path)

    is_sound(text)
    assert sections["data"]["submissions_used"] == submissions


def test_a_study_without_ratings_says_so(tmp_path: Path) -> None:
    page, sections = built(study_data(["one", "two"]), tmp_path)

    assert "Nothing has been rated yet" in page
    assert "No item has a rating" in page
    assert sections["answers"]["diversity"] == {"level": "ordinal", "n": 0}


def test_one_worker_cannot_agree(tmp_path: Path) -> None:
    data = study_data(CLASSES, {key: value for key, value in CLASS_VALUES.items() if key[1] == "anna"})

    page, sections = built(data, tmp_path)

    agreement = sections["answers"]["diversity"]["agreement"]
    assert {each["value"] for each in agreement.values()} == {None}
    assert all("one rater" in each["note"] for each in agreement.values())
    assert "Not defined. There is only one rater" in page
    assert sections["diversity"]["diversity"]["tests"]["absHDS"]["second"]["value"] == pytest.approx(7 / 8)


def test_one_item_gives_a_mean_without_an_interval(tmp_path: Path) -> None:
    data = study_data([a_set("one", label=1)], {("one", "anna"): 2.0, ("one", "ben"): 4.0})

    page, sections = built(data, tmp_path)

    mean = sections["answers"]["diversity"]["location"]["Mean"]
    assert (mean["value"], mean["low"], mean["n"]) == (3.0, None, 2)
    assert mean["note"] == "an interval needs at least 5 items, and there is only 1"
    assert "All of them have the same temp" in page


def test_one_value_throughout_leaves_alpha_undefined(tmp_path: Path) -> None:
    data = study_data(CLASSES, dict.fromkeys(CLASS_VALUES, 3.0))

    page, sections = built(data, tmp_path)

    alpha = sections["answers"]["diversity"]["agreement"]["Krippendorff’s α, ordinal"]
    assert alpha["value"] is None
    assert "same value" in alpha["note"]
    human = sections["diversity"]["diversity"]["tests"]["absHDS"]
    assert human["spearman"]["value"] is None
    assert human["second"]["value"] == pytest.approx(0.5)
    assert "all scores are the same" in page.lower()


def test_sets_without_labels_are_scored_and_not_tested(tmp_path: Path) -> None:
    data = study_data(UNITS, TEXTBOOK)

    page, sections = built(data, tmp_path)

    found = sections["diversity"]["diversity"]
    assert (found["test"], found["rated"], found["with_parameter"]) == ("none", 12, 0)
    assert "tests" not in found
    assert "carry no parameter" in page
    assert set(found["metrics_with_human"]) == {"distinct-n", "cos-sim"}


def test_sets_whose_label_is_missing_are_counted(tmp_path: Path) -> None:
    values = dict(CLASS_VALUES) | {("bare", "anna"): 5.0}

    page, sections = built(study_data([*CLASSES, a_set("bare")], values), tmp_path)

    assert sections["diversity"]["diversity"]["tests"]["absHDS"]["second"]["n"] == 8
    assert "1 scored item has no temp and cannot be tested" in page


def test_too_few_sets_have_no_stability(tmp_path: Path) -> None:
    page, sections = built(study_data(CLASSES, CLASS_VALUES), tmp_path)

    assert "stability" not in sections["diversity"]["diversity"]
    assert "needs at least 10 sets with a score and a parameter, not 8" in page


def test_stability_and_what_a_wanted_interval_costs(tmp_path: Path) -> None:
    items = [a_set(f"s{at}", label=at % 2) for at in range(40)]
    values = {
        (f"s{at}", f"w{rater}"): 1.0 + 2.5 * (at % 2) + ((at * 7 + rater * 3) % 4) / 2
        for at in range(40)
        for rater in range(3)
    }
    data = study_data(items, values, reward=Decimal("0.25"))

    page, sections = built(data, tmp_path)

    found = sections["diversity"]["diversity"]
    whole = found["stability"][-1]
    assert (whole["sets"], whole["ratings"], whole["whole"]) == (40, 3, True)
    assert whole["rho"]["value"] == found["tests"]["absHDS"]["spearman"]["value"]
    assert whole["oca"] == found["tests"]["absHDS"]["second"]
    for design in found["recommendation"]:
        if design["sets"] is not None:
            assert float(design["cost"]) == pytest.approx(design["sets"] * design["ratings"] * 0.25)
            assert design["found"] <= design["width"]
            assert design["rho"] >= 0.95 * whole["rho"]["value"]
    assert any(design["sets"] for design in found["recommendation"])
    assert "The smallest design for a wanted interval" in page


def test_a_question_about_options_has_a_share_and_a_name_for_each(tmp_path: Path) -> None:
    """Off topic: 2 of 4 answers on two items; vague: 1 of 4; nobody ticked the third."""
    scale = Scale("chosen", "nominal", (Point(1.0, "chosen"), Point(0.0, "not chosen")))
    names = {"off": "Off topic", "vague": "Too vague", "wrong": "Wrong fact"}
    asked = QuestionDescription("problems", "What is wrong?", scale, "choices", targets=names)
    ticked = {("a", "w1"): ["off"], ("a", "w2"): ["off", "vague"], ("b", "w1"): [], ("b", "w2"): []}
    values = {key: {name: float(name in chosen) for name in names} for key, chosen in ticked.items()}
    page, sections = built(study_data(["a", "b"], values, questions=(asked,), scores=(), sections=()), tmp_path)
    options = sections["answers"]["problems"]["options"]
    assert {name: each["value"] for name, each in options.items()} == {
        "Off topic": 0.5,
        "Too vague": 0.25,
        "Wrong fact": 0.0,
    }
    assert all(each["n"] == 4 and each["n_of"] == "answers" for each in options.values())
    assert "Any of these options:\nOff topic" in page
    is_sound(page)
