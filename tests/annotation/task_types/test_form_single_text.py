"""Questions that need a single text are refused where a form shows several."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.studies.checking import check_settings
from annotation.task_types.registry import get_type

SPANS = {"kind": "spans", "topic": "errors", "question": "Mark all errors."}


def problems(of: str, **settings: Any) -> list[str]:
    config = {"questions": [{**SPANS, "of": of}], **settings}
    form = get_type("form").config_form
    return [str(problem) for problem in check_settings(form=form, settings=config, prefix="config.")[1]]


@pytest.mark.parametrize(
    ("of", "settings", "what"),
    [
        ("item", {"texts": ["a", "b"]}, "The study shows several: ask about each text with “of: text”."),
        (
            "segment",
            {"texts": ["a", "b"], "document": "d"},
            "The study shows several: ask about each text with “of: text”.",
        ),
        (
            "item",
            {"texts": ["a"], "document": "d"},
            "A document has several: ask about each segment with “of: segment”.",
        ),
        ("item", {"texts": [], "shown": [{"field": "source"}]}, "Name a column in texts."),
    ],
)
def test_marks_need_a_single_text(of: str, settings: dict[str, Any], what: str) -> None:
    assert [message for message in problems(of, **settings) if what in message]


@pytest.mark.parametrize(
    ("of", "settings"),
    [("item", {"texts": ["a"]}), ("text", {"texts": ["a", "b"]}), ("segment", {"texts": ["a"], "document": "d"})],
)
def test_marks_of_one_text_are_fine(of: str, settings: dict[str, Any]) -> None:
    assert problems(of, **settings) == []
