"""Marks that an item brings: what is shown, what becomes of them, and what an upload refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analysis.spans import Span, spans_in
from annotation.studies.checking import check_settings
from annotation.task_types.described_questions import DescribedQuestionsField, build
from annotation.task_types.form.form_items import columns_of, read_form_items
from annotation.task_types.items import Json, Row
from annotation.task_types.kinds.spans import SpansQuestion
from annotation.task_types.kinds.spans.given import traced
from annotation.task_types.registry import get_type

TEXT = "The owl waited until the rain had stopped."
GIVEN = [{"start": 4, "end": 7, "severity": "major"}, {"start": 8, "end": 14, "severity": "minor"}]
OWL, WAITED = Span(4, 7, "major"), Span(8, 14, "minor")
RECORD = {"kind": "spans", "topic": "errors", "question": "?", "given": "marks"}


def asked(given: object = GIVEN, **settings: Any) -> SpansQuestion:
    question = build(DescribedQuestionsField().clean([{**RECORD, **settings}])[0]).of_item({"text": TEXT})
    assert isinstance(question, SpansQuestion)
    shown = question.with_given(json.dumps(given))
    assert isinstance(shown, SpansQuestion)
    return shown


def answer(raw: str, **settings: Any) -> list[Span]:
    stored = asked(**settings).clean({"errors": raw, "errors.none": "" if raw else "yes"})
    assert isinstance(stored, str)
    return spans_in(stored)


def test_the_page_shows_given_marks_until_something_else_is_saved() -> None:
    question = asked()
    assert question.drawn({})["lines"] == "4-7 major: owl\n8-14 minor: waited"
    assert question.drawn({"errors": "8-14 minor: waited"})["lines"] == "8-14 minor: waited"
    assert question.drawn({"errors": "", "errors.none": "yes"})["lines"] == ""


def test_given_marks_are_confirmed_changed_removed_and_added_to() -> None:
    assert answer("4-7 major: owl\n8-14 minor: waited") == [
        Span(4, 7, "major", given=1),
        Span(8, 14, "minor", given=2),
    ]
    assert answer("4-7 minor: owl") == [Span(4, 7, "minor", given=1, changed=True)]
    assert answer("0-7 major: The owl\n25-29 minor: rain") == [
        Span(0, 7, "major", given=1, changed=True),
        Span(25, 29, "minor"),
    ]
    assert answer("") == []
    assert [span.origin for span in answer("0-7 major: The owl\n8-14 minor: waited\n25-29 minor: rain")] == [
        "changed",
        "given",
        "own",
    ]


def test_the_same_mark_is_preferred_to_one_that_overlaps() -> None:
    """The second mark is the given one; the first, which shares characters with it, is the worker's own."""
    assert traced([Span(4, 9, "minor"), WAITED], [WAITED]) == [
        Span(4, 9, "minor"),
        Span(8, 14, "minor", given=1),
    ]


def test_an_answer_goes_through_its_form_and_agrees_with_the_same_marks() -> None:
    question = asked()
    stored = question.clean({"errors": "0-7 major: The owl"})
    assert question.clean(question.typed(stored)) == stored
    assert question.agrees(stored, '[{"start":0,"end":7,"severity":"major"}]')
    assert not question.agrees(stored, '[{"start":0,"end":7,"severity":"minor"}]')


# --- the file ---


def config(**question: Any) -> Json:
    form = get_type("form").config_form
    settings = {"texts": ["text"], "questions": [{**RECORD, "of": "text", **question}]}
    cleaned, problems = check_settings(form=form, settings=settings, prefix="config.")
    assert not problems
    return cleaned


def refused(cell: object, text: str = TEXT, **question: Any) -> tuple[int, str, str, str]:
    raw = cell if isinstance(cell, str) else json.dumps(cell)
    rows = [Row(1, {"sample_id": "a", "text": TEXT}), Row(2, {"sample_id": "b", "text": text, "marks": raw})]
    _, problems = read_form_items(rows, config(**question))
    assert len(problems) == 1
    return problems[0].row, problems[0].column, problems[0].what, problems[0].fix


def test_an_item_has_its_marks() -> None:
    rows = [Row(1, {"sample_id": "a", "text": TEXT, "marks": json.dumps(GIVEN)})]
    items, problems = read_form_items(rows, config())
    assert problems == []
    assert len(items) == 1
    assert "marks" in [column.name for column in columns_of(config())]


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        ("4-7", "These are no marks: the cell is not JSON."),
        ("{}", "These are no marks: the cell is not a list."),
        ([4], "Mark 1 is not a record."),
        ([{"start": 4, "end": 7, "severity": "bad"}], "Mark 1: “bad” is no severity of the study."),
        ([{"start": 4, "end": 7}], "Mark 1: the severity is missing."),
        ([GIVEN[0], {**GIVEN[1], "label": "style"}], "Mark 2: “style” is no label of the study."),
        ([{**GIVEN[0], "sev": 1}], "Mark 1: “sev” is unknown."),
        ([{"start": 40, "end": 43, "severity": "minor"}], "Mark 1: 40 to 43 is outside the text, or empty."),
        ([{"start": 7, "end": 7, "severity": "minor"}], "Mark 1: 7 to 7 is outside the text, or empty."),
        ([{"start": -1, "end": 7, "severity": "minor"}], "Mark 1: -1 to 7 is outside the text, or empty."),
        ([{"start": "4", "end": 7, "severity": "minor"}], "Mark 1: start and end must be whole numbers."),
        ([{"start": True, "end": 7, "severity": "minor"}], "Mark 1: start and end must be whole numbers."),
        ([GIVEN[0], {"start": 5, "end": 9, "severity": "minor"}], "Two marks overlap."),
    ],
)
def test_wrong_marks_are_refused_with_row_and_column(cell: object, what: str) -> None:
    row, column, message, fix = refused(cell)
    assert (row, column, message) == (2, "marks", what)
    assert fix


def test_marks_inside_a_character_are_refused() -> None:
    """A family emoji is seven code points, and an e with a combining accent two."""
    what = refused([{"start": 0, "end": 2, "severity": "minor"}], "👨‍👩‍👧‍👦 owl")[2]
    assert what == "Mark 1: 0 to 2 begins or ends inside a character, such as an emoji or an accent."
    assert "inside a character" in refused([{"start": 0, "end": 4, "severity": "minor"}], "cafe\u0301")[2]


def test_other_limits_of_the_study_hold_for_given_marks() -> None:
    missing = [{"missing": True, "severity": "minor"}]
    assert refused(missing, missing=False)[2] == "Mark 1: the study has no marks of something missing."
    assert refused(GIVEN, most=1)[2] == "There are 2 marks; at most 1 are allowed."
    assert refused([GIVEN[0], GIVEN[0]], overlap=True)[2] == "“owl” is marked twice in the same way."
    labels = [{"key": "style", "label": "Style"}]
    assert refused([GIVEN[0]], labels=labels)[2] == "Mark 1: the label is missing."


def test_each_of_several_texts_has_its_own_column() -> None:
    form = get_type("form").config_form
    settings = {"texts": ["a", "b"], "questions": [{**RECORD, "of": "text"}]}
    cleaned, _ = check_settings(form=form, settings=settings, prefix="config.")
    wrong = json.dumps([{"start": 0, "end": 99, "severity": "minor"}])
    row = Row(1, {"sample_id": "i", "a": TEXT, "b": TEXT, "a_marks": json.dumps(GIVEN), "b_marks": wrong})
    _, problems = read_form_items([row], cleaned)
    assert [problem.column for problem in problems] == ["b_marks"]


def test_a_column_that_is_used_already_is_refused() -> None:
    form = get_type("form").config_form
    settings = {"texts": ["text"], "questions": [{**RECORD, "of": "text", "given": "text"}]}
    problems = check_settings(form=form, settings=settings, prefix="config.")[1]
    assert any("the column “text” is used for something else" in str(problem) for problem in problems)
