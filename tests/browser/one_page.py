"""A task type of one page, whose questions a test chooses."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from annotation.task_types import registry
from annotation.task_types.base import FixedPages, Page, Shown, Text
from annotation.task_types.items import Column, ItemData, Json


class OnePage(FixedPages):
    """A subclass has a name, a title, a summary and ``questions``."""

    def columns(self, config: Json) -> Sequence[Column]:
        return (Column("id", "the id", example="a"),)

    def texts(self, config: Json) -> Sequence[Text]:
        return (Text("instructions", "Instructions", "Answer all questions."),)

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        return {}

    def pages(self, shown: Shown) -> Sequence[Page]:
        return [Page("all", "Every kind", "annotation/work.html", self.questions(shown.config, shown.texts))]


def with_type(task_type: OnePage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds the type to those of the server, for one test."""
    types = {**registry.all_types(), task_type.name: task_type}
    monkeypatch.setattr(registry, "all_types", lambda: types)


def one_item() -> ItemData:
    return ItemData("a", {"id": "a", "columns": ["id"], "extra": []})
