"""The type that the documentation builds is a real one: it is installed from the page and goes through the suite."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.template import engines
from django.test import override_settings

from annotation import task_types
from annotation.task_types import registry
from annotation.task_types.base import TaskType
from tests.annotation.task_types import suite

PAGE = Path(settings.BASE_DIR) / "docs" / "adding-a-task-type.md"
FILE = re.compile(r"^`annotation/task_types/(\S+)`\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TaskType]:
    files = dict(FILE.findall(PAGE.read_text("utf-8")))
    assert set(files) == {
        "fluency/__init__.py",
        "fluency/types.py",
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
        engines._engines = {}
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
        suite.check_simulated_workers(documented, example)
        suite.check_plan_and_order(documented, example)
        suite.check_import(documented, example)
    suite.check_words(documented, suite.initial_config(documented))
    suite.check_words(documented, {"ignore_ends": True})


def test_documented_type_is_gone_again() -> None:
    assert "fluency" not in registry.all_types()


def test_every_hook_that_the_page_calls_required_is_abstract() -> None:
    said = re.search(r"Required are (.*?); everything else", PAGE.read_text("utf-8"), re.DOTALL)
    assert said
    names = set(re.findall(r"`(\w+)`", said[1]))
    assert set(TaskType.__abstractmethods__) == names - {"name", "title", "summary"}
