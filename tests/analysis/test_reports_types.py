"""The report goes by the scales of a type's questions: texts alone, categories, and questions nobody described."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis.reports import build_report
from annotation.task_types import registry
from annotation.task_types.base import ItemData, Json, Problem, Profile, Row, Shown, StepSpec, TaskType
from annotation.task_types.questions import Level, Point, Question, Scale, TextQuestion
from tests.factories import make_participant, make_study, make_submission
from tests.report_data import Values, a_set, rated_study

pytestmark = pytest.mark.django_db


class Plain(TaskType):
    """One page with the questions of the class; no scores, no parameter, no responses."""

    name = "plain"
    title = "Plain"
    summary = "For tests."
    asked: tuple[Question, ...] = ()

    def columns(self, config: Json) -> str:
        return ""

    def read_items(self, rows: Sequence[Row], config: Json) -> tuple[list[ItemData], list[Problem]]:
        return [ItemData(str(row.number), {}) for row in rows], []

    def default_texts(self, config: Json) -> dict[str, str]:
        return {"instructions": "Do it."}

    def steps(self, shown: Shown, texts: Mapping[str, str]) -> list[StepSpec]:
        return [StepSpec(f"page-{at}", "Page", "", self.asked, item=at) for at in range(len(shown.items))]

    def question_topics(self, config: Json) -> dict[str, Question]:
        return {question.topic: question for question in self.asked}

    def simulate(self, shown: Shown, step: StepSpec, *, profile: Profile, rng: random.Random) -> dict[str, str]:
        return {question.key: "a few words" for question in self.asked}

    def export_columns(self, payload: Json) -> dict[str, str]:
        return {}


def install(monkeypatch: pytest.MonkeyPatch, *asked: Question, **more: Any) -> None:
    task = type("Given", (Plain,), {"asked": asked, **more})()
    monkeypatch.setattr(registry, "all_types", lambda: {"plain": task})


def categories(level: Level) -> Question:
    points = (Point(0.0, "neither"), Point(1.0, "first"), Point(2.0, "second"))
    return Question("choice", "Which one?", "choice", Scale("choice", level, points))


def built(study: Any, folder: Path) -> tuple[str, dict[str, Any]]:
    page = build_report(study, out_dir=folder, draws=50)
    return page.read_text(), json.loads((folder / "report.json").read_text())["sections"]


# Fleiss' own formula by hand: units (a, a, b) and (b, b, b): P = (1/3 + 1)/2 = 2/3, shares 1/3 and 2/3, P_e = 5/9.
TWO_UNITS: Values = {
    (f"u{unit}", worker): value
    for unit, row in enumerate([(1.0, 1.0, 2.0), (2.0, 2.0, 2.0)])
    for worker, value in zip("xyz", row, strict=True)
}


@pytest.mark.parametrize("level", ["nominal", "pairwise"])
def test_categories_have_kappa_and_no_mean(level: Level, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, categories(level))
    study = rated_study(
        [a_set("u0"), a_set("u1")], TWO_UNITS, task_type="plain", question="choice", scale="choice", config={}
    )

    page, sections = built(study, tmp_path)

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


def test_numbers_on_an_interval_scale_have_no_kappa(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, Question("q", "How many?", "count", Scale("count", "interval")))
    values = {(f"u{unit}", f"w{worker}"): unit + worker / 7 for unit in range(30) for worker in range(2)}
    items = [a_set(f"u{unit}") for unit in range(30)]
    study = rated_study(items, values, task_type="plain", question="count", scale="count", config={})

    _, sections = built(study, tmp_path)

    count = sections["answers"]["count"]
    assert "Fleiss’ κ" not in count["agreement"]
    assert "ICC(1,k)" in count["agreement"]
    assert sum(row["n"] for row in count["distribution"]) == 60
    assert len(count["distribution"]) == 10  # classes, for there are sixty values


def test_texts_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, TextQuestion("own", "Write something.", "own", min_words=2))
    study = make_study(task_type="plain", payloads=[ItemData("one", {})], ratings_per_item=3)
    for _ in range(2):
        make_submission(study=study, participant=make_participant(study=study))

    page, sections = built(study, tmp_path)

    own = sections["texts"]["own"]
    assert (own["n"], own["different"], own["words_median"], own["words_sd"]) == (2, 1, 3, 0)
    assert "No question of this study is answered on a scale" in page
    assert "a few words" in page
    assert "A text of at least 2 words." in page


def test_a_question_that_the_type_does_not_describe_is_said_to_be_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch)
    study = rated_study(
        [a_set("u0"), a_set("u1")], TWO_UNITS, task_type="plain", question="choice", scale="choice", config={}
    )

    page, sections = built(study, tmp_path)

    assert "does not describe this question" in page
    assert sections["answers"]["choice"]["level"] == "interval"


def test_a_section_that_is_not_there_is_missed_aloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, categories("nominal"), report_sections=("astrology",))
    study = make_study(task_type="plain", payloads=[ItemData("one", {})])

    page, sections = built(study, tmp_path)

    assert "asks for a section “astrology”" in page
    assert "astrology" in sections


def test_every_installed_type_asks_for_sections_that_exist() -> None:
    from analysis.reports.build import SPECIAL

    for task in registry.all_types().values():
        assert set(task.report_sections) <= set(SPECIAL), task.name
