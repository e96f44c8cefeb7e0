"""The type that the documentation builds is a real one: it is installed from the page and goes through the suite."""

from __future__ import annotations

import re
import sys
from ast import literal_eval
from collections.abc import Iterator
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path

import pytest
from django.conf import settings
from django.template import engines
from django.test import override_settings

from analysis import description
from annotation import task_types
from annotation.task_types import base, extra_exports, items, questions, registry
from annotation.task_types import settings as type_settings
from annotation.task_types.base import FixedPages, TaskType
from annotation.task_types.kinds import all_kinds
from tests.annotation.task_types import suite, walking

VAR_KEYWORD = Parameter.VAR_KEYWORD
#: Where the classes that the page names come from.
KINDS = [import_module(kind.__module__) for kind in all_kinds().values()]
MODULES = (base, extra_exports, items, questions, description, type_settings, *KINDS)
#: A class with its arguments at the head of a table's row. “…” stands for those that all have.
SIGNATURE = re.compile(r"^\| `([A-Z]\w+)\((.*?)\)` \|", re.MULTILINE)
PAGE = Path(settings.BASE_DIR) / "docs" / "adding-a-task-type.md"
FILE = re.compile(r"^`annotation/task_types/(\S+)`\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TaskType]:
    files = dict(FILE.findall(PAGE.read_text("utf-8")))
    assert set(files) == {
        "fluency/__init__.py",
        "fluency/fluency.py",
        "fluency/templates/fluency/text.html",
        "fluency/examples/fluency.yaml",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    monkeypatch.setattr(task_types, "__path__", [*task_types.__path__, str(tmp_path)])
    templates = [{**settings.TEMPLATES[0], "DIRS": [*settings.TEMPLATES[0]["DIRS"], tmp_path / "fluency/templates"]}]
    registry.all_types.cache_clear()
    try:
        with override_settings(TEMPLATES=templates):
            yield registry.get_type("fluency")
    finally:
        registry.all_types.cache_clear()
        engines._engines = {}  # type: ignore[attr-defined]
        for name in [name for name in sys.modules if name.startswith("annotation.task_types.fluency")]:
            del sys.modules[name]


def test_documented_type_passes_the_suite(documented: TaskType) -> None:
    examples = documented.examples()
    assert [bool(example.ratings) for example in examples] == [True, False, False]
    for example in examples:
        if not example.ratings:
            suite.check_invalid(documented, example)
            continue
        suite.check_valid(documented, example)
        suite.check_pages(documented, example)
        suite.check_stable(documented, example)
        suite.check_simulated_workers(documented, example)
        suite.check_plan_and_order(documented, example)
        suite.check_import(documented, example)
    suite.check_texts_are_shown(documented, examples[:1])
    suite.check_words(documented, walking.initial_config(documented))
    suite.check_words(documented, {"ignore_ends": True})


def test_documented_type_is_removed_again() -> None:
    assert "fluency" not in registry.all_types()


def test_every_hook_that_the_page_calls_required_is_abstract() -> None:
    said = re.search(r"You must write (.*?); everything else", PAGE.read_text("utf-8"), re.DOTALL)
    assert said
    names = set(re.findall(r"`(\w+)`", said[1]))
    assert set(FixedPages.__abstractmethods__) == names - {"name", "title", "summary"}


def test_documented_type_has_under_sixty_lines_of_python() -> None:
    files = dict(FILE.findall(PAGE.read_text("utf-8")))
    lines = [line for name, text in files.items() if name.endswith(".py") for line in text.splitlines()]
    assert len([line for line in lines if line.strip()]) < 60


def test_every_name_in_the_page_exists() -> None:
    page = PAGE.read_text("utf-8")
    for name in set(re.findall(r"`([A-Z]\w+)`", page)) - {"TYPES"}:
        assert any(hasattr(module, name) for module in MODULES), name
    for module, name in re.findall(r"`(settings|sources|wording)\.(\w+)", page):
        assert hasattr(import_module(f"annotation.task_types.{module}"), name), name


def test_arguments_in_the_page_are_those_of_the_classes() -> None:
    shared = list(signature(questions.Question).parameters)
    found = SIGNATURE.findall(PAGE.read_text("utf-8"))
    assert len(found) >= 10
    for name, said in found:
        made = next(getattr(module, name) for module in MODULES if hasattr(module, name))
        arguments = dict(argument.partition("=")[::2] for argument in said.split(", ") if argument != "…")
        taken = {each.name: each.default for each in signature(made).parameters.values() if each.kind != VAR_KEYWORD}
        left_out = set(shared) if said.startswith("…") else set()
        assert set(arguments) - left_out == set(taken) - left_out, name
        for argument, default in arguments.items():
            assert not default or literal_eval(default) == taken[argument], (name, argument)
