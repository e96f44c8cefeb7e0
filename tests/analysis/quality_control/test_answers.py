"""Rules about answers: each finds planted cases and stays silent just short of its threshold. All figures by hand."""

from __future__ import annotations

import pytest

from analysis.quality_control import answers
from analysis.quality_control.rules import RULE
from analysis.quality_control.work import Answered, Check, Chosen, Finding, Work


def rated(item: str, value: float, *, question: str = "liked", level: str = "ordinal") -> Answered:
    return Answered(item, question, "", value, low=1, high=7, level=level)  # type: ignore[arg-type]


def gold(right: str, *, role: str = "gold", tolerance: float = 0.0) -> Check:
    return Check(role, {"liked": right.split("|")}, tolerance)


def figures(found: list[Finding]) -> list[tuple[str, float, float]]:
    return [(each.reason, each.value, each.threshold) for each in found]


# --- thresholds in words ---


@pytest.mark.parametrize(
    ("rule", "threshold", "words"),
    [
        ("attention_failed", 1, "1 wrong answer"),
        ("attention_failed", 2, "2 wrong answers"),
        ("pasted", 1, "once"),
        ("pasted", 2, "2 times"),
        ("too_short", 1, "1 word"),
        ("same_text", 1000, "1,000 words"),
        ("gold_wrong", 0.7, "0.7 (share right, 0 to 1)"),
        ("too_fast", 1.0, "1 (seconds per question)"),
    ],
)
def test_a_threshold_is_read_aloud_with_its_unit(rule: str, threshold: float, words: str) -> None:
    assert RULE[rule].in_words(threshold) == words


# --- gold and attention ---


def test_too_few_right_gold_answers_are_found_with_their_share() -> None:
    checks = {"a": gold("4"), "b": gold("4"), "c": gold("4")}
    work = Work(answers=[rated("a", 4), rated("b", 5), rated("c", 1), rated("d", 1)], checks=checks)
    [found] = answers.gold_wrong(work, 0.7)
    assert found.value == pytest.approx(1 / 3)
    assert found.threshold == 0.7
    assert found.detail == "1 of 3 gold answers right; at least 70% expected."
    assert list(answers.gold_wrong(work, 1 / 3)) == []


@pytest.mark.parametrize(
    ("check", "value", "right"),
    [
        (gold("4"), 4.0, True),
        (gold("4"), 5.0, False),
        (gold("4|5"), 5.0, True),
        (gold("4", tolerance=1), 5.0, True),
        (gold("4", tolerance=1), 6.0, False),
        (gold("3.5", tolerance=0.5), 3.0, True),
    ],
)
def test_a_number_is_right_within_the_tolerance(check: Check, value: float, right: bool) -> None:
    assert check.is_right("liked", "", value) is right


def test_a_part_of_an_item_has_its_own_right_answer() -> None:
    check = Check("gold", {"similarity/0-1": ["1"], "similarity": ["5"]})
    assert check.is_right("similarity", "0-1", 1.0) is True
    assert check.is_right("similarity", "0-2", 1.0) is False
    assert check.is_right("quality", "", 1.0) is None


def test_a_text_is_right_whatever_its_case_and_spaces() -> None:
    check = Check("attention", {"word": ["Blue owl"]})
    assert check.is_right("word", "", None, " blue  OWL ") is True
    assert check.is_right("word", "", None, "owl") is False


def test_attention_checks_count_wrong_answers() -> None:
    checks = {name: gold("7", role="attention") for name in "ab"}
    work = Work(answers=[rated("a", 1), rated("b", 7)], checks=checks)
    assert figures(list(answers.attention_failed(work, 1))) == [("attention_failed", 1.0, 1)]
    assert list(answers.attention_failed(work, 2)) == []
    assert list(answers.gold_wrong(work, 1.0)) == []


# --- time and pasting ---


def test_six_questions_in_five_seconds_are_too_fast_and_in_seven_they_are_not() -> None:
    [found] = answers.too_fast(Work(questions=6, seconds=5.04), 1.0)
    assert found.value == pytest.approx(0.84)
    assert found.detail == "6 questions in 5.0 seconds."
    assert list(answers.too_fast(Work(questions=6, seconds=7), 1.0)) == []
    assert list(answers.too_fast(Work(questions=1, seconds=1.0), 1.0)) == []


def test_half_of_the_questions_answered_at_once_are_too_fast_even_after_a_long_break() -> None:
    times = [0.2, 0.3, 0.4, 300.0]
    [found] = answers.too_fast(Work(questions=4, seconds=301, times=times), 1.0)
    assert found.value == pytest.approx(0.35)
    assert list(answers.too_fast(Work(questions=4, seconds=301, times=[0.2, 2.0, 3.0]), 1.0)) == []
    # One time of four says nothing about the others.
    assert list(answers.too_fast(Work(questions=4, seconds=301, times=[0.2]), 1.0)) == []


def test_simulated_workers_have_no_time_on_the_servers_clock() -> None:
    assert list(answers.too_fast(Work(questions=6, seconds=None, times=[3.0] * 6), 1.0)) == []


def test_pasting_is_counted() -> None:
    assert figures(list(answers.pasted(Work(pastes=2), 2))) == [("pasted", 2.0, 2)]
    assert list(answers.pasted(Work(pastes=1), 2)) == []
    assert list(answers.pasted(Work(), 1)) == []


# --- one answer throughout ---


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ([4, 4, 4, 4, 4], 1.0),
        ([1, *[4] * 9], 0.9),
        ([1, *[4] * 8, 2], None),
        ([4, 4, 4, 4], None),
        ([1, 2, 1, 2, 1, 2], None),
    ],
)
def test_a_run_of_the_same_answer_counts_from_five_and_by_its_share(values: list[float], share: float | None) -> None:
    found = list(answers.straight_lining(Work(chosen=[Chosen("agree", value) for value in values]), 0.9))
    assert [each.value for each in found] == ([] if share is None else [pytest.approx(share)])


def test_each_scale_has_its_own_runs() -> None:
    chosen = [Chosen(name, 3.0) for _ in range(5) for name in ("agree", "likely")]
    found = list(answers.straight_lining(Work(chosen=chosen), 0.9))
    assert [each.place for each in found] == ["scale agree", "scale likely"]


# --- contradictions ---


@pytest.mark.parametrize(("boring", "off"), [(7, 1.0), (5, 2 / 3), (4, None), (1, None)])
def test_agreeing_with_opposites_is_found(boring: float, off: float | None) -> None:
    work = Work(answers=[rated("a", 7, question="lively"), rated("a", boring, question="boring")])
    found = list(answers.contradictory(work, 0.6, [("lively", "boring")]))
    assert [each.value for each in found] == ([] if off is None else [pytest.approx(off)])


def test_opposites_are_compared_on_the_same_item_only() -> None:
    work = Work(answers=[rated("a", 7, question="lively"), rated("b", 7, question="boring")])
    assert list(answers.contradictory(work, 0.6, [("lively", "boring")])) == []


def test_the_same_question_asked_twice_should_get_a_similar_answer() -> None:
    [found] = answers.changed_answers(rated("a", 7), rated("a", 2), 0.6, other=12)
    assert found.value == pytest.approx(5 / 6)
    assert found.other == 12
    assert found.detail == "liked of “a”: 7 in submission 12, 2 here."
    assert list(answers.changed_answers(rated("a", 7), rated("a", 5), 0.6, other=12)) == []
    [nominal] = answers.changed_answers(rated("a", 1, level="nominal"), rated("a", 2, level="nominal"), 0.6, other=1)
    assert nominal.value == 1.0
