"""Mistakes in a judging study are found before the launch, and the message says what to do."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.models import Item, Study
from annotation.studies.importing_items import import_items
from annotation.studies.launching import publish, reasons_not_to_publish
from annotation.studies.pages.launch_plan import plan_of
from annotation.table_files import TableProblems
from annotation.task_types.registry import get_type
from common.problems import Invalid
from tests.annotation.quality_helpers import GOLD, MAIN, gold_study, table
from tests.factories import create_study, default_config, make_study

pytestmark = pytest.mark.django_db


def quality_study(rows: list[dict[str, str]], *, live: bool = False, **values: Any) -> Study:
    """A study of continuations, five per hit unless ``values`` says otherwise."""
    values = {"title": "News", "items_per_hit": 5, "ratings_per_item": 1, **values}
    study = create_study(
        slug=values.pop("slug", "news"),
        task_type="quality",
        values=values,
        config=default_config(get_type("quality")),
        texts={},
        actor="ann",
        owner=None,
    )
    import_items(study=study, table=table(rows), actor="ann")
    if live:
        publish(study=study, actor="ann")
    return study


def continuations(contexts: int, systems: int, *, missing: tuple[int, int] | None = None) -> list[dict[str, str]]:
    """A text of each system in each context, without the ``missing`` one."""
    return [
        {"sample_id": f"c{c}s{s}", "context": f"The ferry {c}", "text": f"stops at pier {s}.", "system": f"top_p={s}"}
        for c in range(contexts)
        for s in range(systems)
        if (c, s) != missing
    ]


def refusal(study: Study) -> str:
    """What the launch says, which the Launch page says, too."""
    with pytest.raises(Invalid) as refused:
        publish(study=study, actor="ann")
    (problem,) = refused.value.problems
    assert any(check.text.startswith(problem.what) for check in plan_of(study).checks), "on the Launch page, too"
    study.refresh_from_db()
    assert study.status == "draft"
    return f"{problem.what} {problem.fix}".strip()


def test_fewer_systems_than_a_hit_shows() -> None:
    assert refusal(quality_study(continuations(3, 4))).startswith(
        "A hit shows texts by 5 different systems. The context “The ferry 0” has texts by only 4."
    )


def test_a_context_with_a_missing_sample() -> None:
    """Five systems in one context and four in the other: the second cannot fill a task of five."""
    told = refusal(quality_study(continuations(2, 5, missing=(1, 3))))
    assert told.startswith("A hit shows texts by 5 different systems. The context “The ferry 1” has texts by only 4.")


def test_a_missing_sample_is_no_problem_if_enough_systems_are_left() -> None:
    study = quality_study(continuations(4, 5, missing=(1, 3)), items_per_hit=4, ratings_per_item=2)
    assert reasons_not_to_publish(study) == []
    publish(study=study, actor="ann")
    assert all(hit.items.values_list("payload__context").distinct().count() == 1 for hit in study.hits.all())


def test_an_exam_text_without_its_label_is_refused_when_the_file_is_read() -> None:
    rows = [row | {"role": "exam", "known_label": label} for row, label in zip(continuations(1, 2), "5 ", strict=True)]
    with pytest.raises(TableProblems) as refused:
        quality_study(rows)
    assert [(each.row, each.what) for each in refused.value.problems] == [(2, "This exam text has no known label.")]


def test_an_exam_in_which_nothing_has_a_right_answer_would_keep_everybody_out() -> None:
    exam = make_study(task_type="likert", slug="exam", items=2)
    study = make_study(slug="main", live=False, items=1, exam_study=exam.slug)
    assert refusal(study) == (
        "Nobody can pass the exam exam: none of its items has a right answer. "
        "Import items with right answers there, or name another study."
    )
    rows = [row | {"role": "exam", "known_label": "5"} for row in continuations(1, 2)]
    quality_study(rows, slug="good", live=True, items_per_hit=2)
    Study.objects.filter(pk=study.pk).update(exam_study="good")
    assert reasons_not_to_publish(Study.objects.get(pk=study.pk)) == []


def test_an_exam_that_was_deleted_is_named() -> None:
    study = make_study(live=False, items=1, exam_study="gone")
    assert refusal(study).startswith("There is no study “gone”, so nobody can pass its exam.")


def test_gold_items_without_an_answer_are_refused_when_the_file_is_read() -> None:
    with pytest.raises(TableProblems) as refused:
        gold_study([*MAIN, GOLD | {"gold:lively": "", "gold_explanation": "", "role": "gold"}], live=False)
    assert [(each.row, each.what) for each in refused.value.problems] == [(5, "This gold item has no right answer.")]
    assert not Item.objects.exists()
