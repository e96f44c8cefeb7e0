"""The rule for stopping early: what is refused before the launch, and how it is stored."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.models import ItemFeed, Study
from annotation.studies.launching import publish
from annotation.studies.stopping_checks import stopping_problems
from annotation.studies.stopping_rule import rule_of
from annotation.studies.storing import change_study
from annotation.studies.study_documents import changes_in, document_of
from annotation.studies.study_files import FileRefused, read_document
from annotation.task_types.items import ItemData
from common.problems import Invalid
from tests.factories import make_study

pytestmark = pytest.mark.django_db

LIKERT = {"points": 5, "statements": [{"topic": "quality", "question": "The reply is good."}]}
RULE = {"factor": "system", "criterion": "quality"}


def draft(systems: str = "AB", prompts: int = 6, **values: Any) -> Study:
    payloads = []
    for prompt in range(prompts):
        for system in systems:
            columns = {"sample_id": f"p{prompt}-{system}", "context": f"Prompt {prompt}", "text": f"Reply {prompt}"}
            unused = {"label_name": "", "label_value": "", "columns": list(columns)}
            payloads.append(ItemData(columns["sample_id"], columns | unused | {"extra": [["system", system]]}))
    return make_study(task_type="likert", live=False, payloads=payloads, **({"config": LIKERT} | values))


def with_rule(study: Study, **settings: Any) -> Study:
    return change_study(study=study, stopping=RULE | settings, actor="test")


def test_a_rule_that_can_stop_the_study_is_launched_with_it() -> None:
    study = with_rule(draft(), smallest=0.5)
    assert stopping_problems(study) == []
    publish(study=study, actor="test")
    rule = rule_of(Study.objects.get(pk=study.pk).stopping)
    assert rule is not None and (rule.factor, rule.smallest, rule.first, rule.every) == ("system", 0.5, 20, 5)


@pytest.mark.parametrize(
    ("settings", "where", "what"),
    [
        ({"factor": "systen"}, "stopping.factor", "system"),
        ({"criterion": "qualty"}, "stopping.criterion", "quality"),
        ({"smallest": 4.0}, "stopping.smallest", "No difference on quality can be larger than 4"),
    ],
)
def test_a_rule_about_what_is_not_there_is_refused_at_the_launch(
    settings: dict[str, Any], where: str, what: str
) -> None:
    study = with_rule(draft(), **settings)
    [problem] = stopping_problems(study)
    assert problem.where == where and what in f"{problem.what} {problem.fix}"
    with pytest.raises(Invalid):
        publish(study=study, actor="test")


def test_a_factor_with_one_level_settles_nothing() -> None:
    study = with_rule(draft("A", 12, factors={"system": {}}))
    [problem] = stopping_problems(study)
    assert problem.where == "stopping.factor" and "have the same level of system, A" in problem.what


def test_a_factor_of_workers_is_refused() -> None:
    study = with_rule(draft(factors={"quality": {"of": "worker"}}), factor="quality")
    [problem] = stopping_problems(study)
    assert "nobody knows before the launch" in problem.what


def test_too_few_items_could_never_stop_it() -> None:
    study = with_rule(draft(prompts=2))
    assert "has 4 items, and with fewer than 5 nothing can be tested" in " ".join(
        problem.what for problem in stopping_problems(study)
    )


def test_items_that_arrive_later_and_a_rule_exclude_each_other() -> None:
    study = with_rule(draft())
    ItemFeed.objects.create(study=study, source=make_study())
    assert any("all items from the start" in problem.what for problem in stopping_problems(study))


@pytest.mark.parametrize("settings", [{"factor": "system", "criterion": ""}, {"factor": "", "criterion": "quality"}])
def test_half_a_rule_is_refused_when_it_is_saved(settings: dict[str, str]) -> None:
    with pytest.raises(Invalid, match="or leave both empty"):
        change_study(study=draft(), stopping=settings, actor="test")


@pytest.mark.parametrize(("name", "value"), [("first", 0), ("every", 51), ("smallest", -1.0), ("at", 3)])
def test_impossible_settings_are_refused(name: str, value: Any) -> None:
    with pytest.raises(Invalid) as refused:
        change_study(study=draft(), stopping=RULE | {name: value}, actor="test")
    assert refused.value.problems[0].where == f"stopping.{name}"


def test_a_study_file_says_it_and_a_change_keeps_the_rest() -> None:
    study = with_rule(draft(), smallest=0.25, every=10)
    document = document_of(study)
    assert document["stopping"] == RULE | {"smallest": 0.25, "first": 20, "every": 10}
    assert read_document(document).spec.stopping == document["stopping"]
    assert changes_in({"stopping": {"every": 20}}, study)["stopping"] == document["stopping"] | {"every": 20}
    with pytest.raises(FileRefused, match="smallest"):
        read_document({"task_type": "likert", "slug": "a", "title": "A", "stopping": {"smallest": "small"}})
