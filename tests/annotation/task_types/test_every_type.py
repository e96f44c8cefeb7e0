"""One suite for every installed task type: each example is a test."""

from __future__ import annotations

import ast
import itertools
import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from django import forms
from django.conf import settings

from annotation import task_types
from annotation.task_types import registry
from annotation.task_types.base import Answers, Page, Shown, TaskType
from annotation.task_types.examples import Example
from annotation.task_types.items import Json
from annotation.task_types.likert.likert import Likert
from annotation.task_types.registry import UnknownTaskType, all_types, get_type
from tests.annotation.task_types import sources, suite, walking
from tests.factories import sample_rows

TYPES = list(all_types().values())
CASES = [(task, example) for task in TYPES for example in task.examples()]
VALID = [case for case in CASES if case[1].ratings]
INVALID = [case for case in CASES if not case[1].ratings]


def named(cases: list[tuple[TaskType, Example]]) -> pytest.MarkDecorator:
    ids = [f"{task.name}: {example.name}" for task, example in cases]
    return pytest.mark.parametrize(("task", "example"), cases, ids=ids)


each_type = pytest.mark.parametrize("task", TYPES, ids=[task.name for task in TYPES])


@named(VALID)
def test_valid_example_gives_exactly_its_ratings(task: TaskType, example: Example) -> None:
    suite.check_valid(task, example)


@named(INVALID)
def test_invalid_example_gives_exactly_its_problems(task: TaskType, example: Example) -> None:
    suite.check_invalid(task, example)


@each_type
def test_a_column_system_is_kept_for_comparisons(task: TaskType) -> None:
    rows = sample_rows(task=task, items=4)
    marked = [replace(row, cells={**row.cells, "system": f"system {number % 2}"}) for number, row in enumerate(rows)]
    items, problems = task.read_items(marked, walking.initial_config(task))
    assert not problems
    assert all(task.export_columns(item.payload)["system"].startswith("system ") for item in items)


@named(VALID)
def test_pages_draw_and_hold_every_question(task: TaskType, example: Example) -> None:
    suite.check_pages(task, example)


@named(VALID)
def test_page_depends_on_what_is_shown_and_the_answers_before_it_alone(task: TaskType, example: Example) -> None:
    suite.check_stable(task, example)


@named(VALID)
def test_pages_ask_for_the_suggestions_that_the_type_declares(task: TaskType, example: Example) -> None:
    suite.check_asks(task, example)


@named(VALID)
def test_simulated_workers_send_valid_answers(task: TaskType, example: Example) -> None:
    suite.check_simulated_workers(task, example)


@named(VALID)
def test_plan_and_order_are_reproducible(task: TaskType, example: Example) -> None:
    suite.check_plan_and_order(task, example)


@named(VALID)
def test_items_read_back_from_their_own_export(task: TaskType, example: Example) -> None:
    suite.check_import(task, example)


@each_type
def test_initial_settings_are_valid(task: TaskType) -> None:
    form = task.config_form(walking.initial_config(task))
    assert form.is_valid(), form.errors
    assert form.cleaned_data == walking.initial_config(task)


def all_configs(task: TaskType) -> list[Json]:
    """Every combination of the settings that are choices or switches, the others at their initial values."""
    choices: dict[str, list[object]] = {}
    for name, field in task.config_form.base_fields.items():
        if isinstance(field, forms.ChoiceField):
            choices[name] = [value for value, _ in field.choices]  # type: ignore[misc, union-attr]
        elif isinstance(field, forms.BooleanField):
            choices[name] = [True, False]
    combined = (dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values()))
    return [walking.initial_config(task) | config for config in combined]


@each_type
def test_texts_questions_scores_and_sections_fit_together_for_every_setting(task: TaskType) -> None:
    for config in all_configs(task):
        suite.check_words(task, config)


@each_type
def test_every_text_that_may_be_reworded_is_shown_on_a_page(task: TaskType) -> None:
    suite.check_texts_are_shown(task, [example for example in task.examples() if example.ratings])


@each_type
def test_samples_and_outputs_become_items(task: TaskType) -> None:
    sources.check_sources(task)


@each_type
def test_every_type_has_valid_and_invalid_examples_with_different_names(task: TaskType) -> None:
    names = [example.name for example in task.examples()]
    assert len(set(names)) == len(names)
    assert any(example.ratings for example in task.examples())
    assert any(example.problems for example in task.examples())
    assert any(example.errors for example in task.examples())


def test_every_package_is_found() -> None:
    packages = {module.name for module in pkgutil.iter_modules(task_types.__path__) if module.ispkg}
    assert packages - {registry.KINDS} == {type(task).__module__.split(".")[2] for task in TYPES}


def test_types_are_stateless() -> None:
    assert all(not vars(task) for task in TYPES)


def test_unknown_type_is_refused_with_the_known_names() -> None:
    with pytest.raises(UnknownTaskType, match=r"“abs_hsd”.*abs_hds, asp_hds"):
        get_type("abs_hsd")


class Restless(Likert):
    """Unstable on purpose: its page counts how often it was asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def next_page(self, shown: Shown, answers: Sequence[Answers]) -> Page | None:
        page = super().next_page(shown, answers)
        self.asked += 1
        return page and replace(page, title=f"{page.title} ({self.asked // 7})")


class Forgetful(Likert):
    """Unstable on purpose: it depends on the order in which answers are stored, which no database promises."""

    def next_page(self, shown: Shown, answers: Sequence[Answers]) -> Page | None:
        page = super().next_page(shown, answers)
        last = list(answers[-1])[-1] if answers else ""
        return page and replace(page, context={**page.context, "last": last})


@pytest.mark.parametrize("task", [Restless(), Forgetful()], ids=["counts", "order of answers"])
def test_type_whose_pages_are_not_stable_is_refused(task: TaskType) -> None:
    two_texts = next(example for example in Likert.examples() if len(example.posts) == 2)
    with pytest.raises(AssertionError, match="came out differently"):
        suite.check_stable(task, two_texts)


def names_compared(path: Path) -> Iterator[str]:
    """Every text that a module compares something with, or looks something up by."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Compare):
            parts: list[ast.expr | None] = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            parts = [*node.keys]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        else:
            continue
        for part in parts:
            for leaf in ast.walk(part) if part else ():
                if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str):
                    yield leaf.value


def test_no_module_outside_a_types_folder_branches_on_its_name() -> None:
    # “pairwise” is the level of a scale too, “production” an environment of the server, “quality” an option of JPEG,
    # “form” what pages send, and “chat” how a model reads its prompts.
    names = set(all_types()) - {*suite.LEVELS, "production", "quality", "form", "chat"}
    families = {type(task).__module__.split(".")[2] for task in TYPES}
    root, found = Path(settings.BASE_DIR), []
    for app in ("analysis", "annotation", "common", "generation", "hitserver", "marketplace"):
        for path in (root / app).rglob("*.py"):
            if not families & set(path.relative_to(root).parts):
                found += [(str(path.relative_to(root)), name) for name in names & set(names_compared(path))]
    assert found == []


def test_the_search_for_branches_finds_one(tmp_path: Path) -> None:
    path = tmp_path / "branching.py"
    path.write_text('if task.name in ("likert", other): pass\nSPECIAL = {"rnk_hds": 1}\n')
    assert set(names_compared(path)) == {"likert", "rnk_hds"}
