"""One suite for every installed task type: each example is a test."""

from __future__ import annotations

import itertools
import pkgutil

import pytest
from django import forms

from annotation import task_types
from annotation.task_types.base import Example, Json, TaskType
from annotation.task_types.registry import UnknownTaskType, all_types, get_type
from tests.annotation.task_types import suite

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


@named(VALID)
def test_pages_draw_and_hold_every_question(task: TaskType, example: Example) -> None:
    suite.check_pages(task, example)


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
    form = task.config_form(suite.initial_config(task))
    assert form.is_valid(), form.errors
    assert form.cleaned_data == suite.initial_config(task)


def all_configs(task: TaskType) -> list[Json]:
    """Every combination of the settings that are choices or switches, the others at their initial values."""
    choices: dict[str, list[object]] = {}
    for name, field in task.config_form.base_fields.items():
        if isinstance(field, forms.ChoiceField):
            choices[name] = [value for value, _ in field.choices]  # type: ignore[misc, union-attr]
        elif isinstance(field, forms.BooleanField):
            choices[name] = [True, False]
    combined = (dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values()))
    return [suite.initial_config(task) | config for config in combined]


@each_type
def test_words_are_there_for_every_setting(task: TaskType) -> None:
    for config in all_configs(task):
        suite.check_words(task, config)


@each_type
def test_every_type_has_valid_and_invalid_examples_with_names_of_their_own(task: TaskType) -> None:
    names = [example.name for example in task.examples()]
    assert len(set(names)) == len(names)
    assert any(example.ratings for example in task.examples())
    assert any(example.problems for example in task.examples())
    assert any(example.errors for example in task.examples())


def test_every_package_is_found() -> None:
    packages = {module.name for module in pkgutil.iter_modules(task_types.__path__) if module.ispkg}
    assert packages == {type(task).__module__.split(".")[2] for task in TYPES}


def test_types_are_stateless() -> None:
    assert all(not vars(task) for task in TYPES)


def test_unknown_type_is_refused_with_the_known_names() -> None:
    with pytest.raises(UnknownTaskType, match=r"“abs_hsd”.*abs_hds, asp_hds"):
        get_type("abs_hsd")
