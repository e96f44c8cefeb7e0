"""Coding of comments beyond the examples: the draw, the settings, what coders see, simulated coders."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from annotation.task_types.base import Shown
from annotation.task_types.comment_coding.comment_coding import CodingConfig, CommentCoding
from annotation.task_types.comment_coding.comment_draw import draw_comments
from annotation.task_types.items import ItemData, Json, SourceOutput
from annotation.task_types.kinds.choices import ChoicesQuestion
from annotation.task_types.simulation import SimulatedWorker
from common.problems import Invalid
from tests.annotation.task_types.walking import initial_config, texts_of

TASK = CommentCoding()


def comments(*, authors: int, each: int = 1, domain: str = "story", first: int = 1) -> list[SourceOutput]:
    return [
        SourceOutput(
            id=first + number,
            kind="comment",
            context="Definitely human-written. Why do you think so?",
            texts=[f"Comment {number}"],
            label=("judgement", 1.0),
            item=f"t{number}",
            author=f"{domain}-{number // each}",
            arm="",
            cells={"domain": domain, "prompt": "Once upon a time", "text": "there was a hat."},
        )
        for number in range(authors * each)
    ]


# --- the draw ---


def test_50_authors_of_each_domain_are_drawn_with_one_comment_each() -> None:
    """Clark 2021, app. C.3."""
    there = comments(authors=80, each=3) + comments(authors=50, domain="news", first=1000)
    drawn = draw_comments(there, authors=50, seed=1)
    assert Counter(each.cells["domain"] for each in drawn) == {"story": 50, "news": 50}
    assert max(Counter(each.author for each in drawn).values()) == 1
    assert {each.id for each in drawn} <= {each.id for each in there}


def test_the_seed_decides_the_draw_whatever_the_order() -> None:
    there = comments(authors=80, each=3)
    drawn = draw_comments(there, authors=50, seed=1)
    shuffled = random.Random(2).sample(there, len(there))
    assert {each.id for each in draw_comments(shuffled, authors=50, seed=1)} == {each.id for each in drawn}
    assert {each.id for each in draw_comments(there, authors=50, seed=2)} != {each.id for each in drawn}


def test_every_comment_of_an_author_can_be_drawn() -> None:
    there = comments(authors=1, each=3)
    assert {draw_comments(there, authors=1, seed=seed)[0].id for seed in range(40)} == {1, 2, 3}


def test_too_few_authors_are_refused_with_their_number() -> None:
    there = comments(authors=12, each=5) + comments(authors=50, domain="news", first=1000)
    with pytest.raises(Invalid) as refused:
        draw_comments(there, authors=50, seed=1)
    (problem,) = refused.value.problems
    assert problem.what == "In the domain “story”, 12 authors wrote comments, but 50 are to be drawn."
    assert "authors_per_domain) to 12" in problem.fix


def test_a_study_without_comments_is_refused() -> None:
    with pytest.raises(Invalid, match="no comments yet"):
        draw_comments([], authors=50, seed=1)


def test_an_item_has_the_answer_and_the_text_that_the_comment_is_about() -> None:
    (row,) = TASK.from_outputs(comments(authors=1))
    assert row.cells == {
        "comment_id": "t0-1",
        "comment": "Comment 0",
        "domain": "story",
        "answer": "Definitely human-written. Why do you think so?",
        "text": "Once upon a time there was a hat.",
    }
    assert row.sources == (1,)


# --- settings and pages ---


def errors(**settings: Any) -> dict[str, Any]:
    return dict(CodingConfig(initial_config(TASK) | settings).errors)


def test_labels_need_names_that_are_different_and_plain() -> None:
    label = {"label": "a", "category": "Form", "name": "A", "description": ""}
    assert "is in the list twice" in str(errors(labels=[label, label | {"category": "Null"}])["labels"])
    assert "must begin with a letter" in str(errors(labels=[label | {"label": "1 a", "category": "Null"}])["labels"])
    assert "No label has the category “Null”. Write one of Form" in str(errors(labels=[label])["null_category"])
    assert errors(labels=[label], null_category="") == {}


def shown(**settings: Any) -> Shown:
    config: Json = initial_config(TASK) | settings
    payload = {"comment": "It repeats itself.", "answer": "Definitely human", "text": "A hat.", "domain": "story"}
    items = [ItemData(f"c{at}", payload) for at in range(3)]
    return Shown(items, config, texts_of(TASK, config), {"items": [2, 0, 1]})


def test_labels_of_a_category_are_together_under_its_name() -> None:
    rows = [("a", "Form"), ("b", "Content"), ("c", "Form"), ("d", "Null")]
    labels = [{"label": key, "category": group, "name": key, "description": ""} for key, group in rows]
    (asked,) = TASK.pages(shown(labels=labels))[0].questions
    assert isinstance(asked, ChoicesQuestion)
    assert [(option.key, option.group) for option in asked.options] == [
        ("a", "Form"),
        ("c", "Form"),
        ("b", "Content"),
        ("d", "Null"),
    ]
    (section,) = TASK.sections(initial_config(TASK) | {"labels": labels})
    assert section.parameters["null_labels"] == ["d"]
    assert section.parameters["categories"] == {"Form": ["a", "c"], "Content": ["b"]}


def test_coders_see_the_text_only_if_the_study_shows_it_and_never_the_domain_or_the_author() -> None:
    assert [page.item for page in TASK.pages(shown())] == [2, 0, 1]
    assert set(TASK.pages(shown())[0].context) == {
        *("comment", "place", "places", "answer_heading", "about_heading", "answer", "text")
    }
    assert set(TASK.pages(shown(show_text=False))[0].context) == {"comment", "place", "places"}


def test_careful_simulated_coders_agree_more_than_careless_ones() -> None:
    given = shown()
    pages = TASK.pages(given)

    def alike(profile: Any) -> float:
        pairs = [
            [set(TASK.simulate(SimulatedWorker.named(f"{name}{at}", profile), given, page, [])) for name in "ab"]
            for at in range(20)
            for page in pages
        ]
        return sum(len(one & two) / len(one | two) for one, two in pairs) / len(pairs)

    assert alike("careful") > 0.6 > alike("careless")
