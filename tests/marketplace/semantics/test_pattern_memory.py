"""Expressions that would fill the memory while they are compiled, or stay in it afterwards."""

from __future__ import annotations

import pytest

from marketplace import questions
from marketplace.questions import patterns
from tests.marketplace.support import question_forms as forms
from tests.memory import run_limited

#: Without a limit the first two need 27 GB and 18 GB to compile.
BOMBS = [
    r"((((a{99}){99}){99}){99})",
    r"((((a{65,99}){99,}){99}){99})",
    r"a{100000000}",
    r"(?:(?:(?:\b){999}){999}){999}",
    r"([^\s\d]{999}){999}",
]


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_without_being_compiled(bomb: str) -> None:
    said = run_limited(
        f"""
        from marketplace.questions import patterns
        try:
            patterns.compiled({bomb!r})
        except patterns.BadPattern as error:
            print(error)
        """,
        megabytes=100,
    )
    assert "repeats multiply to" in said
    assert "at most 20,000 are allowed. Use smaller numbers in { }" in said


def test_a_form_with_a_bomb_is_refused_with_the_reason() -> None:
    with pytest.raises(questions.BadXml, match=r"AnswerFormatRegex.*steps; at most 20,000"):
        questions.parse_question(forms.form(forms.free_text(forms.pattern(BOMBS[0]))))


def test_many_large_expressions_in_one_form_are_refused_together() -> None:
    large = [forms.pattern(f"(ab{{{number}}}){{90}}") for number in range(150, 160)]
    with pytest.raises(questions.BadXml, match=r"together come to [\d,]+ steps; at most 60,000"):
        questions.parse_question(forms.form(forms.free_text("".join(large))))


def test_expressions_that_count_words_are_still_allowed() -> None:
    text = "word " * 500
    assert patterns.found_in(text, r"^(\S+\s+){499,}") is True
    assert patterns.found_in("word " * 498, r"^(\S+\s+){499,}") is False
    assert patterns.found_in("x" * 1000, r"^[\s\S]{1000,2000}$") is True
    assert patterns.found_in("a" * 98, "^((a{1,99}){1,99}){1,99}$") is True


def test_few_large_expressions_are_kept_ready() -> None:
    said = run_limited(
        """
        from marketplace.questions import patterns
        for number in range(200):
            patterns.compiled(f"((ab){{99}}){{40}}{number}")
        print("done")
        """,
        megabytes=250,
    )
    assert said.strip() == "done"


def test_a_very_long_answer_is_let_through_unchecked() -> None:
    assert patterns.found_in("a" * (patterns.LONGEST_TEXT + 1), "b") is None
