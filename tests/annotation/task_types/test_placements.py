"""How an item and its parts were shown, as exports have it, is what the pages show."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from annotation.task_types.base import Page, RatingData, Shown, TaskType
from annotation.task_types.offers import Offers
from annotation.task_types.placements import Placement, Seen
from annotation.task_types.registry import all_types, get_type
from tests.annotation.task_types.walking import shown_of, stored, walk, with_offers

SEEDS = range(6)


def shown_to(task: TaskType, seed: int) -> Iterator[Shown]:
    """What a worker sees of every example that can be shown, in an order drawn with the seed."""
    for example in task.examples():
        if not example.problems:
            shown = shown_of(task, example)
            order = stored(task.arrange(shown.items, shown.config, slot=seed, rng=random.Random(seed)))
            yield with_offers(task, replace(shown, order=order, offers=Offers()))


def rated(task: TaskType, seed: int) -> Iterator[tuple[Shown, Page, RatingData, Placement]]:
    for shown in shown_to(task, seed):
        pages, answers = walk(task, shown)
        for row in task.ratings(shown, pages, answers):
            if row.item is not None:
                seen = Seen(shown.items[row.item].payload, row.item, shown.order, row.question, row.target, row.value)
                yield shown, pages[row.step], row, task.placement(seen)


def sides_of(page: Page) -> list[tuple[str, Any]]:
    sides: Any = page.context["sides"]
    return list(sides)


@pytest.mark.parametrize("name", sorted(all_types()))
def test_items_are_at_the_positions_in_which_their_pages_come(name: str) -> None:
    task = get_type(name)
    for seed in SEEDS:
        for shown in shown_to(task, seed):
            pages, answers = walk(task, shown)
            rows = sorted(task.ratings(shown, pages, answers), key=lambda row: row.step)
            positions: dict[int, int | None] = {}
            for row in rows:
                if row.item is not None:
                    seen = Seen(
                        shown.items[row.item].payload, row.item, shown.order, row.question, row.target, row.value
                    )
                    positions.setdefault(row.item, task.placement(seen).item_position)
            in_order_of_pages = list(positions.values())
            assert in_order_of_pages == sorted(in_order_of_pages, key=lambda position: position or 0)
            assert set(in_order_of_pages) == set(range(1, len(shown.items) + 1))


def test_the_side_of_a_pair_is_where_text_1_stands() -> None:
    sides = set()
    for seed in SEEDS:
        for shown, page, row, placement in rated(get_type("pairwise"), seed):
            if row.question == "reason":
                assert placement.side == ""
                continue
            texts = [text for _, text in sides_of(page)]
            assert texts["AB".index(placement.side)] == shown.items[row.item or 0].payload["text_1"]
            sides.add(placement.side)
    assert sides == {"A", "B"}


def test_the_side_of_two_sets_is_where_set_1_stands_and_the_warm_up_is_about_its_first_response() -> None:
    sides = set()
    for seed in SEEDS:
        for shown, page, row, placement in rated(get_type("rnk_hds"), seed):
            sets = shown.items[row.item or 0].payload["sets"]
            if row.question == "ranking":
                responses = [texts for _, texts in sides_of(page)]
                assert sorted(responses["AB".index(placement.side)]) == sorted(sets[0]["responses"])
                sides.add(placement.side)
            elif row.question == "quality":
                assert list(placement.texts) == [page.context["first"]]
                assert placement.side == ""
    assert sides == {"A", "B"}


def test_a_pair_of_responses_has_both_texts_its_position_on_the_page_and_the_side_of_the_first() -> None:
    sides = set()
    for seed in SEEDS:
        for _, page, row, placement in rated(get_type("sim_hds"), seed):
            if row.question != "similarity":
                continue
            assert placement.part_position is not None
            pairs: Any = page.context["pairs"]
            pair = pairs[placement.part_position - 1]
            assert pair["question"].target == row.target
            first = placement.texts[0]
            assert sorted(placement.texts) == sorted(pair["texts"])
            assert pair["texts"]["AB".index(placement.side)] == first
            sides.add(placement.side)
    assert sides == {"A", "B"}


def test_the_side_of_a_practice_pair_is_where_its_first_text_stands() -> None:
    sides = set()
    for seed in SEEDS:
        for shown, page, row, placement in rated(get_type("detection"), seed):
            if row.question == "machine_text":
                texts = [text for _, text in sides_of(page)]
                assert texts["AB".index(placement.side)] == shown.items[row.item or 0].payload["text"]
                sides.add(placement.side)
            else:
                assert placement.side == ""
    assert sides <= {"A", "B"}
    assert sides


def test_the_side_of_a_choice_is_where_the_chosen_suggestion_stood() -> None:
    choices = 0
    for seed in SEEDS:
        for shown, page, row, placement in rated(get_type("cyoa"), seed):
            if row.question == "choice":
                ask = page.asks["ABCD".index(placement.side)]
                assert ask.suggester == shown.config["suggesters"][int(row.value or 0) - 1]
                choices += 1
    assert choices


def test_what_was_recorded_before_a_type_had_an_order_says_nothing() -> None:
    seen = Seen({}, 0, {}, "creative", "", 4.0)
    assert get_type("likert").placement(seen) == Placement()
