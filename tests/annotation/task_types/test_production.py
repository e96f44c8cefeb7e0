"""What workers read when they write texts: by task, and by how many texts they write."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.studies.checking import default_config
from annotation.task_types.registry import get_type


def texts_of(**config: Any) -> dict[str, str]:
    task = get_type("production")
    return {text.name: text.default for text in task.texts(default_config(task) | config)}


def test_a_translation_names_its_language_and_keeps_the_meaning() -> None:
    """Giulianelli et al. 2023, section 4: translations of one sentence by several people."""
    texts = texts_of(generation_task="translation", translate_into="German")
    assert texts["title"] == "Write your own translation into German"
    assert texts["heading"] == "Text to translate"
    assert texts["label"] == "Your translation"
    assert texts["instructions"].startswith("Read the text, then write your own translation into German. Keep its")
    assert texts["explain"] == "It should mean the same as the text."
    assert "what comes to mind" not in texts["instructions"]


def test_a_translation_without_a_language_is_into_english() -> None:
    """Also in studies that were made before the language was a setting."""
    for config in ({"translate_into": ""}, {}):
        assert texts_of(generation_task="translation", **config)["title"] == "Write your own translation into English"
    task = get_type("production")
    stored = {name: value for name, value in default_config(task).items() if name != "translate_into"}
    titles = [text.default for text in task.texts(stored | {"generation_task": "translation"}) if text.name == "title"]
    assert titles == ["Write your own translation into English"]


def test_simplifications_are_easier_and_mean_the_same() -> None:
    texts = texts_of(generation_task="simplification", responses=2, least_words=3)
    assert texts["title"] == "Write 2 different simpler versions"
    assert texts["label"] == "Version {n}"
    assert texts["explain"] == (
        "Each of them should be easier to understand than the text, and mean the same. Use at least 3 words."
    )


@pytest.mark.parametrize(
    ("task", "title", "explain"),
    [
        ("story", "Write your own ending", "It should fit the story."),
        ("response", "Write your own reply", "It should fit the comment."),
        ("prompt", "Write your own continuation", "It should fit the first words."),
    ],
)
def test_other_tasks_ask_for_what_comes_to_mind(task: str, title: str, explain: str) -> None:
    texts = texts_of(generation_task=task)
    assert (texts["title"], texts["explain"]) == (title, explain)
    assert texts["instructions"].endswith("There is no right or wrong: write what comes to mind.")
