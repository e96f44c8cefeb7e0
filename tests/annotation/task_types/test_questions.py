"""Questions and text checks: what counts as an answer, how it is drawn and stored, what raises a flag."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from django.template import Context, Template
from hypothesis import given
from hypothesis import strategies as st

from analysis.description import Point, Scale
from annotation.task_types.base import Page
from annotation.task_types.kinds.choice import ChoiceQuestion
from annotation.task_types.kinds.choices import ChoicesQuestion
from annotation.task_types.kinds.ranking import RankingQuestion
from annotation.task_types.kinds.scale import ScaleQuestion
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.questions import (
    MAX_CHARS,
    AnswerError,
    Grid,
    Option,
    Part,
    Question,
    ShownIf,
    Stored,
    clean_text,
)
from common.text_length import count_characters
from tests.annotation.task_types.walking import fields_of

SCALE = Scale.of("agreement", "ordinal", ["Yes", "Perhaps", "No"], half_steps=True)
SEVEN = Scale.numbered("seven", 7, low="Never", high="Always")
CHOICE = ScaleQuestion("q", "Is it?", "agreement", SCALE)
WORDS = TextQuestion("t", "Say it.", "said", min_words=2, max_words=4)
OPTIONS = (Option("red", "Red"), Option("green", "Green", "Like grass."), Option("blue", "Blue"))
COLOURS = ChoicesQuestion("c", "Which colours?", "colours", options=OPTIONS, least=1, most=2)
ORDER = RankingQuestion("r", "Your order?", "order", options=OPTIONS)


def drawn(
    part: Part,
    values: dict[str, str] | None = None,
    errors: dict[str, str] | None = None,
    lead: str = "",
    page: Page | None = None,
) -> str:
    context = {"asked": part, "values": values or {}, "errors": errors or {}, "lead": lead, "page": page}
    return str(Template("{% load questions %}{% part asked lead %}").render(Context(context)))


def test_scale_runs_from_the_best_down_with_unnamed_half_steps() -> None:
    points = [(point.value, point.key, point.label) for point in SCALE.points]
    assert points == [(3, "3", "Yes"), (2.5, "2.5", ""), (2, "2", "Perhaps"), (1.5, "1.5", ""), (1, "1", "No")]
    assert (SCALE.low, SCALE.high) == (1, 3)


# --- one of a scale ---


@pytest.mark.parametrize("raw", ["", " ", "\t\n"])
def test_required_choice_without_answer_is_asked_for(raw: str) -> None:
    with pytest.raises(AnswerError, match="choose one"):
        CHOICE.clean({"q": raw})


@pytest.mark.parametrize("raw", ["0", "4", "2.25", "3.0", " 3", "3,0", "Yes", "nan", "٣", "1e0", "3\0", "<b>"])
def test_a_value_that_is_not_a_point_of_the_scale_is_refused(raw: str) -> None:
    with pytest.raises(AnswerError, match="not one of the answers"):
        CHOICE.clean({"q": raw})


@given(st.text())
def test_a_choice_is_a_point_or_refused(raw: str) -> None:
    try:
        answer = CHOICE.clean({"q": raw})
    except AnswerError as error:
        assert "\0" not in str(error)
    else:
        assert f"{answer:g}" == raw


def test_optional_questions_may_be_left_out() -> None:
    assert replace(CHOICE, required=False).clean({"q": " "}) is None
    assert TextQuestion("q", "?", "t", required=False).clean({"q": " \0 "}) is None
    assert replace(COLOURS, required=False).clean({}) == []
    assert replace(ORDER, required=False).clean({"r.red": ""}) is None


def test_whatever_answer_a_question_gives_its_form_gives_it_again() -> None:
    answers: list[tuple[Question, Any]] = [
        (CHOICE, 2.5),
        (WORDS, "two words"),
        (COLOURS, ["red", "blue"]),
        (ORDER, ["green", "red", "blue"]),
        (ChoiceQuestion("q", "?", "t", SCALE), 1.0),
    ]
    for question, answer in answers:
        assert question.clean(question.typed(answer)) == answer
        assert set(question.typed(answer)) <= set(fields_of(drawn(question)))


# --- several, and rankings ---


@pytest.mark.parametrize(
    ("form", "message"),
    [({}, "at least one"), ({"c.red": "yes", "c.green": "yes", "c.blue": "on"}, "at most 2; you chose 3")],
)
def test_number_of_choices_has_limits(form: dict[str, str], message: str) -> None:
    with pytest.raises(AnswerError, match=message):
        COLOURS.clean(form)


def test_each_option_of_a_choices_question_is_stored_as_chosen_or_not() -> None:
    assert COLOURS.stored(["green"]) == [Stored("red", 0.0), Stored("green", 1.0), Stored("blue", 0.0)]
    assert COLOURS.clean({"c.green": "yes", "c.pink": "yes"}) == ["green"]


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (("", "", ""), "give each option a rank"),
        (("1", "2", ""), "each rank from 1 to 3 exactly once"),
        (("1", "1", "2"), "exactly once"),
        (("1", "2", "4"), "exactly once"),
        (("1", "2", "x"), "exactly once"),
    ],
)
def test_ranking_accepts_each_rank_once(ranks: tuple[str, str, str], message: str) -> None:
    form = dict(zip(("r.red", "r.green", "r.blue"), ranks, strict=True))
    with pytest.raises(AnswerError, match=message):
        ORDER.clean(form)


def test_rank_of_each_option_is_stored_from_one_for_the_best() -> None:
    answer = ORDER.clean({"r.red": "3", "r.green": "1", "r.blue": " 2"})
    assert ORDER.stored(answer) == [Stored("green", 1.0), Stored("blue", 2.0), Stored("red", 3.0)]


# --- texts ---


@pytest.mark.parametrize(
    ("raw", "message"),
    [("", "write something"), ("one", "at least 2"), ("a b c d e", "at most 4"), ("\0 \x07", "write something")],
)
def test_text_of_the_wrong_length_says_what_to_do(raw: str, message: str) -> None:
    with pytest.raises(AnswerError, match=message):
        WORDS.clean({"t": raw})


def test_characters_are_counted_as_people_count_them() -> None:
    # Unicode Annex 29: a family of four, a flag and e with an accent are one character each.
    assert [count_characters(text) for text in ("abc", "👨‍👩‍👧‍👦", "🇩🇪", "e\u0301", "नि")] == [3, 1, 1, 1, 1]
    turn = TextQuestion("t", "Your line", "line", min_chars=20, max_chars=260)
    for text, message in (
        ("🦉" * 19, "at least 20 characters; you wrote 19"),
        ("x" * 261, "at most 260 .* you wrote 261"),
    ):
        with pytest.raises(AnswerError, match=message):
            turn.clean({"t": text})
    assert turn.clean({"t": "🦉" * 20}) == "🦉" * 20


def test_a_megabyte_of_text_is_refused_by_its_characters() -> None:
    with pytest.raises(AnswerError, match=f"1,000,000 characters long; at most {MAX_CHARS:,}"):
        WORDS.clean({"t": "x" * 1_000_000})


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


# --- questions that depend on another ---


def test_question_that_is_not_shown_is_neither_required_nor_taken() -> None:
    why = TextQuestion("why", "Why?", "why", shown_if=ShownIf("q", (1.0, 1.5)))
    page = Page("p", "P", "t.html", [CHOICE, why])
    assert page.clean({"q": "3", "why": "left over"}) == ({"q": 3.0, "why": None}, {})
    assert page.clean({"q": "1.5"})[1] == {"why": "Please write something here."}
    assert page.clean({"q": "1", "why": "No."}) == ({"q": 1.0, "why": "No."}, {})
    assert page.clean({"why": "No."})[0] == {"why": None}
    html = drawn(why, page=page)
    assert 'data-shown-if="q" data-shown-values="1|1.5"' in html
    assert '<noscript><p class="help">Only if you chose “No” or “1.5” above.</p></noscript>' in html
    assert "hidden" not in html.split("counter")[0], "without JavaScript it is always there"


def test_choices_are_rated_one_by_one_even_if_none_is_chosen() -> None:
    assert [(each.target, each.value) for each in COLOURS.stored(["red"])] == [
        (option.key, float(option.key == "red")) for option in COLOURS.options
    ]
    none = replace(COLOURS, required=False)
    assert [each.value for each in none.stored(none.clean({}))] == [0.0] * len(COLOURS.options)
    assert none.describe().targets == {option.key: option.label for option in COLOURS.options}
    assert {none.describe().scale.name, none.stored_on.name} == {"chosen"}


def test_question_shown_after_one_of_several_choices() -> None:
    hue = replace(CHOICE, shown_if=ShownIf("c", ("blue",)))
    page = Page("p", "P", "t.html", [COLOURS, hue])
    assert page.clean({"c.red": "yes"}) == ({"c": ["red"], "q": None}, {})
    assert page.clean({"c.red": "yes", "c.blue": "yes", "q": "2"})[0] == {"c": ["red", "blue"], "q": 2.0}


# --- drawing ---


def test_point_without_a_name_is_read_out_by_its_neighbours() -> None:
    html = drawn(CHOICE)
    assert "between “Yes” and “Perhaps”" in html
    assert html.count('type="radio"') == 5


def test_numbers_between_two_named_ends_are_a_row_with_the_names_below() -> None:
    html = drawn(ScaleQuestion("q", "How often?", "often", SEVEN))
    assert '<p class="ends" aria-hidden="true"><span>Never</span><span>Always</span></p>' in html
    assert 'class="points ends"' in html
    assert re.search(r'<span class="value">7</span><span class="spoken">Always</span>', html)


def test_descriptions_are_beside_the_names() -> None:
    described = replace(SCALE, points=tuple(replace(point, description=f"As {point.label}") for point in SCALE.points))
    assert '<span class="about">As Perhaps</span>' in drawn(replace(CHOICE, scale=described))


def test_answers_come_back_in_the_form_and_other_fields_do_not() -> None:
    assert drawn(CHOICE, {"q": "2.5"}).count("checked") == 1
    assert "checked" not in drawn(CHOICE, {"q": "<b>"})
    assert "<option selected>2</option>" in drawn(ORDER, {"r.green": "2"})
    assert drawn(COLOURS, {"c.green": "yes"}).count("checked") == 1
    assert "&lt;/textarea&gt;" in drawn(WORDS, {"t": "</textarea>"})


@pytest.mark.parametrize("part", [CHOICE, WORDS, COLOURS, ORDER, ChoiceQuestion("q", "?", "t", SCALE)])
def test_error_is_tied_to_its_question(part: Question) -> None:
    html = drawn(part, errors={part.key: "Something <b> is wrong."})
    assert "Something &lt;b&gt; is wrong." in html
    assert f'aria-describedby="f-{part.key}-error"' in html
    assert f'id="f-{part.key}"' in html, "the summary links to it"
    assert 'aria-invalid="true"' in html


def test_grid_names_each_row_and_shows_the_error_of_one() -> None:
    rows = tuple(ScaleQuestion(key, f"It is {key}.", key, SEVEN) for key in ("good", "new"))
    grid = Grid("g", "How much do you agree?", rows)
    html = drawn(grid, {"good": "3"}, {"new": "Please choose one answer."})
    assert html.count('role="radiogroup"') == 2
    assert html.count("checked") == 1
    assert html.count("Please choose one answer.") == 1
    for key in ("good", "new"):
        assert f'aria-labelledby="f-{key}-label"' in html
    assert set(fields_of(html)) == {"good", "new"}


@pytest.mark.parametrize("part", [CHOICE, WORDS, COLOURS, ORDER, ChoiceQuestion("q", "?", "t", SCALE)])
def test_markup_in_labels_is_text(part: Question) -> None:
    worded = replace(part, label="<b>x</b>", help="<i>y</i>")
    assert "<b>" not in drawn(worded) and "&lt;b&gt;x" in drawn(worded)
    assert "<i>" not in drawn(worded) and "&lt;i&gt;y" in drawn(worded)


def test_limits_are_given_to_the_script_as_the_server_has_them() -> None:
    html = drawn(TextQuestion("t", "?", "t", min_words=8, max_words=15, min_chars=20, max_chars=260))
    assert 'data-min-words="8" data-max-words="15" data-min-chars="20" data-max-chars="260"' in html


def test_a_choice_of_a_few_short_options_is_a_row_and_others_a_list() -> None:
    short = ChoiceQuestion("q", "?", "t", Scale("s", "nominal", (Point(1, "Text A"), Point(2, "Text B"))))
    long = replace(short, scale=Scale("s", "nominal", (Point(1, "x" * 25), Point(2, "Text B"))))
    assert 'class="points"' in drawn(short)
    assert 'class="points list"' in drawn(long)
