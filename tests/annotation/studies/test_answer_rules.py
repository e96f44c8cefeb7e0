"""Rules on right answers in an items file: every kind that has some, refusals, and the same figures in a bundle."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from analysis.data import read_bundle
from annotation.models import Assignment, Participant, Study
from annotation.results.frames import study_data, write_study_bundle
from annotation.review.quality_findings import check_rows
from annotation.studies.checking import check_settings
from annotation.studies.importing_items import import_items
from annotation.studies.launching import publish, reasons_not_to_publish
from annotation.table_files import TableProblems
from annotation.task_types.kinds import describable_kinds
from annotation.task_types.registry import get_type
from annotation.tokens import participant_token
from annotation.work.answers import submit_step
from annotation.work.left_out import gold_answers
from tests.annotation.quality_helpers import table
from tests.factories import create_study, make_assignment, make_participant

pytestmark = pytest.mark.django_db

OPTIONS = [{"key": "a", "label": "Apples"}, {"key": "b", "label": "Pears"}, {"key": "c", "label": "Plums"}]
OF_TEXT = {"of": "text"}
QUESTIONS: list[dict[str, Any]] = [
    {"kind": "scale", "topic": "fluent", "question": "Fluent?", "points": 5, **OF_TEXT},
    {"kind": "slider", "topic": "overall", "question": "Overall?", **OF_TEXT},
    {"kind": "spans", "topic": "errors", "question": "Mark errors.", "labels": [
        {"key": "accuracy/omission", "label": "Omission"}, {"key": "style", "label": "Style"}], **OF_TEXT},
    {"kind": "number", "topic": "count", "question": "How many?", "min_value": 1, "max_value": 4},
    {"kind": "choices", "topic": "fruit", "question": "Which?", "options": OPTIONS, "most": 2},
    {"kind": "choice", "topic": "ends", "question": "Does it end?", "options": [
        {"value": "1", "label": "Yes"}, {"value": "0", "label": "No"}]},
    {"kind": "date", "topic": "day", "question": "When?", "first": "2026-01-01", "last": "2026-12-31"},
    {"kind": "text", "topic": "words", "question": "Why?"},
    {"kind": "ranking", "topic": "order", "question": "Order?"},
    {"kind": "best_worst", "topic": "best", "question": "Best fruit?", "options": OPTIONS},
    {"kind": "confirm", "topic": "sure", "question": "Sure?", "statements": [
        {"key": "read", "label": "I read it."}, {"key": "liked", "label": "I liked it.", "optional": True}]},
    {"kind": "matrix", "topic": "facets", "question": "How is it?", "rows": [
        {"key": "true", "label": "True", "points": 5}]},
    {"kind": "fields", "topic": "sources", "question": "Where?", "texts": [{"key": "first", "label": "First"}]},
]  # fmt: skip
MAIN = {"sample_id": "m", "good": "The owl slept all day.", "bad": "Owl the day sleep."}
GOLD = {"sample_id": "g", "good": "The cat sat on the mat.", "bad": "Cat the mat sat sat."}


def form_study(gold: Mapping[str, str], **parts: Any) -> Study:
    """A draft with one item and one gold item of two texts, about which every kind of question is asked."""
    form = get_type("form").config_form
    config, problems = check_settings(
        form=form, settings={"texts": ["good", "bad"], "questions": QUESTIONS}, prefix="config."
    )
    assert problems == []
    study = create_study(
        slug="rules",
        task_type="form",
        values={"title": "Rules", "ratings_per_item": 6, "hits_per_worker": None, "feedback_box": False},
        config=config,
        texts={},
        actor="test",
        owner=None,
        **parts,
    )
    import_items(study=study, table=table([MAIN, {**GOLD, **gold}]), actor="test")
    return study


def check_stored(study: Study) -> dict[str, Any]:
    check: dict[str, Any] = study.items.get(role="gold").payload["check"]
    return check


def test_the_study_asks_every_kind() -> None:
    assert {question["kind"] for question in QUESTIONS} == set(describable_kinds())


@pytest.mark.parametrize(
    ("column", "cell", "answers", "rule"),
    [
        ("fluent", "4..5", [], {"rule": "range", "low": 4, "high": 5}),
        ("fluent", "1 | 4..5", ["1"], {"rule": "range", "low": 4, "high": 5}),
        ("fluent/bad", "..2", [], {"rule": "range", "low": None, "high": 2}),
        ("fluent", "good > bad", [], {"rule": "above", "order": ["good", "bad"], "sign": 1}),
        ("overall", "60..", [], {"rule": "range", "low": 60, "high": None}),
        ("overall", "good>bad", [], {"rule": "above", "order": ["good", "bad"], "sign": 1}),
        ("errors", "good > bad", [], {"rule": "above", "order": ["good", "bad"], "sign": -1}),
        ("errors", "1..", [], {"rule": "range", "low": 1, "high": None}),
        ("errors/bad", "[]", [], {"rule": "marks", "marks": []}),
        ("errors/bad", '[{"start": 0, "end": 3, "label": "style"}]', [], {"rule": "marks", "marks": [
            {"start": 0, "end": 3, "severity": "", "label": "style", "missing": False, "overlap": 0.5}]}),
        ("errors/bad", '[{"start": 0, "end": 3, "severity": "major", "label": "accuracy", "overlap": 0.9}]', [], {
            "rule": "marks", "marks": [{"start": 0, "end": 3, "severity": "major", "label": "accuracy",
                                        "missing": False, "overlap": 0.9}]}),
        ("count", "2..3", [], {"rule": "range", "low": 2, "high": 3}),
        ("fruit", "{a, b}", [], {"rule": "chosen", "options": ["a", "b"]}),
        ("sure", "{read}", [], {"rule": "chosen", "options": ["read"]}),
        ("day", "2026-03-01..2026-03-31", [], {"rule": "days", "first": "2026-03-01", "last": "2026-03-31"}),
        ("order", "good > bad", [], {"rule": "above", "order": ["good", "bad"], "sign": -1}),
        ("best", "a > c", [], {"rule": "above", "order": ["a", "c"], "sign": 1}),
        ("facets_true", "4..5", [], {"rule": "range", "low": 4, "high": 5}),
        # plain cells mean what they meant
        ("fluent", "4 | 5", ["4", "5"], None),
        ("count", "2", ["2"], None),
        ("ends", "No", ["0"], None),
        ("words", "A > B", ["A > B"], None),
        ("words", "3..5", ["3..5"], None),
        ("words", "{a, b}", ["{a, b}"], None),
        ("sources_first", "[]", ["[]"], None),
        ("day", "2026-03-01", ["2026-03-01"], None),
        ("errors", "5", ["5"], None),
        ("fruit/a", "1", ["1"], None),
        ("order/good", "1", ["1"], None),
    ],
)  # fmt: skip
def test_each_kind_reads_the_forms_that_it_owns(
    column: str, cell: str, answers: list[str], rule: dict[str, Any] | None
) -> None:
    check = check_stored(form_study({f"gold:{column}": cell}))
    assert check["answers"].get(column, []) == answers
    assert check.get("rules", {}) == ({column: [rule]} if rule else {})


@pytest.mark.parametrize(
    ("column", "cell", "what"),
    [
        # a rule for another kind
        ("ends", "0..1", "“0..1” is no answer to this question."),
        ("ends", "good > bad", "“good > bad” is no answer to this question."),
        ("fluent", "{1, 2}", "“{1, 2}” is no answer to this question."),
        ("fluent", "[]", "“[]” is no answer to this question."),
        ("count", "{1}", "“{1}” is not a number."),
        # malformed
        ("fluent", "..", "“..” is no range."),
        ("fluent", "3..five", "“3..five” is no range."),
        ("fluent", "1..2..3", "“1..2..3” is no range."),
        ("fluent", "good >", "“good >” lacks a name."),
        ("errors/bad", "[{]", "These are no marks: the cell is no JSON list of records."),
        ("errors/bad", "[3]", "These are no marks: the cell is no JSON list of records."),
        ("errors/bad", "major: Cat", "“major: Cat” is no right answer to a question about marks."),
        ("fruit", "{a, b", "“{a, b” cannot be read."),
        ("fruit", "{a,,b}", "“{a,,b}” cannot be read."),
        ("day", "2026-02-30..2026-03-01", "“2026-02-30..2026-03-01” is no range of days."),
        # reversed, or outside the scale
        ("fluent", "5..4", "The range 5..4 is reversed."),
        ("fluent", "4..9", "The range 4..9 is outside the scale."),
        ("overall", "-1..20", "The range -1..20 is outside the scale."),
        ("count", "0..2", "The range 0..2 is outside the scale."),
        ("day", "2026-04-01..2026-03-01", "The range 2026-04-01..2026-03-01 is reversed."),
        # marks
        ("errors/bad", '[{"start": 0, "end": 99}]', "Mark 1: 0 to 99 is outside the text, or empty."),
        ("errors/bad", '[{"start": 4, "end": 4}]', "Mark 1: 4 to 4 is outside the text, or empty."),
        ("errors/bad", '[{"start": 0, "end": 3, "label": "odd"}]', "Mark 1: “odd” is no label of the study."),
        ("errors/bad", '[{"start": 0, "end": 3, "severity": "huge"}]', "Mark 1: “huge” is no severity of the study."),
        ("errors/bad", '[{"start": 0, "end": 3, "overlap": 0}]', "Mark 1: the overlap 0 is no share."),
        ("errors/bad", '[{"start": 0, "end": 3}, {"start": 1, "end": 5}]', "Two marks overlap."),
        ("errors", '[{"start": 0, "end": 3}]', "The item has 2 texts, and marks are in one of them."),
        # one above another
        ("count", "good > bad", "The question “count” rates one thing only, so nothing can be above another."),
        ("fluent", "good > good", "“good” cannot be above itself."),
        ("fluent", "good > best", "“best” is no part that the question rates."),
        ("order", "good > best", "“best” is no part that the question rates."),
        ("fruit", "{a, d}", "“d” is no option."),
        # every answer, or none
        ("fluent", "1..5", "Every answer would be right."),
        ("fluent", "1 | 2..5", "Every answer would be right."),
        ("fluent", "..5", "Every answer would be right."),
        ("count", "1 | 2..4", "Every answer would be right."),
        ("errors", "0..", "Every answer would be right."),
        ("day", "2026-01-01..", "Every answer would be right."),
        ("fluent", "3.2..3.8", "No answer can meet this: there is none in the range."),
        ("count", "2.2..2.8", "No answer can meet this: there is none in the range."),
        ("day", "2027-01-01..2027-02-01", "No answer can meet this: the range is outside the days allowed."),
        ("fruit", "{a, b, c}", "No answer can meet this."),
        ("fruit", "{}", "No answer can meet this."),
        ("sure", "{liked}", "No answer can meet this."),
    ],
)  # fmt: skip
def test_a_rule_that_cannot_be_used_is_refused_with_row_column_and_fix(column: str, cell: str, what: str) -> None:
    with pytest.raises(TableProblems) as caught:
        form_study({f"gold:{column}": cell})
    [problem] = caught.value.problems
    assert (problem.row, problem.column, problem.what) == (2, f"gold:{column}", what)
    assert problem.fix


def test_a_rule_and_a_tolerance_exclude_each_other() -> None:
    with pytest.raises(TableProblems) as caught:
        form_study({"gold:fluent": "4..5", "gold_tolerance": "1"})
    [problem] = caught.value.problems
    assert (problem.row, problem.column) == (2, "gold_tolerance")
    assert "leaves no room for a tolerance" in problem.what


ALL_RULES = {
    "gold:fluent": "good > bad",
    "gold:overall/good": "60..",
    "gold:errors/bad": '[{"start": 0, "end": 3}]',
    "gold:count": "2..3",
    "gold:fruit": "{a, b}",
    "gold:day": "2026-03-01..",
    "gold:order": "good > bad",
    "gold:best": "a > c",
    "gold_explanation": "The second text has no order.",
}
RIGHT = {
    "fluent-good": "4", "fluent-bad": "1", "overall-good": "80", "overall-bad": "10", "errors-good.none": "yes",
    "errors-bad": "0-3 minor style: Cat", "count": "3", "fruit.a": "yes", "fruit.b": "yes", "ends": "1",
    "day": "2026-03-01", "words": "owl", "order.good": "1", "order.bad": "2", "best.best": "a", "best.worst": "b",
    "sure.read": "yes", "facets_true": "3", "sources_first": "here",
}  # fmt: skip
WRONG = {
    "fluent-bad": "4", "overall-good": "59", "errors-bad": "0-8 minor style: Cat the ", "count": "1", "fruit.b": "",
    "day": "2026-02-28", "order.good": "2", "order.bad": "1", "best.best": "b", "best.worst": "a",
}  # fmt: skip


def live_study(**parts: Any) -> Study:
    study = form_study(ALL_RULES, **parts)
    publish(study=study, actor="test")
    study.refresh_from_db()
    return study


def answer(participant: Participant, gold: Mapping[str, str]) -> Assignment:
    """A whole hit. The item that is no gold item gets right answers too."""
    assignment = make_assignment(participant=participant)
    items = [place.item for place in assignment.hit.places.select_related("item")]
    for number, index in enumerate(assignment.order["items"]):
        data = gold if items[index].role == "gold" else RIGHT
        outcome = submit_step(
            assignment_id=assignment.pk, participant_id=participant.pk, number=number, data=data, timing={}
        )
        assert not outcome.errors, outcome.errors
    return assignment


def test_server_and_bundle_count_the_same_right_answers(tmp_path: Path) -> None:
    """Eight rules, each of which counts once: all met by the first worker, none by the second."""
    study = live_study()
    first, second = make_participant(study=study), make_participant(study=study)
    answer(first, RIGHT)
    answer(second, RIGHT | WRONG)
    expected = {first.pseudonym: (8, 8), second.pseudonym: (0, 8)}
    assert gold_answers(study) == expected
    assert study_data(study).gold_answers == expected
    with (tmp_path / "bundle.zip").open("wb") as file:
        write_study_bundle(study, file, {})
    assert read_bundle(tmp_path / "bundle.zip").gold_answers == expected


def test_the_quality_page_has_the_share_of_right_answers_by_item() -> None:
    study = live_study()
    answer(make_participant(study=study), RIGHT)
    answer(make_participant(study=study), RIGHT | WRONG)
    answer(make_participant(study=study), RIGHT | {"count": "1", "fruit.b": ""})
    [row] = check_rows(study)
    # 8 of 8, 0 of 8 and 6 of 8
    assert (row.item, row.role, row.right, row.answers, row.share) == ("g", "gold", 14, 24, "58%")


def test_a_submission_that_breaks_the_rules_is_flagged() -> None:
    study = live_study()
    broken = answer(make_participant(study=study), RIGHT | WRONG)
    kept = answer(make_participant(study=study), RIGHT)
    reasons = [set(one.submission.flags.values_list("reason", flat=True)) for one in (broken, kept)]
    assert ["gold_wrong" in found for found in reasons] == [True, False]


def test_a_careful_simulated_worker_can_pass_every_rule() -> None:
    study = form_study(ALL_RULES, exclusion={"gold_share_below": 1.0})
    assert reasons_not_to_publish(study) == []


def test_rules_that_contradict_each_other_are_refused_before_the_launch() -> None:
    """The good text must have the lowest point and be above the other."""
    contradiction = {"gold:fluent": "good > bad", "gold:fluent/good": "..1"}
    [problem] = reasons_not_to_publish(form_study(contradiction, exclusion={"gold_share_below": 1.0}))
    assert "At most 1 of 2 gold answers can be right." in problem.what


def test_feedback_puts_the_rules_into_words(client: Client) -> None:
    study = live_study(quality_control={"gold_feedback": True})
    participant = make_participant(study=study)
    assignment = make_assignment(participant=participant)
    roles = [place.item.role for place in assignment.hit.places.select_related("item")]
    order = sorted(range(len(roles)), key=lambda at: roles[at] != "gold")
    Assignment.objects.filter(pk=assignment.pk).update(order=assignment.order | {"items": order})
    submit_step(assignment_id=assignment.pk, participant_id=participant.pk, number=0, data=RIGHT | WRONG, timing={})
    page = client.get(reverse("work", args=[participant_token(participant.pk)])).content.decode()
    for words in ("better than the others", "less good than the others", "at least 60", "from 2 to 3",
                  "Apples; Pears", "2026-03-01 or later", "“Cat””.", "Apples &gt; Plums", "has no order"):  # fmt: skip
        assert words in page, words
