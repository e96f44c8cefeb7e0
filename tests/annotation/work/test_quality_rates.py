"""Careful simulated workers of every type raise almost no flags; careless ones raise many. docs/quality-control.md has
the rates."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from analysis.quality_control.crowd import Crowd, far_from_others
from analysis.quality_control.rules import Settings, find_in, find_in_words
from analysis.quality_control.work import Work
from annotation.task_types.base import Shown, TaskType
from annotation.task_types.items import Row
from annotation.task_types.registry import all_types
from annotation.task_types.simulation import Profile, SimulatedWorker
from annotation.work.bots import timing
from annotation.work.quick_rules import Sent
from tests.annotation.task_types import walking

WORKERS = 40
SETTINGS = Settings.of({})
#: At most this share of careful workers may get a flag of any one rule, in any type.
MOST = 0.025
TYPES = sorted(all_types())


def one_work(task: TaskType, name: str, profile: Profile, seed: int) -> Work:
    """The answers of one simulated worker to the type's first example."""
    example = next(each for each in task.examples() if each.posts)
    shown = walking.shown_of(task, example, seed=seed)
    worker = SimulatedWorker.named(name, profile)
    pages, answers = walking.walk(task, shown, name, profile)
    timings = [timing(page, worker) for page in pages]
    ratings = task.ratings(shown, pages, answers)
    return Sent(task, shown, pages, answers, timings, ratings, seconds=None).as_work()


@cache
def rates(name: str, profile: Profile) -> dict[str, float]:
    """The share of workers with a flag of each rule."""
    task, crowd = all_types()[name], Crowd()
    flagged: Counter[str] = Counter()
    for number in range(WORKERS):
        worker = f"rates-{number}"
        work = one_work(task, worker, profile, number)
        found = [*find_in(work, SETTINGS), *find_in_words(work, SETTINGS)]
        flagged.update({each.reason for each in found})
        crowd.add(worker, work.answers)
    flagged.update({found.reason: 1 for found in far_from_others(crowd.distances(), 3.5).values()})
    return {reason: count / WORKERS for reason, count in flagged.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
def test_careful_workers_are_almost_never_flagged(name: str) -> None:
    found = rates(name, "careful")
    assert all(share <= MOST for share in found.values()), found


@pytest.mark.slow
def test_careless_workers_are_flagged_in_types_with_texts() -> None:
    assert rates("production", "careless")["too_short"] > 0.5


def test_random_raters_are_far_from_careful_ones_and_careful_ones_are_not() -> None:
    task, crowd = all_types()["likert"], Crowd()
    config = walking.initial_config(task)
    rows = [Row(number, {"sample_id": f"s{number}", "text": f"Text {number}."}) for number in range(1, 13)]
    items, _ = task.read_items(rows, config)
    order = {"items": list(range(12)), "statements": list(range(5))}
    shown = Shown(items, config, walking.texts_of(task, config), order)
    people: list[tuple[str, Profile]] = [(f"careful-{number}", "careful") for number in range(30)]
    people += [(f"careless-{number}", "careless") for number in range(5)]
    for name, profile in people:
        pages, answers = walking.walk(task, shown, name, profile)
        sent = Sent(task, shown, pages, answers, [], task.ratings(shown, pages, answers), seconds=None)
        crowd.add(name, sent.as_work().answers)
    found = set(far_from_others(crowd.distances(), 3.5))
    assert found == {f"careless-{number}" for number in range(5)}
