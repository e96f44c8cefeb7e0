"""Which of two, beyond the examples: balance, what is hidden, sources."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from annotation.task_types.base import Shown
from annotation.task_types.items import ItemData, Json, Row, SourceOutput
from annotation.task_types.pairwise.pairwise import Pairwise
from annotation.task_types.simulation import SimulatedWorker
from tests.annotation.task_types.sources import make_outputs, make_samples
from tests.annotation.task_types.walking import drawn, fields_of, initial_config, texts_of, walk

TASK = Pairwise()


def config_of(**settings: Any) -> Json:
    form = Pairwise.config_form(initial_config(TASK) | settings)
    assert form.is_valid(), form.errors
    return dict(form.cleaned_data)


@pytest.mark.parametrize(
    ("reason", "least", "words"),
    [
        ("optional", 3, "If you give a reason, write at least 3 words."),
        ("required", 3, "Write at least 3 words."),
        ("optional", 1, ""),
    ],
)
def test_how_long_a_reason_must_be_is_said_truthfully(reason: str, least: int, words: str) -> None:
    config = config_of(reason=reason, min_words=least)
    assert TASK.questions(config, texts_of(TASK, config))[-1].help == words


def items(number: int) -> list[ItemData]:
    rows = [
        Row(
            at + 1,
            {
                "sample_id": f"hidden-id-{at}",
                "context": "It rained.",
                "text_1": f"First {at}.",
                "text_2": f"Second {at}.",
                "system_1": "hidden-system-one",
                "system_2": "hidden-system-two",
                "note": "hidden-note",
            },
        )
        for at in range(number)
    ]
    found, problems = TASK.read_items(rows, initial_config(TASK))
    assert problems == []
    return found


def shown(found: list[ItemData], config: Json, *, slot: int = 0, seed: int = 1) -> Shown:
    order = TASK.arrange(found, config, slot=slot, rng=random.Random(seed))
    return Shown(found, config, texts_of(TASK, config), order)


# --- balance ---


def test_each_text_is_on_side_a_in_exactly_half_of_the_slots() -> None:
    found = items(20)
    for wanted in (2, 12):
        orders = [shown(found, config_of(), slot=slot, seed=slot).order["on_a"] for slot in range(wanted)]
        for at in range(len(found)):
            assert Counter(order[at] for order in orders) == {1: wanted // 2, 2: wanted // 2}


def test_sides_of_the_first_slot_differ_between_pairs() -> None:
    assert Counter(shown(items(10), config_of()).order["on_a"]) == {1: 5, 2: 5}


def test_side_a_shows_the_text_that_the_order_says_and_choosing_it_is_stored_about_that_text() -> None:
    (item,) = items(1)
    for on_a, stored in ((1, 1.0), (2, -1.0)):
        config = config_of(reason="none")
        arranged = Shown([item], config, texts_of(TASK, config), {"items": [0], "on_a": [on_a]})
        (page,) = TASK.pages(arranged)
        names = {1: "First 0.", 2: "Second 0."}
        assert page.context["sides"] == [("Text A", names[on_a]), ("Text B", names[3 - on_a])]
        answers, _ = page.clean({"better": "1"})
        assert [row.value for row in TASK.ratings(arranged, [page], [answers])] == [stored]


def test_simulated_workers_prefer_one_text_whichever_side_it_is_on() -> None:
    config = config_of(reason="none")
    found = items(40)
    stored: dict[int, list[float | None]] = {}
    for slot in (0, 1):
        arranged = shown(found, config, slot=slot)
        pages, answers = walk(TASK, arranged, "w1", "careful")
        stored[slot] = [
            row.value for row in sorted(TASK.ratings(arranged, pages, answers), key=lambda row: row.item or 0)
        ]
    same = sum(one == two for one, two in zip(stored[0], stored[1], strict=True))
    assert same > 30
    assert SimulatedWorker.named("w1", "careful").ability > 0.7


# --- pages ---


def test_pages_never_show_systems_ids_or_other_columns() -> None:
    for page in TASK.pages(shown(items(2), config_of())):
        html = drawn(page)
        assert "hidden-" not in html
        assert not any("hidden-" in str(value) for value in page.context.values())


@pytest.mark.parametrize(
    ("ties", "labels"), [(True, ["Text A", "No difference", "Text B"]), (False, ["Text A", "Text B"])]
)
def test_answers_are_in_the_order_of_the_sides_with_no_difference_between_them(ties: bool, labels: list[str]) -> None:
    config = config_of(ties=ties)
    (question, *_) = TASK.questions(config, texts_of(TASK, config))
    assert [point.label for point in question.scale.points] == labels
    (described, *_) = TASK.describe_questions(config, texts_of(TASK, config))
    stored = ["Text 1", "No difference", "Text 2"] if ties else ["Text 1", "Text 2"]
    assert [point.label for point in described.ratings_scale.points] == stored
    assert described.scale.level == "pairwise"


@pytest.mark.parametrize(("reason", "there"), [("required", True), ("optional", True), ("none", False)])
def test_reason_is_required_optional_or_not_asked(reason: str, there: bool) -> None:
    (page,) = TASK.pages(shown(items(1), config_of(reason=reason)))
    assert ("reason" in fields_of(drawn(page))) is there
    _, errors = page.clean({"better": "1"})
    assert set(errors) == ({"reason"} if reason == "required" else set())


def test_no_difference_is_stored_as_zero_and_not_as_minus_zero() -> None:
    (item,) = items(1)
    config = config_of(ties=True, reason="none")
    arranged = Shown([item], config, texts_of(TASK, config), {"items": [0], "on_a": [2]})
    (page,) = TASK.pages(arranged)
    (row,) = TASK.ratings(arranged, [page], [page.clean({"better": "0"})[0]])
    assert str(row.value) == "0.0"


# --- sources ---


def options(one: str = "", two: str = "") -> Json:
    return {"system_1": one, "system_2": two}


def test_samples_of_every_two_systems_are_paired_one_by_one() -> None:
    rows, left_out = TASK.from_samples(make_samples(), options())
    pairs = Counter((row.cells["system_1"], row.cells["system_2"]) for row in rows)
    assert pairs == {
        ("temp=0.5", "temp=1"): 6,
        ("temp=0.5", "top_k=5"): 6,
        ("temp=0.5", "greedy"): 1,
        ("temp=1", "top_k=5"): 6,
        ("temp=1", "greedy"): 1,
        ("top_k=5", "greedy"): 1,
    }
    assert left_out == 0


def test_samples_of_two_named_systems_are_paired_and_the_others_are_left_out() -> None:
    rows, left_out = TASK.from_samples(make_samples(), options("top_k=5", "temp=1"))
    assert [(row.cells["system_1"], row.cells["system_2"]) for row in rows] == [("top_k=5", "temp=1")] * 6
    assert rows[0].sources == (112, 106)
    assert left_out == 7


@pytest.mark.parametrize(
    ("one", "two", "field"), [("a", "", "system_2"), ("", "a", "system_1"), ("a", "a", "system_2")]
)
def test_either_two_systems_are_named_or_none(one: str, two: str, field: str) -> None:
    assert TASK.sample_form is not None
    assert set(TASK.sample_form(options(one, two)).errors) == {field}


def test_texts_of_different_writers_and_arms_are_paired_as_they_arrive() -> None:
    rows = TASK.from_outputs(make_outputs("text"))  # writers 0 and 2 in one arm, 1 and 3 in the other
    writers = [(row.cells["context"], row.cells["writer_1"], row.cells["writer_2"]) for row in rows]
    assert writers == [
        ("Context 1", "w0", "w1"),
        ("Context 2", "w0", "w1"),
        ("Context 1", "w2", "w3"),
        ("Context 2", "w2", "w3"),
    ]
    assert {(row.cells["system_1"], row.cells["system_2"]) for row in rows} == {("mil", "solo")}


def without_arms(outputs: list[SourceOutput]) -> list[SourceOutput]:
    return [replace(each, arm="") for each in outputs]


def test_nobody_is_compared_with_themselves() -> None:
    outputs = without_arms(make_outputs("text"))
    mine = [replace(each, author="w0") for each in outputs]
    assert TASK.from_outputs(mine) == []
    assert len(TASK.from_outputs(outputs)) == 4
