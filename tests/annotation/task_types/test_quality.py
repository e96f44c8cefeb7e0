"""Quality of continuations beyond the examples: the plan, what is hidden, the exam, samples."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations
from typing import Any

import pytest

from annotation.task_types.base import ArmPlan, Design, Shown
from annotation.task_types.items import ExamItem, ItemData, Json, Row
from annotation.task_types.quality.exam_rule import ExamRule, judge
from annotation.task_types.quality.quality import Quality
from annotation.task_types.quality.quality_texts import EXAMPLES, QUALITY
from common.problems import Invalid
from tests.annotation.task_types.walking import drawn, initial_config, texts_of, walk

TASK = Quality()


def config_of(**settings: Any) -> Json:
    form = Quality.config_form(initial_config(TASK) | settings)
    assert form.is_valid(), form.errors
    return dict(form.cleaned_data)


def items(systems: int, contexts: int = 1, each: int = 1, **cells: str) -> list[ItemData]:
    rows = [
        {
            "sample_id": f"c{c}-s{s}-{n}",
            "context": f"It rained {c}",
            "text": f"all day {s} {n}",
            "system": f"hidden-{s}",
        }
        for c in range(contexts)
        for s in range(systems)
        for n in range(each)
    ]
    found, problems = TASK.read_items([Row(at, row | cells) for at, row in enumerate(rows, 1)], config_of())
    assert problems == []
    return found


def design(*arms: str, size: int = 5, ratings: int = 1, **settings: Any) -> Design:
    return Design([ArmPlan(name, config_of(**settings)) for name in arms or ("",)], size, ratings)


# --- the plan ---


def test_hits_have_one_context_and_different_systems_that_meet_equally_often() -> None:
    found = items(6, 5, 2)
    hits = TASK.plan(found, design(size=3, ratings=2), random.Random(1))
    payloads = {item.external_id: item.payload for item in found}
    meetings: Counter[tuple[str, str]] = Counter()
    for hit in hits:
        assert len({payloads[name]["context"] for name in hit.items}) == 1
        systems = sorted(payloads[name]["system"] for name in hit.items)
        assert len(set(systems)) == 3
        meetings.update(combinations(systems, 2))
    assert len(hits) == 40 and {hit.wanted for hit in hits} == {1}  # 60 texts · 2 ratings / 3
    assert set(meetings.values()) == {8}  # 40 · 3 / 15
    assert set(Counter(name for hit in hits for name in hit.items).values()) == {2}


def test_both_arms_of_an_a_a_study_have_the_same_tasks() -> None:
    hits = TASK.plan(items(6, 5), design("day", "night", size=3), random.Random(1))
    day, night = ([hit.items for hit in hits if hit.arm == arm] for arm in ("day", "night"))
    assert day == night and len(day) == 10


def test_the_number_of_tasks_and_of_raters_can_be_set() -> None:
    hits = TASK.plan(items(6, 5), design(size=3, tasks=15), random.Random(1))
    assert len(hits) == 15
    hits = TASK.plan(items(6, 5), design(size=3, ratings=10, raters_per_task=5), random.Random(1))
    assert len(hits) == 20 and {hit.wanted for hit in hits} == {5}  # 30 · 10 / (3 · 5)


def test_plans_that_cannot_work_are_refused_with_a_fix() -> None:
    cases = [
        (items(4, 2), design(), r"^items_per_hit: .* only 4\. Set “Items per hit” \(items_per_hit\) to 4 or fewer"),
        (items(4, 2), design(size=1), r"^items_per_hit: A hit with one text compares nothing.* from 2 to 4; .* 5\."),
        (items(6, 5), design(size=3, tasks=2), r"^config\.tasks: 2 tasks of 3 leave 24 texts of 30 .*\(tasks\).* 10 "),
        (items(6, 2), design(size=5, ratings=1), r"^ratings_per_item: .*\(ratings_per_item\) to 2 or more"),
    ]
    for texts, planned, message in cases:
        with pytest.raises(Invalid, match=message):
            TASK.plan(texts, planned, random.Random(1))
    alone = [*items(4, 1), *items(1, 2)[1:]]  # the second context has a text by one system
    with pytest.raises(Invalid, match=r"^items: The context “It rained 1” has texts by one system alone"):
        TASK.plan(alone, design(size=2), random.Random(1))


def test_texts_of_one_system_are_divided_within_contexts() -> None:
    found = items(1, 2, 7)
    hits = TASK.plan(found, design(ratings=3), random.Random(1))
    assert sorted(len(hit.items) for hit in hits) == [2, 2, 5, 5]
    assert all(len({name.split("-")[0] for name in hit.items}) == 1 for hit in hits)
    assert {hit.wanted for hit in hits} == {3}


# --- the page ---


def test_the_page_shows_labels_examples_and_the_context_before_each_text_but_no_system() -> None:
    found, config = items(5, log_prob="-31.75"), config_of()
    order = TASK.arrange(found, config, slot=0, rng=random.Random(3))
    (page,) = TASK.pages(Shown(found, config, texts_of(TASK, config), order))
    html = drawn(page)
    assert html.count("It rained 0") == 5
    assert "hidden-" not in html and "-31.75" not in html
    for point in QUALITY.points:
        assert html.count(point.description) == 1 and EXAMPLES[point.key][:30] in html
    assert "in the middle of a sentence or a word" in html


def test_orders_differ_between_workers() -> None:
    found = items(5)
    orders = {tuple(TASK.arrange(found, {}, slot=0, rng=random.Random(seed))["items"]) for seed in range(20)}
    assert len(orders) > 10


# --- the exam ---


@pytest.mark.parametrize(
    ("labels", "passed"),
    [
        ([5, 4, 3, 2, 1], True),
        ([5, 4, 3, 2, 2], True),  # one wrong, by one level
        ([5, 4, 3, 2, 3], False),  # by two
        ([4, 4, 3, 2, 2], False),  # two wrong
    ],
)
def test_at_most_one_label_may_be_wrong_and_that_by_one_level(labels: list[float], passed: bool) -> None:
    """Zhang et al. 2020, appendix A."""
    known = dict(zip("abcde", [5.0, 4.0, 3.0, 2.0, 1.0], strict=True))
    found = judge(ExamRule(), dict(zip("abcde", map(float, labels), strict=True)), known)
    assert found is not None and found.passed is passed


def test_the_rule_follows_the_settings_and_a_missing_label_fails() -> None:
    assert TASK.exam_rule(config_of(exam_most_wrong=2, exam_most_levels=3)) == ExamRule(2, 3.0)
    result = judge(ExamRule(), {"a": 5.0}, {"a": 5.0, "b": 1.0})
    assert result is not None and (result.right, result.passed) == (1, False)
    assert judge(ExamRule(), {"a": 5.0}, {}) is None


def test_an_exam_is_one_hit_whose_result_comes_from_the_answers() -> None:
    found = [*items(2, role="exam", known_label="5"), *items(1, 2, role="exam", known_label="2")[1:]]
    (hit,) = TASK.plan(found, design(ratings=40), random.Random(1))
    assert set(hit.items) == {item.external_id for item in found} and hit.wanted == 40


def exam_percent(*labels: float | None) -> float | None:
    """The result of labels for texts whose known labels are 5, 5 and 2."""
    known = [*items(2, role="exam", known_label="5"), *items(1, 2, role="exam", known_label="2")[1:]]
    given: list[dict[str, list[str]]] = [{} if label is None else {"quality": [f"{label:g}"]} for label in labels]
    answered = [ExamItem(item, each) for item, each in zip(known, given, strict=True)]
    return TASK.exam_percent(answered, config_of())


def test_whoever_passes_the_exam_by_its_rule_has_100_percent_and_others_have_the_share_of_right_labels() -> None:
    assert exam_percent(5, 5, 2) == 100
    assert exam_percent(5, 5, 3) == 100  # one wrong, by one level
    assert exam_percent(5, 5, 4) == pytest.approx(200 / 3)  # by two
    assert exam_percent(5, 4, 3) == pytest.approx(100 / 3)
    assert exam_percent(5, 5, None) == pytest.approx(200 / 3)
    assert TASK.exam_percent([], config_of()) is None


# --- simulated workers ---


def test_simulated_workers_agree_about_systems() -> None:
    """The means of two careful workers over ten texts of each system rank six systems nearly alike."""
    found, config = items(6, 10), config_of()
    means = []
    for name in ("w1", "w2"):
        sums: Counter[str] = Counter()
        for context in range(10):
            bundle = found[context * 6 : context * 6 + 6]
            shown = Shown(bundle, config, texts_of(TASK, config), {"items": list(range(6))})
            pages, answers = walk(TASK, shown, name)
            for row in TASK.ratings(shown, pages, answers):
                assert row.item is not None and row.value is not None
                sums[bundle[row.item].payload["system"]] += int(row.value)
        means.append(sums)
    ranks = [sorted(means[0], key=means[at].__getitem__) for at in (0, 1)]
    assert ranks[0].index(ranks[1][0]) <= 1 and abs(ranks[0].index(ranks[1][-1]) - 5) <= 1
