"""The reports on human-or-machine studies and on coded comments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.data import StudyData
from analysis.description import Point, QuestionDescription, ReportSection, Scale
from analysis.report.sections.detection_tables import significant_if
from tests.analysis.support.judged import DETECTION, an_item, rated_together
from tests.analysis.support.pages import built, is_sound, unknown_numbers
from tests.analysis.support.studies import arm

DOMAINS, MODELS = ("story", "news", "recipe"), ("gpt2", "gpt3")
CHOSEN = Scale("chosen", "nominal", (Point(1.0, "chosen"), Point(0.0, "not chosen")))


def judged_study(workers: int = 8) -> StudyData:
    """Six cells; each worker judges five texts of one domain, of people and one model. gpt2 is easier to tell."""
    rng = np.random.default_rng(3)
    items: list[dict[str, Any]] = []
    submissions: list[tuple[str, int, dict[str, float]]] = []
    arms: dict[str, str] = {}
    for domain in DOMAINS:
        items += [an_item(f"{domain}-h{at}", source="human", domain=domain) for at in range(4)]
        for model in MODELS:
            names = [f"{domain}-{model}-{at}" for at in range(4)]
            items += [an_item(name, source=model, domain=domain) for name in names]
            for worker in range(workers):
                texts = [f"{domain}-h{at}" for at in rng.permutation(4)[:2]] + list(rng.permutation(names)[:3])
                right = 0.8 if model == "gpt2" else 0.5
                values = {}
                for text in texts:
                    machine = (rng.random() < right) == (model in text)
                    values[text] = float(rng.choice([3, 4] if machine else [1, 2]))
                name = f"{domain}-{model}-w{worker}"
                arms[name] = "none" if worker % 2 else "examples"
                submissions.append((name, len(submissions), values))
    return rated_together(items, submissions, arm_of=arms, arms=(arm("none"), arm("examples")), **DETECTION)


def test_shares_are_in_percent_as_published(tmp_path: Path) -> None:
    """By hand. gpt3: two texts by people and two by the model, of which one is called human: 3 of 4 answers are right.
    The one text called machine is one, of two, so F1 is 2 · 1 · ½ / 1½. All are sure; 3 of 4 answers are human."""
    items = [an_item("h", source="human"), an_item("two", source="gpt2"), an_item("three", source="gpt3")]
    answers = {
        "a": {"h": 1.0, "two": 4.0},
        "b": {"h": 2.0, "two": 3.0},
        "c": {"h": 1.0, "three": 1.0},
        "d": {"h": 1.0, "three": 4.0},
    }
    submissions = [(worker, at, values) for at, (worker, values) in enumerate(answers.items())]
    page, sections = built(rated_together(items, submissions, **DETECTION), tmp_path)
    tables = {table["caption"]: table for table in sections["human_or_machine"]["tables"]}
    printed = tables["Accuracy and related measures by model in percent, as published"]
    percents = ["Accuracy", "F1", "Precision", "Recall", "Human", "Definitely"]
    names = ["Model", *(f"{name}, %" for name in percents[:4]), "α", *(f"{name}, %" for name in percents[4:])]
    assert printed["columns"] == names
    rows = {row[0]: [value for at, value in enumerate(row) if at not in (0, 5)] for row in printed["rows"]}
    assert rows["gpt2"] == [100, 100, 100, 100, 50, 50]
    assert rows["gpt3"] == pytest.approx([75, 200 / 3, 100, 50, 75, 100])
    assert rows["Overall"] == pytest.approx([87.5, 600 / 7, 100, 75, 62.5, 75])
    assert sections["human_or_machine"]["cells by model"][1]["measures"]["accuracy"]["value"] == 0.75  # still of 1
    assert unknown_numbers(is_sound(page), sections) == []


def test_the_section_has_cells_tests_and_scores(tmp_path: Path) -> None:
    data = judged_study()
    page, sections = built(data, tmp_path)
    section = sections["human_or_machine"]

    ratings = data.ratings
    origin = ratings["item"].str.contains("gpt")
    assert section["measures"]["accuracy"]["value"] == pytest.approx(((ratings["value"] >= 3) == origin).mean())
    assert sum(row["workers"] for row in section["score_counts"]) == 48
    cells = {(cell["level"], cell["domain"]) for cell in section["cells by model"]}
    assert cells == {(model, domain) for model in (*MODELS, "Overall") for domain in (*DOMAINS, "Overall")}
    (models,) = section["differences by model"]
    assert models["pair"]["difference"]["value"] > 0 and models["pair"]["first"] == "gpt2"
    assert models["published"]["df"] == 46
    assert len(section["differences by model within domain"]) == 3
    assert [test["anova"]["df_within"] for test in section["domains within model"]] == [21, 21, 45]
    assert section["differences by arm"][0]["published"]["df"] == 46
    published = [cell["published"] for cell in section["chance by model"]]
    assert all(test["threshold"] == pytest.approx(0.05 / 12) for test in published)
    assert "Accuracy: with fewer than 15 of either, 92 to 100% of such 95% intervals" in page
    assert "the texts as fixed" in page and "0.0000" not in page
    assert unknown_numbers(is_sound(page), sections) == []
    assert "significant if p &lt; 0.00417 (Bonferroni, 12 tests)" in page  # 0.05 / 12 = 0.0041667


@pytest.mark.parametrize(
    ("tests", "words"),
    [(2, "significant if p < 0.025 (Bonferroni, 2 tests)"), (1, "significant if p < 0.05 (1 test, no correction)")],
)
def test_the_limit_for_p_names_the_correction_in_use(tests: int, words: str) -> None:
    assert significant_if(tests) == words


def test_studies_without_answers_or_sources_say_so(tmp_path: Path) -> None:
    page, _ = built(rated_together([an_item("a", source="human")], [], **DETECTION), tmp_path / "none")
    assert "Nobody has answered “judgement” yet" in page
    page, _ = built(rated_together([an_item("a")], [("w", 1, {"a": 2.0})], **DETECTION), tmp_path / "no")
    assert "the items have no column “source”" in page
    page, sections = built(
        rated_together([an_item("a", source="human")], [("w", 1, {"a": 2.0})], **DETECTION), tmp_path / "one"
    )
    assert "Tests need two workers or more" in page
    assert sections["human_or_machine"]["measures"]["recall"]["value"] is None


def test_labels_of_comments(tmp_path: Path) -> None:
    """Two coders. Comment 1: both grammar. 2: one fact, one vague. 3: both vague. Left of three: 1 and 2."""
    labels = QuestionDescription(
        "labels", "Which labels fit?", CHOSEN, "choices", targets={"g": "Grammar", "f": "Fact", "v": "Vague"}
    )
    items = [an_item(f"c{at}") for at in (1, 2, 3)]

    def given(*chosen: str) -> dict[str, dict[str, float]]:
        return {f"c{at}": {key: float(key in keys) for key in "gfv"} for at, keys in enumerate(chosen, start=1)}

    data = rated_together(
        items,
        [("x", 1, given("g", "f", "v")), ("y", 2, given("g", "v", "v"))],
        task_type="comment_coding",
        questions=(labels,),
        scores=(),
        sections=(ReportSection("coding", {"topic": "labels", "null_labels": ["v"]}),),
    )
    page, sections = built(data, tmp_path)
    section = sections["coding"]
    found = {each["label"]: each for each in section["labels"]}
    assert found["g"]["kappa"]["value"] == 1
    # Fact: x says yes on comment 2, y never: P_o = 2/3 = P_e, κ = 0.
    assert found["f"]["kappa"]["value"] == pytest.approx(0)
    assert section["dropped"] == 1
    assert {name: each["value"] for name, each in section["shares"].items()} == {"g": 0.5, "f": 0.5}
    assert "Grammar" in page
    is_sound(page)
