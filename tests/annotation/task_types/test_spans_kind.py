"""Marks in a text: what workers' pages send, in every script, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.template.loader import render_to_string

from analysis.spans import Span, spans_in, spans_text
from annotation.task_types.described_questions import DescribedQuestionsField, build
from annotation.task_types.kinds.spans import SpansQuestion
from annotation.task_types.questions import AnswerError

TEXT = "The owl waited until the rain had stopped."
LABELS = [{"key": "accuracy", "label": "Accuracy"}, {"key": "fluency/punctuation", "label": "Punctuation"}]


def asked(text: str = TEXT, **settings: Any) -> SpansQuestion:
    record = {"kind": "spans", "topic": "q", "question": "?", **settings}
    question = build(DescribedQuestionsField().clean([record])[0]).of_item({"text": text})
    assert isinstance(question, SpansQuestion)
    return question


def marked(raw: str, text: str = TEXT, **settings: Any) -> list[Span]:
    answer = asked(text, **settings).clean({"q": raw})
    assert isinstance(answer, str)
    return spans_in(answer)


def refused(raw: str, text: str = TEXT, *, none: str = "", **settings: Any) -> str:
    with pytest.raises(AnswerError) as raised:
        asked(text, **settings).clean({"q": raw, "q.none": none})
    return str(raised.value)


def test_lines_with_places_and_lines_with_words_mean_the_same() -> None:
    assert marked("8-14 minor: waited\n4-7 major: owl") == [Span(4, 7, "major"), Span(8, 14, "minor")]
    assert marked("minor: waited\r\n\r\nmajor: owl ") == [Span(4, 7, "major"), Span(8, 14, "minor")]


def test_places_are_code_points() -> None:
    """An emoji of four code points, and one outside the first 65,536, are before the word."""
    text = "👩‍🚀🦉 The owl"
    assert text.index("owl") == 9
    assert marked("9-12 minor: owl", text) == marked("minor: owl", text) == [Span(9, 12, "minor")]


def test_texts_from_right_to_left_with_marks() -> None:
    text = "\u200fالبومة انتظرت حتى توقف المطر."
    start = text.index("انتظرت")
    assert marked("minor: انتظرت", text) == [Span(start, start + 6, "minor")]


def test_something_missing_stands_at_the_end() -> None:
    assert marked("major: [missing]") == [Span(len(TEXT), len(TEXT), "major", missing=True)]
    assert refused("major: [missing]", missing=False).startswith("“[missing]” is not in the text.")


def test_nothing_to_mark_is_said() -> None:
    question = asked()
    assert question.clean({"q": "", "q.none": "yes"}) == "[]"
    assert question.typed("[]") == {"q.none": "yes"}
    assert refused("") == "Please mark something in the text, or say that there is nothing to mark."
    assert refused("minor: owl", none="yes").startswith("You marked something and said that there is nothing to mark.")
    assert asked(required=False).clean({}) is None


def test_a_text_without_marks_can_mean_that_there_is_nothing_to_mark() -> None:
    """It is an answer, not a gap: what was found in the text is nothing. The page asks for no box."""
    question = asked(blank_is_none=True)
    assert question.clean({"q": ""}) == question.clean({}) == "[]"
    assert question.typed("[]") == {"q": ""}
    assert question.clean(question.typed("[]") | {"q": "minor: owl"}) == spans_text([Span(4, 7, "minor")])
    page = render_to_string("annotation/questions/spans.html", {"question": question, **question.drawn({})})
    assert "<p hidden><label" in page and "data-required" not in page and "(optional)" not in page
    page = render_to_string("annotation/questions/spans.html", {"question": asked(), **asked().drawn({})})
    assert "<p><label" in page and "data-required" in page


def test_a_form_gives_its_answer_again() -> None:
    question = asked(labels=LABELS)
    answer = question.clean({"q": "major accuracy: rain\nminor fluency/punctuation: .\nmajor accuracy: [missing]"})
    assert question.clean(question.typed(answer)) == answer
    assert question.in_words(answer) == (
        "“rain” (Major, Accuracy); “.” (Minor, Punctuation); “[missing]” (Major, Accuracy)"
    )


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("40-50 minor: x", "A mark is outside the text. Please mark the words again."),
        ("7-7 minor: x", "A mark is outside the text. Please mark the words again."),
        ("9-8 minor: x", "A mark is outside the text. Please mark the words again."),
        ("4-7 awful: owl", "“awful” is not one of minor, major."),
        ("minor: eagle", "“eagle” is not in the text. Copy the words from the text."),
        ("minor: t", "“t” is in the text 4 times. Write some of the words around it, too."),
        ("owl", "“owl” cannot be read. Write a line such as “minor: …”, with the words of the text."),
        ("minor accuracy: owl", "“accuracy” is not one of ."),
        ("4-7 major: owl\n4-7 major: owl", "Two marks overlap. Please remove one of them."),
        ("4-14 minor: a\n8-20 major: b", "Two marks overlap. Please remove one of them."),
        ("0-3 minor: The\n4-7 minor: owl\n8-14 minor: waited", "Please mark at most 2 places."),
    ],
)
def test_a_wrong_mark_is_named(raw: str, message: str) -> None:
    assert refused(raw, most=2) == message


def test_a_mark_inside_a_character_is_refused() -> None:
    assert (
        refused("0-1 minor: x", "👩‍🚀 flies")
        == "A mark begins or ends inside a character. Please mark the words again."
    )
    assert refused("0-1 minor: x", "e\u0301t\u00e9") == (
        "A mark begins or ends inside a character. Please mark the words again."
    )


def test_marks_may_overlap_if_the_study_says_so() -> None:
    assert len(marked("4-14 minor: a\n8-20 major: b", overlap=True)) == 2


def test_the_same_mark_counts_once_even_where_marks_may_overlap() -> None:
    assert refused("4-7 major: owl\n4-7 major: owl", overlap=True) == (
        "“owl” is marked twice in the same way. Please remove one of the marks."
    )
    assert len(marked("4-7 major: owl\n4-7 minor: owl", overlap=True)) == 2
    assert len(marked("major: [missing]\nmajor: [missing]")) == 2  # two things can be missing


def test_words_that_overlap_themselves_are_not_guessed() -> None:
    assert refused("minor: ana", "banana") == ("“ana” is in the text 2 times. Write some of the words around it, too.")


@pytest.mark.parametrize("separator", ["\x85", "\u2028", "\x0b", "\x1c"])
def test_only_line_feeds_end_a_line(separator: str) -> None:
    """Texts read in the wrong encoding have U+0085 for an ellipsis; a page's script leaves it in the words."""
    text = f"one{separator}two three"
    assert marked(f"0-7 minor: one{separator}two\n8-13 minor: three", text) == [
        Span(0, 7, "minor"),
        Span(8, 13, "minor"),
    ]


def test_a_label_is_needed_where_there_are_some() -> None:
    assert refused("minor: owl", labels=LABELS) == "“” is not one of accuracy, fluency/punctuation."


def test_the_rating_has_the_weights_and_the_marks() -> None:
    weights = [{"label": "fluency", "severity": "minor", "weight": "0.1"}]
    question = asked(labels=LABELS, weights=weights)
    answer = spans_text([Span(0, 3, "major", "accuracy"), Span(3, 4, "minor", "fluency/punctuation")])
    (row,) = question.stored(answer)
    assert row.value == pytest.approx(5.1)
    assert row.text == answer


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"severities": []}, "severities: At least 1 entry is needed; there are 0."),
        ({"severities": [{"key": "a", "label": "A", "weight": "-1"}]}, "is not a number of at least 0"),
        ({"labels": [{"key": "A B", "label": "x"}]}, "must be lower-case letters"),
        ({"labels": [LABELS[0], LABELS[0]]}, "is in the list twice"),
        ({"weights": [{"label": "x", "severity": "minor", "weight": "1"}]}, "“x” is not one of the labels."),
        ({"most": 0}, "most: Ensure this value is greater than or equal to 1."),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as raised:
        asked(**settings)
    assert message in str(raised.value)
