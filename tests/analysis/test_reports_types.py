"""The report depends on the questions' scales: only texts, categories, and questions without a description."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.description import Level, Point, QuestionDescription, ReportSection, Scale
from tests.analysis.support.pages import built
from tests.analysis.support.studies import TEXTS_ONLY, Values, a_set, study_data


def asking(*asked: QuestionDescription, **more: Any) -> dict[str, Any]:
    """A type with these questions; no scores, no sections."""
    return {"questions": asked, "scores": (), "sections": ()} | more


def categories(level: Level) -> QuestionDescription:
    points = (Point(0.0, "neither"), Point(1.0, "first"), Point(2.0, "second"))
    return QuestionDescription("choice", "Which one?", Scale("choice", level, points))


# Fleiss' own formula by hand: units (a, a, b) and (b, b, b): P = (1/3 + 1)/2 = 2/3, shares 1/3 and 2/3, P_e = 5/9.
TWO_UNITS: Values = {
    (f"u{unit}", worker): value
    for unit, row in enumerate([(1.0, 1.0, 2.0), (2.0, 2.0, 2.0)])
    for worker, value in zip("xyz", row, strict=True)
}


@pytest.mark.parametrize("level", ["nominal", "pairwise"])
def test_categories_have_kappa_and_no_mean(level: Level, tmp_path: Path) -> None:
    data = study_data(["u0", "u1"], TWO_UNITS, **asking(categories(level)))

    page, sections = built(data, tmp_path)

    choice = sections["answers"]["choice"]
    assert choice["agreement"]["Fleiss’ κ"]["value"] == pytest.approx((2 / 3 - 5 / 9) / (1 - 5 / 9))
    assert choice["agreement"]["Percent agreement"]["value"] == pytest.approx(2 / 3)
    assert set(choice["agreement"]) == {"Krippendorff’s α, nominal", "Fleiss’ κ", "Percent agreement"}
    assert choice["location"] == {}
    assert [(row["answer"], row["n"]) for row in choice["distribution"]] == [
        ("0 neither", 0),
        ("1 first", 2),
        ("2 second", 4),
    ]
    assert "diversity" not in sections
    assert "Bias" not in page


def test_numbers_on_an_interval_scale_have_no_kappa(tmp_path: Path) -> None:
    values = {(f"u{unit}", f"w{worker}"): unit + worker / 7 for unit in range(30) for worker in range(2)}
    question = QuestionDescription("count", "How many?", Scale("count", "interval"))

    _, sections = built(study_data([f"u{unit}" for unit in range(30)], values, **asking(question)), tmp_path)

    count = sections["answers"]["count"]
    assert "Fleiss’ κ" not in count["agreement"]
    assert "ICC(1,k)" in count["agreement"]
    assert sum(row["n"] for row in count["distribution"]) == 60
    assert len(count["distribution"]) == 10  # classes, because there are sixty values


def test_texts_alone(tmp_path: Path) -> None:
    texts = {("one", worker): {"own": "a few words"} for worker in "xy"}

    page, sections = built(study_data(["one"], texts=texts, **TEXTS_ONLY), tmp_path)

    own = sections["texts"]["own"]
    assert (own["n"], own["different"], own["words_median"], own["words_sd"]) == (2, 1, 3, 0)
    assert "No question of this study is answered on a scale" in page
    assert "a few words" in page
    assert "A text of at least 2 words." in page


@pytest.mark.parametrize(
    ("bounds", "told"),
    [
        ({}, "A text of any length."),
        ({"min_words": 1, "max_words": 15}, "A text of at least one word, at most 15 words."),
        ({"min_chars": 20, "max_chars": 260}, "A text of at least 20 characters, at most 260 characters."),
    ],
)
def test_limits_of_texts_are_shown(bounds: dict[str, int], told: str, tmp_path: Path) -> None:
    question = QuestionDescription("own", "Write.", kind="text", bounds=bounds)
    page, _ = built(study_data(["one"], **asking(question)), tmp_path)
    assert told in page


def test_descriptions_of_points_are_part_of_the_wording(tmp_path: Path) -> None:
    scale = Scale.of("fit", "ordinal", ["Good", "Bad"], descriptions=["It fits <well>.", "It does not."])
    page, sections = built(study_data(["one"], **asking(QuestionDescription("fit", "Does it fit?", scale))), tmp_path)

    assert "2 Good: It fits &lt;well&gt;." in page
    assert sections["wording"]["questions"][0]["answers"][1]["description"] == "It does not."


def test_a_question_that_is_not_described_is_marked(tmp_path: Path) -> None:
    data = study_data(["u0", "u1"], TWO_UNITS, question="choice", **asking())

    page, sections = built(data, tmp_path)

    assert "does not describe this question" in page
    assert sections["answers"]["choice"]["level"] == "interval"


def test_a_section_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    kind = asking(categories("nominal"), sections=(ReportSection("astrology"),))

    page, sections = built(study_data(["one"], **kind), tmp_path)

    assert "asks for a section “astrology”" in page
    assert "astrology" in sections


def test_items_of_other_roles_enter_no_figure(tmp_path: Path) -> None:
    items = [a_set("main"), a_set("gold", role="gold"), a_set("practice", role="practice")]
    values: Values = {(name, worker): value for name, value in (("main", 2.0), ("gold", 5.0)) for worker in "xy"}

    page, sections = built(study_data(items, values), tmp_path)

    assert sections["data"]["items"] == 1
    assert sections["data"]["items_of_other_roles"] == {"gold": 1, "practice": 1}
    assert sections["data"]["ratings"] == 4
    assert sections["answers"]["diversity"]["location"]["Mean"]["value"] == 2
    assert [row["item"] for row in sections["diversity"]["diversity"]["sets"]] == ["main"]
    assert "1 gold, 1 practice; their answers are in no figure about items" in page


def test_metrics_of_the_file_are_shown_beside_the_scores_if_the_type_declares_it(tmp_path: Path) -> None:
    items = [a_set(f"i{at}", metrics={"metric_nli": at / 10}) for at in range(4)]
    values: Values = {(f"i{at}", "x"): 1.0 + at for at in range(4)}
    section = ReportSection("diversity", {"metrics": ["metric_nli"]})

    _, sections = built(study_data(items, values, sections=(section,)), tmp_path)

    found = sections["diversity"]["diversity"]
    assert found["metrics_with_human"]["metric_nli"]["spearman"]["value"] == pytest.approx(1)
    assert [row["metric_nli"] for row in found["sets"]] == pytest.approx([0, 0.1, 0.2, 0.3])
