"""Questions and text checks: what counts as an answer, what raises a flag."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.task_types.questions import MAX_CHARS, AnswerError, Question, Scale, TextQuestion, clean_text
from annotation.task_types.text_checks import text_flags

SCALE = Scale.of("agreement", "ordinal", ["Yes", "Perhaps", "No"], half_steps=True)
CHOICE = Question("q", "Is it?", "agreement", SCALE)
WORDS = TextQuestion("t", "Say it.", "said", min_words=2, max_words=4)


def test_scale_runs_from_the_best_down_with_unnamed_half_steps() -> None:
    points = [(point.value, point.key, point.label) for point in SCALE.points]
    assert points == [(3, "3", "Yes"), (2.5, "2.5", ""), (2, "2", "Perhaps"), (1.5, "1.5", ""), (1, "1", "No")]
    assert (SCALE.low, SCALE.high) == (1, 3)


@pytest.mark.parametrize("raw", ["", " ", "\t\n"])
def test_required_choice_without_answer_is_asked_for(raw: str) -> None:
    with pytest.raises(AnswerError, match="choose one"):
        CHOICE.clean(raw)


@pytest.mark.parametrize("raw", ["0", "4", "2.25", "3.0", " 3", "3,0", "Yes", "nan", "٣", "1e0", "3\0", "<b>"])
def test_what_is_no_point_of_the_scale_is_refused(raw: str) -> None:
    with pytest.raises(AnswerError, match="not a point"):
        CHOICE.clean(raw)


@given(st.text())
def test_a_choice_is_a_point_or_refused(raw: str) -> None:
    try:
        answer = CHOICE.clean(raw)
    except AnswerError as error:
        assert "\0" not in str(error)
    else:
        assert f"{answer:g}" == raw


def test_optional_questions_may_be_left_out() -> None:
    assert Question("q", "?", "t", SCALE, required=False).clean(" ") is None
    assert TextQuestion("q", "?", "t", required=False).clean(" \0 ") is None


@pytest.mark.parametrize(
    ("raw", "message"),
    [("", "write something"), ("one", "at least 2"), ("a b c d e", "at most 4"), ("\0 \x07", "write something")],
)
def test_text_of_the_wrong_length_says_what_to_do(raw: str, message: str) -> None:
    with pytest.raises(AnswerError, match=message):
        WORDS.clean(raw)


def test_a_megabyte_of_text_is_refused_by_its_characters() -> None:
    with pytest.raises(AnswerError, match=f"1,000,000 characters long; at most {MAX_CHARS:,}"):
        WORDS.clean("x" * 1_000_000)


@given(st.text(alphabet=st.characters(), max_size=200))
def test_cleaned_text_can_be_stored_and_stays_as_it_is(raw: str) -> None:
    text = clean_text(raw)
    assert "\0" not in text
    assert "\r" not in text
    text.encode("utf-8")
    assert clean_text(text) == text
    assert text == text.strip()


def test_cleaning_keeps_every_letter_emoji_and_line_break() -> None:
    assert clean_text(" שלום\r\nمرحبا\r🦉\n\n<b>é</b>\ud83e\0 ") == "שלום\nمرحبا\n🦉\n\n<b>é</b>"


SHOWN = "The quick brown fox jumps over the lazy dog in the garden."


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("I would rather stay at home.", []),
        ("The quick brown fox jumps over the lazy dog in the garden", ["copied"]),
        ("BROWN fox, jumps over the lazy", ["copied"]),
        ("brown fox jumps over", []),
        ("rown fox jumps over the lazy", []),
        ("no idea", ["too_short"]),
        ("ok", ["too_short"]),
        ("12 34 56", ["meaningless"]),
        ("good good good good", ["meaningless"]),
        ("aaa aaa aaaaa", ["meaningless"]),
        ("🦉 🦉 🦉", ["too_short", "meaningless"]),
    ],
)
def test_flags_of_a_written_text(text: str, reasons: list[str]) -> None:
    assert [flag.reason for flag in text_flags(text, sources=["Something else.", SHOWN])] == reasons
