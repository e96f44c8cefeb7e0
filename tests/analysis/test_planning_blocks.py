"""Balanced tasks: counts that are checked by counting, the published size, samples that do not fit."""

from __future__ import annotations

import time
from collections import Counter
from itertools import combinations

import pytest

from analysis.planning import BlockPlan, PlanError, Sample, plan_blocks, tasks_for
from analysis.planning.designs import exact_design, meetings_in_design


def grid(systems: int, contexts: int = 1, each: int = 1) -> list[Sample]:
    return [
        Sample(f"c{context}-s{system}-{number}", f"c{context}", f"system {system}")
        for context in range(contexts)
        for system in range(systems)
        for number in range(each)
    ]


def check(plan: BlockPlan, samples: list[Sample], size: int) -> None:
    """What every plan promises, counted from its blocks."""
    by_name = {sample.name: sample for sample in samples}
    meetings: Counter[tuple[str, str]] = Counter()
    for block in plan.blocks:
        members = [by_name[name] for name in block.samples]
        assert len(members) == size
        assert {member.context for member in members} == {block.context}
        assert len({member.system for member in members}) == size
        meetings.update(combinations(sorted(member.system for member in members), 2))
    assert Counter(name for block in plan.blocks for name in block.samples) == Counter(
        {name: times for name, times in plan.shown.items() if times}
    )
    for one, two in combinations(plan.meetings.index, 2):
        assert plan.meetings.loc[one, two] == plan.meetings.loc[two, one] == meetings[min(one, two), max(one, two)]


def test_the_seven_points_of_the_fano_plane() -> None:
    """The smallest balanced incomplete block design: 7 systems in 7 blocks of 3, each pair once (Fano 1892)."""
    samples = grid(7)
    plan = plan_blocks(samples, size=3, tasks=7)

    check(plan, samples, 3)
    assert plan.pair_counts == (1, 1)
    assert set(plan.shown.values()) == {3}
    assert plan.notes == (
        "7 tasks of 3: 21 ratings, 3.00 per sample. Each sample is shown 3 times.",
        "Any two systems meet 1 time.",
    )


#: (v, k, b, λ) of designs that exist (Fisher & Yates 1963, tables XVII to XIX; Mathon & Rosa 2007).
DESIGNS = [
    *((4, 2, 6, 1), (4, 3, 4, 2), (5, 2, 10, 1), (5, 3, 10, 3), (5, 4, 5, 3), (6, 3, 10, 2), (6, 3, 20, 4)),
    *((7, 3, 7, 1), (7, 4, 7, 2), (7, 3, 14, 2), (8, 4, 14, 3), (8, 2, 28, 1), (9, 3, 12, 1), (9, 4, 18, 3)),
    *((9, 6, 12, 5), (10, 3, 30, 2), (10, 4, 15, 2), (10, 5, 18, 4), (10, 6, 15, 5), (11, 5, 11, 2), (11, 6, 11, 3)),
    *((12, 6, 22, 5), (12, 3, 44, 2), (13, 3, 26, 1), (13, 4, 13, 1), (13, 9, 13, 6), (15, 3, 35, 1), (15, 7, 15, 3)),
    *((16, 4, 20, 1), (16, 6, 16, 2), (19, 9, 19, 4), (21, 5, 21, 1), (25, 5, 30, 1), (31, 6, 31, 1)),
]


@pytest.mark.parametrize(("systems", "size", "tasks", "meet"), DESIGNS)
def test_known_designs_are_found(systems: int, size: int, tasks: int, meet: int) -> None:
    assert tasks * size * (size - 1) == meet * systems * (systems - 1)
    samples = grid(systems)
    plan = plan_blocks(samples, size=size, tasks=tasks)
    check(plan, samples, size)
    assert plan.pair_counts == (meet, meet)
    assert set(plan.shown.values()) == {tasks * size // systems}


def test_a_design_that_does_not_exist_is_not_claimed() -> None:
    """(15, 21, 7, 5, 2) fits all counts, but there is none (Hall & Connor 1954). Nor is there (22, 22, 7, 7, 2), by
    Bruck, Ryser and Chowla's theorem."""
    assert meetings_in_design(15, 5, 21) == 2 and meetings_in_design(22, 7, 22) == 2
    assert exact_design(15, 5, 21) is None and exact_design(22, 7, 22) is None
    plan = plan_blocks(grid(15), size=5, tasks=21)
    low, high = plan.pair_counts
    assert low < 2 < high
    assert plan.notes[1].startswith(f"Systems meet {low} to {high} times. The search found no plan")


@pytest.mark.slow
def test_a_design_that_exists_but_is_not_found_is_told_like_any_other_imbalance() -> None:
    """(15, 42, 14, 5, 4) is in the tables."""
    samples = grid(15)
    plan = plan_blocks(samples, size=5, tasks=42)
    check(plan, samples, 5)
    low, high = plan.pair_counts
    assert 3 <= low <= high <= 5
    assert plan.balanced or plan.notes[1].startswith(f"Systems meet {low} to {high} times. The search found no plan")


@pytest.mark.parametrize(("systems", "size", "tasks"), [(7, 3, 8), (8, 3, 8), (7, 7, 3), (9, 3, 6), (6, 1, 6)])
def test_counts_that_no_design_has_are_recognised(systems: int, size: int, tasks: int) -> None:
    assert meetings_in_design(systems, size, tasks) is None


def test_a_larger_design_can_be_a_smaller_one_several_times() -> None:
    samples = grid(7)
    plan = plan_blocks(samples, size=3, tasks=70)
    check(plan, samples, 3)
    assert plan.pair_counts == (10, 10)


def test_every_context_has_a_design_of_its_own() -> None:
    samples = grid(9, contexts=4, each=2)
    plan = plan_blocks(samples, size=3, tasks=48)
    check(plan, samples, 3)
    assert plan.pair_counts == (4, 4)
    assert set(plan.shown.values()) == {2}
    blocks = {frozenset(name.split("-")[1] for name in block.samples) for block in plan.blocks}
    assert len(blocks) > 12  # systems are in other places in each context


@pytest.mark.slow
def test_the_published_size_needs_only_seconds() -> None:
    """Zhang et al. 2020: 15 systems, 48 contexts, 10 samples each; 1,930 tasks of five are 9,650 ratings. 19,300
    meetings over 105 pairs are 183.8 each; 9,650 ratings over 15 systems 643.3."""
    samples = grid(15, 48, 10)
    began = time.process_time()
    plan = plan_blocks(samples, tasks=1930)
    assert time.process_time() - began < 30

    check(plan, samples, 5)
    assert len(plan.blocks) == 1930
    assert plan.pair_counts == (183, 184)
    assert set(plan.shown.values()) == {1, 2}
    system_of = {sample.name: sample.system for sample in samples}
    ratings = Counter(system_of[name] for block in plan.blocks for name in block.samples)
    assert set(ratings.values()) == {643, 644}
    tasks = Counter(block.context for block in plan.blocks)
    assert set(tasks.values()) == {40, 41}  # 1930 / 48 = 40.2
    assert "9,650 ratings, 1.34 per sample" in plan.notes[0]


def test_either_target_gives_the_other() -> None:
    samples = grid(6, 4, 2)  # 48 samples
    by_ratings = plan_blocks(samples, size=4, ratings_per_sample=1.5)
    assert len(by_ratings.blocks) == 18  # 48 · 1.5 / 4
    assert "72 ratings, 1.50 per sample" in by_ratings.notes[0]
    assert plan_blocks(samples, size=4, tasks=18).blocks == by_ratings.blocks
    assert tasks_for(48, 4, 1.51) == 19  # 18.12, rounded up


def test_the_seed_decides() -> None:
    samples = grid(6, 4, 2)
    one, same, other = (plan_blocks(samples, size=3, tasks=30, seed=seed).blocks for seed in (5, 5, 6))
    assert one == same != other


def test_counts_that_cannot_be_equal_are_reported() -> None:
    """Systems 0–3 are in context a, 3–6 in b: most never meet."""
    samples = [Sample(f"{c}{s}", c, f"system {s}") for c, own in (("a", range(4)), ("b", range(3, 7))) for s in own]
    plan = plan_blocks(samples, size=3, tasks=8)
    check(plan, samples, 3)
    assert not plan.balanced
    assert "no context in common" in plan.notes[2] and "“system 0 and system 4”" in plan.notes[2]


def test_missing_samples_are_named_and_the_rest_is_planned() -> None:
    samples = [each for each in grid(5, 3, 2) if each.name not in ("c1-s4-1", "c2-s0-0", "c2-s0-1")]
    plan = plan_blocks(samples, size=3, ratings_per_sample=2)
    check(plan, samples, 3)
    assert plan.unrated == []
    told = plan.notes[-1]
    assert told.startswith("Not every context has 2 samples of each system: c1 has 1 of system 4; c2 has 0 of system 0")


def test_too_few_tasks_leave_samples_out_and_say_so() -> None:
    plan = plan_blocks(grid(5, 1, 4), size=5, tasks=2)
    assert len(plan.unrated) == 10
    assert "10 samples in no task" in plan.notes[1] and "About 4 tasks show each once" in plan.notes[1]


@pytest.mark.parametrize(
    ("samples", "options", "message"),
    [
        ([], {"tasks": 1}, "There are no samples"),
        (grid(5) + grid(5), {"tasks": 1}, "Several samples have the name “c0-s0-0”"),
        (
            grid(4, 2),
            {"tasks": 3},
            r"shows 5 different systems, but 2 contexts of 2 have fewer: “c0”, “c1”",
        ),
        (grid(5), {"tasks": 1, "size": 1}, "A task of 1 sample compares nothing"),
        (grid(5), {}, "one of the two"),
        (grid(5), {"tasks": 1, "ratings_per_sample": 2}, "one of the two"),
        (grid(5), {"tasks": 0}, "The target is 0"),
        (grid(5), {"ratings_per_sample": float("nan")}, "The target is nan"),
    ],
)
def test_impossible_plans_are_refused(samples: list[Sample], options: dict[str, int], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        plan_blocks(samples, **options)
