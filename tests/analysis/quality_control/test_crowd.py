"""Workers whose ratings are far from the others'. Distances and z-scores by hand."""

from __future__ import annotations

import random

import pytest

from analysis.quality_control.crowd import Crowd, Distance, far_from_others
from analysis.quality_control.work import Answered


def rated(item: str, value: float, level: str = "ordinal") -> Answered:
    return Answered(item, "liked", "", value, low=1, high=5, level=level)  # type: ignore[arg-type]


def crowd_of(values: dict[str, list[float]], level: str = "ordinal") -> Crowd:
    crowd = Crowd()
    for worker, given in values.items():
        crowd.add(worker, [rated(f"i{at}", value, level) for at, value in enumerate(given)])
    return crowd


def test_the_distance_is_the_mean_over_items_as_a_share_of_the_scale() -> None:
    # a: |1 − (5+5)/2| / 4 = 1 on each item; b and c: |5 − (1+5)/2| / 4 = 0.5.
    found = crowd_of({"a": [1.0] * 10, "b": [5.0] * 10, "c": [5.0] * 10}).distances()
    assert {worker: each.n for worker, each in found.items()} == {"a": 10, "b": 10, "c": 10}
    assert [found[worker].value for worker in "abc"] == pytest.approx([1.0, 0.5, 0.5])


def test_nominal_answers_are_compared_by_whether_they_are_the_same() -> None:
    found = crowd_of({"a": [1.0] * 10, "b": [2.0] * 10, "c": [2.0] * 10}, "nominal").distances()
    assert [found[worker].value for worker in "abc"] == [1.0, 0.5, 0.5]


def test_few_answers_and_few_others_are_not_compared() -> None:
    assert crowd_of({worker: [3.0] * 9 for worker in "abc"}).distances() == {}
    assert crowd_of({worker: [3.0] * 10 for worker in "ab"}).distances() == {}


def test_the_modified_z_score_of_iglewicz_and_hoaglin() -> None:
    # Median 0.10; deviations 0.02, 0.01, 0, 0.01, 0.50: MAD 0.01; z of the last 0.6745 · 0.50 / 0.01 = 33.725.
    values = {"a": 0.08, "b": 0.09, "c": 0.10, "d": 0.11, "e": 0.60}
    found = far_from_others({worker: Distance(value, 20) for worker, value in values.items()}, 3.5)
    assert list(found) == ["e"]
    assert found["e"].value == pytest.approx(33.725)
    assert "60% of the scale" in found["e"].detail


def test_four_workers_are_too_few() -> None:
    values = {"a": 0.1, "b": 0.1, "c": 0.1, "d": 0.9}
    assert far_from_others({worker: Distance(value, 20) for worker, value in values.items()}, 3.5) == {}


def test_a_random_rater_among_careful_ones_is_found_and_nobody_else() -> None:
    rng = random.Random(3)
    truth = [rng.uniform(1, 5) for _ in range(40)]
    values: dict[str, list[float]] = {
        f"w{k}": [min(5, max(1, round(true + rng.gauss(0, 0.5)))) for true in truth] for k in range(20)
    }
    values["random"] = [float(rng.randint(1, 5)) for _ in truth]
    found = far_from_others(crowd_of(values).distances(), 3.5)
    assert list(found) == ["random"]
