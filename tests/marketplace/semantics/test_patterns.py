"""AnswerFormatRegex: JavaScript's expressions on this server. tests/browser holds them against a real JavaScript."""

from __future__ import annotations

import time

import pytest

from marketplace import questions
from marketplace.questions import patterns
from tests.marketplace.support import question_forms as forms

#: Each keeps a backtracking matcher busy for longer than anybody waits.
ENDLESS = [
    (r"^(a|a)*$", "a" * 5000 + "b"),
    (r"^(a|aa)+$", "a" * 5000 + "b"),
    (r"(x+x+)+y", "x" * 5000),
    (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 50_000),
    (r"((a{1,1000}){1,1000}){1,1000}b", "a" * 3000),
]
#: Without a limit it would be hours; the rest is room for a busy machine.
BUSY = 20 * patterns.PATIENCE


@pytest.mark.parametrize(("pattern", "text"), ENDLESS)
def test_no_expression_keeps_the_server_busy(pattern: str, text: str) -> None:
    begun = time.monotonic()
    assert patterns.found_in(text, pattern) is None
    assert time.monotonic() - begun < BUSY


def test_all_expressions_of_a_form_share_their_time() -> None:
    pattern, text = ENDLESS[0]
    parts = [forms.free_text(forms.pattern(pattern) * 3, identifier=f"q{number}") for number in range(50)]
    form = questions.parse_question(forms.form(*parts)).form
    assert form is not None
    begun = time.monotonic()
    assert questions.check_answers(form, {f"q{number}": text for number in range(50)}) == {}
    assert time.monotonic() - begun < BUSY


def test_what_cannot_be_checked_in_time_is_let_through() -> None:
    pattern, text = ENDLESS[0]
    form = questions.parse_question(forms.form(forms.free_text(forms.pattern(pattern)))).form
    assert form is not None
    assert questions.check_answers(form, {"q": text}) == {}
    assert questions.check_answers(form, {"q": "b"}) == {"q": "Invalid input supplied."}


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "[",
        "*",
        "a**",
        "a++",
        "(?<n>a",
        "(?i)a",
        "(?P<n>a)",
        "x{2,1}",
        "[b-a]",
        r"\2(a)",
        "\\",
        "(" * 400 + ")" * 400,
    ],
)
def test_invalid_expressions_are_explained(pattern: str) -> None:
    with pytest.raises(patterns.BadPattern):
        patterns.compiled(pattern)
