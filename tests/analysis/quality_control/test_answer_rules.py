"""Rules on right answers: what meets each, worked out by hand."""

from __future__ import annotations

import pytest

from analysis.quality_control.answer_rules import Above, Days, ExactOptions, Marks, Range, Rated, WantedMark, rule_of
from analysis.quality_control.work import Check, gold_tally, is_check
from analysis.spans import Span, spans_text


@pytest.mark.parametrize(
    ("rule", "value", "right"),
    [
        (Range(3, 5), 3.0, True),
        (Range(3, 5), 5.0, True),
        (Range(3, 5), 2.0, False),
        (Range(3, 5), 5.5, False),
        (Range(low=60), 100.0, True),
        (Range(low=60), 59.0, False),
        (Range(high=-1), -2.0, True),
        (Range(0.1, 0.3), 0.1 + 0.2, True),  # 0.30000000000000004
    ],
)
def test_a_range_includes_its_ends(rule: Range, value: float, right: bool) -> None:
    assert Check("gold", {}, rules={"liked": [rule]}).is_right("liked", "", value) is right


@pytest.mark.parametrize(("day", "right"), [("2026-01-01", True), ("2026-03-31", True), ("2026-04-01", False)])
def test_a_range_of_days(day: str, right: bool) -> None:
    check = Check("gold", {}, rules={"when": [Days("2026-01-01", "2026-03-31")]})
    assert check.is_right("when", "", None, day) is right


def test_plain_answers_and_rules_are_alternatives() -> None:
    check = Check("gold", {"liked": ["1"]}, rules={"liked": [Range(4, 5)]})
    assert [check.is_right("liked", "", value) for value in (1.0, 2.0, 4.0, 5.0)] == [True, False, True, True]


# The wanted mark has the characters 10 to 19. Common of all characters: 10 to 15 has 5 of 10, 10 to 14 has 4 of 10,
# 5 to 25 has 10 of 20, 0 to 40 has 10 of 40.
@pytest.mark.parametrize(
    ("start", "end", "right"),
    [(10, 20, True), (10, 15, True), (10, 14, False), (5, 25, True), (0, 40, False), (20, 30, False)],
)
def test_a_mark_must_share_half_of_all_characters(start: int, end: int, right: bool) -> None:
    rule = Marks((WantedMark(10, 20, overlap=0.5),))
    assert rule.holds(1.0, spans_text([Span(start, end, "minor")])) is right


@pytest.mark.parametrize(
    ("severity", "label", "right"),
    [
        ("major", "accuracy", True),
        ("major", "accuracy/omission", True),
        ("minor", "accuracy", False),
        ("major", "accuracylike", False),
        ("major", "style", False),
    ],
)
def test_a_mark_must_have_the_severity_and_a_label_at_or_below_the_one_named(
    severity: str, label: str, right: bool
) -> None:
    rule = Marks((WantedMark(0, 4, "major", "accuracy"),))
    assert rule.holds(5.0, spans_text([Span(0, 4, severity, label)])) is right


def test_each_wanted_mark_needs_a_mark_of_its_own() -> None:
    # The first wanted mark accepts both marks, the second only 0 to 6: greedy in this order would give 0 to 6 away.
    rule = Marks((WantedMark(0, 8, overlap=0.5), WantedMark(0, 6, overlap=0.9)))
    both = [Span(0, 6, "minor"), Span(2, 8, "minor")]
    assert rule.holds(2.0, spans_text(both)) is True
    assert rule.holds(1.0, spans_text(both[:1])) is False


def test_nothing_marked_and_something_missing() -> None:
    assert [Marks().holds(0, spans_text(marks)) for marks in ([], [Span(0, 1, "minor")])] == [True, False]
    lacking = Marks((WantedMark(9, 9, missing=True),))
    assert lacking.holds(1, spans_text([Span(9, 9, "minor", missing=True)])) is True
    assert lacking.holds(1, spans_text([Span(8, 9, "minor")])) is False
    assert lacking.holds(1, "no marks") is False


def rated(**values: float) -> list[Rated]:
    return [Rated("quality", part, value) for part, value in values.items()]


@pytest.mark.parametrize(
    ("values", "verdicts"),
    [
        ({"good": 4.0, "bad": 2.0}, [True]),
        ({"good": 3.0, "bad": 3.0}, [False]),
        ({"good": 1.0, "bad": 2.0, "other": 0.0}, [False]),
        ({"good": 4.0}, []),
    ],
)
def test_one_text_above_another_counts_once(values: dict[str, float], verdicts: list[bool]) -> None:
    check = Check("gold", {}, rules={"quality": [Above(("good", "bad"))]})
    assert check.verdicts(rated(**values)) == verdicts


def test_a_better_rank_is_a_lower_number() -> None:
    check = Check("gold", {}, rules={"quality": [Above(("a", "b", "c"), sign=-1)]})
    assert check.verdicts(rated(a=1, b=2, c=3)) == [True]
    assert check.verdicts(rated(a=1, c=2, b=3)) == [False]


def test_a_rule_on_a_part_reads_only_what_is_below_it() -> None:
    check = Check("gold", {}, rules={"quality/1": [Above(("a", "b"))]})
    rows = [
        Rated("quality", "1/a", 5),
        Rated("quality", "1/b", 4),
        Rated("quality", "10/a", 1),
        Rated("other", "1/a", 1),
    ]
    assert check.verdicts(rows) == [True]


def test_exactly_the_options_named() -> None:
    check = Check("gold", {}, rules={"quality": [ExactOptions(("a", "b")), ExactOptions(("c",))]})
    assert check.verdicts(rated(a=1, b=1, c=0)) == [True]
    assert check.verdicts(rated(a=0, b=0, c=1)) == [True]
    assert check.verdicts(rated(a=1, b=1, c=1)) == [False]


def test_answers_are_counted_by_worker_and_submission() -> None:
    checks = {"g": Check("gold", {"liked": ["1"]}, rules={"quality": [Above(("a", "b"))]})}
    rows = [
        (1, "ann", "g", Rated("quality", "a", 2)),
        (2, "bob", "g", Rated("quality", "a", 1)),
        (1, "ann", "g", Rated("quality", "b", 1)),
        (2, "bob", "g", Rated("quality", "b", 2)),
        (1, "ann", "g", Rated("liked", "", 3)),
    ]
    assert gold_tally(rows, checks) == {"ann": (1, 2), "bob": (0, 1)}


@pytest.mark.parametrize(
    "rule",
    [Range(1, None), Days("", "2026-01-01"), Marks((WantedMark(1, 2, "major"),)), Above(("a", "b"), -1),
     ExactOptions(("a",))],
)  # fmt: skip
def test_a_check_with_rules_is_stored_and_read_back(rule: Range) -> None:
    check = Check("gold", {}, rules={"liked": [rule]})
    assert is_check(check.stored())
    assert Check.of(check.stored()) == check
    assert rule_of(rule.stored()) == rule


@pytest.mark.parametrize(
    "rules", [[], {"liked": 3}, {"liked": [{"rule": "odd"}]}, {"liked": [{"rule": "range"}]}, {"liked": ["range"]}]
)
def test_a_bundle_with_other_rules_is_refused(rules: object) -> None:
    assert not is_check({"role": "gold", "answers": {}, "tolerance": 0.0, "explanation": "", "rules": rules})
