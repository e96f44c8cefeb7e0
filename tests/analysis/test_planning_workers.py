"""Layers of tasks and the number of workers that a plan needs. Expected values are worked out by hand."""

from __future__ import annotations

from collections import Counter

import pytest

from analysis.planning import Sample, plan_blocks
from analysis.planning.staffing import Staffing, layers_of, staffing


def test_tasks_without_a_common_item_are_one_layer() -> None:
    assert layers_of([{"a", "b"}, {"c"}, {"d", "e"}]) == [0, 0, 0]


def test_tasks_with_a_common_item_are_in_different_layers() -> None:
    layers = layers_of([{"a", "b"}, {"b", "c"}, {"c", "d"}])
    assert layers[0] == layers[2] != layers[1]


def test_layers_of_unconnected_parts_are_about_as_large() -> None:
    """Each part is a star: one task in the middle that conflicts with three others."""
    stars = [task for n in "xy" for task in ({f"{n}1", f"{n}2", f"{n}3"}, {f"{n}1"}, {f"{n}2"}, {f"{n}3"})]
    assert Counter(layers_of(stars)) == {0: 4, 1: 4}


@pytest.mark.parametrize(
    ("tasks", "wanted", "most_each", "expected"),
    [
        ([], [], None, Staffing(0, 0, 0)),
        # One item in each of four tasks: three ratings need three people, who can do all four.
        ([{"a"}, {"b"}, {"c"}, {"d"}], [3, 3, 3, 3], None, Staffing(3, 3, 4)),
        # The same with two tasks each: 12 places, 6 people.
        ([{"a"}, {"b"}, {"c"}, {"d"}], [3, 3, 3, 3], 2, Staffing(6, 6, 2)),
        # An item in three tasks needs three people, though each task wants one. Nobody does more than two.
        ([{"a", "b"}, {"a", "c"}, {"a", "d"}], [1, 1, 1], None, Staffing(3, 3, 2)),
        # A triangle of tasks that share an item in pairs: three people, though no item is in three tasks.
        ([{"a", "b"}, {"b", "c"}, {"c", "a"}], [1, 1, 1], None, Staffing(3, 3, 1)),
        # A cycle of five tasks has an odd length: no two people can do it, and nobody can do three of its tasks.
        ([{"a", "b"}, {"b", "c"}, {"c", "d"}, {"d", "e"}, {"e", "a"}], [1] * 5, None, Staffing(3, 3, 2)),
    ],
)
def test_the_number_of_workers(
    tasks: list[set[str]], wanted: list[int], most_each: int | None, expected: Staffing
) -> None:
    assert staffing(tasks, wanted, most_each) == expected


def test_a_plan_in_rounds_needs_as_many_workers_as_ratings() -> None:
    samples = [Sample(f"{c}-{s}", f"c{c}", f"s{s}") for c in range(4) for s in range(6)]
    plan = plan_blocks(samples, size=3, ratings_per_sample=3)
    tasks = [block.samples for block in plan.blocks]
    assert staffing(tasks, [1] * len(tasks)) == Staffing(3, 3, 8)
    assert Counter(layers_of(tasks)) == {0: 8, 1: 8, 2: 8}
