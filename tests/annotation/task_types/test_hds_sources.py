"""Sets and comparisons made from a run's samples, and from what people wrote in another study."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from annotation.task_types.items import Row
from annotation.task_types.registry import get_type
from tests.annotation.task_types.sources import make_outputs, make_samples
from tests.annotation.task_types.walking import initial_config


def test_sets_are_made_of_one_decoders_samples_and_carry_its_parameter() -> None:
    task = get_type("abs_hds")
    rows, left_out = task.from_samples(make_samples(), {"set_size": 3})
    assert left_out == 1  # the one text of greedy decoding
    found = [(row.cells["sample_id"], row.cells["label_name"], row.cells["label_value"], row.sources) for row in rows]
    assert found == [
        ("c1-1", "temperature", "0.5", (100, 101, 102)),
        ("c1-2", "temperature", "0.5", (103, 104, 105)),
        ("c1-1", "temperature", "1", (106, 107, 108)),
        ("c1-2", "temperature", "1", (109, 110, 111)),
        ("c1-1", "top_k", "5", (112, 113, 114)),
        ("c1-2", "top_k", "5", (115, 116, 117)),
    ]
    assert rows[0].cells["resp_0"] == "Text 0 of temp=0.5."


def test_sets_are_as_large_as_there_are_samples_unless_a_size_is_given() -> None:
    rows, left_out = get_type("sim_hds").from_samples(make_samples(), {"set_size": None})
    assert [len(row.sources) for row in rows] == [6, 6, 6]
    assert left_out == 1


def test_a_number_of_sets_is_drawn_for_each_value_from_all_contexts() -> None:
    """decTest: two of the sets of each temperature are rated (Tevet & Berant 2021, §6.3)."""
    task = get_type("abs_hds")
    rows = [row for _ in range(5) for row in task.from_samples(make_samples(), {"set_size": 3})[0]]
    drawn = task.choose_rows(rows, {"sets_per_value": 2, "seed": 1})
    assert Counter(row.cells["decoder"] for row in drawn) == {"temp=0.5": 2, "temp=1": 2, "top_k=5": 2}
    assert drawn == task.choose_rows(rows, {"sets_per_value": 2, "seed": 1})
    orders = [[rows.index(row) for row in task.choose_rows(rows, {"sets_per_value": 1, "seed": s})] for s in range(9)]
    assert len(set(map(tuple, orders))) > 1
    assert len(task.choose_rows(rows, {"sets_per_value": 99, "seed": 1})) == len(rows)
    assert task.choose_rows(rows, {"sets_per_value": None, "seed": 1}) == rows


def pairs_made(**options: int | None) -> list[tuple[str, str]]:
    rows, _ = get_type("rnk_hds").from_samples(make_samples(), {"set_size": None, "pairs": None, "seed": 1, **options})
    assert [row.cells["sample_id"] for row in rows[::2]] == [row.cells["sample_id"] for row in rows[1::2]]
    return [(one.cells["decoder"], two.cells["decoder"]) for one, two in zip(rows[::2], rows[1::2], strict=True)]


def test_comparisons_pair_every_two_decoders_of_a_context() -> None:
    assert pairs_made() == [("temp=0.5", "temp=1"), ("temp=0.5", "top_k=5"), ("temp=1", "top_k=5")]
    assert len(pairs_made(set_size=3)) == 6  # the first sets of both, then the second ones


def test_a_number_of_comparisons_is_drawn_by_a_seed_with_each_decoder_in_equally_many() -> None:
    once = Counter(name for pair in pairs_made(set_size=3, pairs=3) for name in pair)
    assert set(once.values()) == {2}
    assert pairs_made(pairs=1, seed=3) == pairs_made(pairs=1, seed=3)
    assert len({tuple(pairs_made(pairs=1, seed=seed)) for seed in range(20)}) == 3


def test_a_comparison_of_samples_has_the_difference_of_their_parameters() -> None:
    task = get_type("rnk_hds")
    rows, _ = task.from_samples(make_samples(), {"set_size": None, "pairs": None, "seed": 1})
    items, problems = task.read_items([Row(at, row.cells) for at, row in enumerate(rows, 1)], initial_config(task))
    assert problems == []
    assert [task.describe_item(item.payload).parameter for item in items] == [
        ("temperature (set 1 − set 2)", -0.5),
        None,
        None,
    ]


def test_two_sets_of_one_writer_are_two_items_or_one_comparison() -> None:
    outputs = make_outputs("set")[:4]  # the high and the low set of writer 0 about items 1 and 2
    rows = get_type("abs_hds").from_outputs(outputs)
    assert [(row.cells["label_name"], row.cells["label_value"], row.sources) for row in rows] == [
        ("content_diversity", "1", (11,)),
        ("content_diversity", "0", (10,)),
        ("content_diversity", "1", (21,)),
        ("content_diversity", "0", (20,)),
    ]
    pairs = get_type("rnk_hds").from_outputs(outputs)
    assert [(row.cells["label_value"], row.sources) for row in pairs] == [
        ("1", (11,)),
        ("0", (10,)),
        ("1", (21,)),
        ("0", (20,)),
    ]
    assert len({row.cells["sample_id"] for row in pairs}) == 2


def test_a_smaller_set_of_outputs_gets_no_empty_responses() -> None:
    task = get_type("abs_hds")
    outputs = make_outputs("set")[:2]
    outputs[1] = replace(outputs[1], texts=outputs[1].texts[:3])
    rows = [Row(at, row.cells, row.sources) for at, row in enumerate(task.from_outputs(outputs), 1)]
    items, _ = task.read_items(rows, initial_config(task))
    assert [len(item.payload["responses"]) for item in items] == [5, 3]


def test_metrics_of_a_pair_are_those_of_set_1_less_those_of_set_2() -> None:
    task = get_type("rnk_hds")
    cells = {"sample_id": "p1", "context": "Once", "label_name": "temp", "resp_0": "a b", "resp_1": "c d"}
    first = cells | {"label_value": "1", "metric_x": "0.9", "metric_y": "4"}
    second = cells | {"label_value": "0.5", "metric_x": "0.6", "metric_y": ""}
    (item,), problems = task.read_items([Row(1, first), Row(2, second)], initial_config(task))
    assert problems == []
    assert task.describe_item(item.payload).metrics == {"x": 0.3}
