"""Sliders, numbers and dates: what counts as an answer, and which settings are refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from annotation.task_types.described_questions import DescribedQuestionsField, build
from annotation.task_types.numbers import number_typed
from annotation.task_types.questions import AnswerError, Question


def asked(kind: str, **settings: Any) -> Question:
    record = {"kind": kind, "topic": "q", "question": "?", **settings}
    question = build(DescribedQuestionsField().clean([record])[0])
    assert isinstance(question, Question)
    return question


def refused(kind: str, **settings: Any) -> list[str]:
    with pytest.raises(ValidationError) as raised:
        DescribedQuestionsField().clean([{"kind": kind, "topic": "q", "question": "?", **settings}])
    return [message.partition(": ")[2] for message in raised.value.messages]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        (" 3,5 ", 3.5),
        ("3.5", 3.5),
        ("-2", -2),
        ("\N{MINUS SIGN}2", -2),
        ("١٢", 12),
        ("１２", 12),
        ("٣٫٥", 3.5),
        (".5", 0.5),
        *[
            (text, None)
            for text in ("", "1e9999", "nan", "inf", "1,000.5", "1 000", "²", "0x10", "12\0", "--1", "1" * 13)
        ],
    ],
)
def test_a_number_is_read_as_people_type_it(text: str, number: float | None) -> None:
    assert number_typed(text) == number


def test_a_slider_has_the_places_of_its_steps_and_names_at_its_ends() -> None:
    slider = asked("slider", low=-1, high=1, step=0.5, low_label="Worse", middle_label="Same", high_label="Better")
    named = [(point.value, point.label) for point in slider.scale.points]
    assert named == [(-1, "Worse"), (-0.5, ""), (0, "Same"), (0.5, ""), (1, "Better")]
    assert slider.scale.level == "interval"
    assert slider.clean({"q": "-0,5"}) == -0.5
    assert len(asked("slider").scale.points) == 101


@pytest.mark.parametrize("raw", ["101", "-1", "7.5", "fifty", "1e1", "50\0"])
def test_a_place_that_is_not_on_the_line_is_refused(raw: str) -> None:
    with pytest.raises(AnswerError, match=r"Please use a number from 0 to 100 in steps of 1\."):
        asked("slider").clean({"q": raw})


def test_nothing_is_chosen_on_a_slider_at_first() -> None:
    with pytest.raises(AnswerError, match="choose a place on the line"):
        asked("slider").clean({"q": " "})
    assert asked("slider", required=False).clean({}) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": 0}, "step: The step must be more than 0."),
        ({"step": -1}, "step: The step must be more than 0."),
        ({"low": 5, "high": 5}, "high: The highest value, 5, must be more than the lowest, 5."),
        ({"step": 0.3, "high": 1}, "step: Steps of 0.3 do not lead from 0 to 1 exactly."),
        ({"step": 0.1}, "step: That makes 1,001 places; at most 201 fit on a line."),
        ({"low": "x"}, "low: Enter a number."),
    ],
)
def test_a_line_that_cannot_be_drawn_is_refused(settings: dict[str, Any], message: str) -> None:
    assert refused("slider", **settings) == [message]


@pytest.mark.parametrize(
    ("settings", "raw", "message"),
    [
        ({}, "", "Please enter a number."),
        ({}, "twelve", "Please enter a number, such as 12."),
        ({}, "1.5", "Please enter a whole number."),
        ({"decimals": 1}, "1.55", "Please use at most 1 digit after the decimal point."),
        ({"min_value": 18}, "17", "Please enter a number of at least 18."),
        ({"max_value": 99}, "100", "Please enter a number of at most 99."),
        ({}, "1e9999", "Please enter a number, such as 12."),
    ],
)
def test_a_number_outside_its_limits_is_refused(settings: dict[str, Any], raw: str, message: str) -> None:
    with pytest.raises(AnswerError) as raised:
        asked("number", **settings).clean({"q": raw})
    assert str(raised.value) == message


def test_limits_of_a_number_that_nothing_meets_are_refused() -> None:
    assert refused("number", min_value=2, max_value=1) == [
        "max_value: The highest number, 1, must be more than the lowest, 2."
    ]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("", "Please enter a date."),
        ("2026-02-30", "Please enter a date as YYYY-MM-DD, such as 2026-03-31."),
        ("20260301", "Please enter a date as YYYY-MM-DD, such as 2026-03-31."),
        ("31.12.2025", "Please enter a date as YYYY-MM-DD, such as 2026-03-31."),
        ("2019-12-31", "Please enter 2020-01-01 or a later day."),
        ("2027-01-01", "Please enter 2026-12-31 or an earlier day."),
    ],
)
def test_a_day_that_does_not_fit_is_refused(raw: str, message: str) -> None:
    with pytest.raises(AnswerError) as raised:
        asked("date", first="2020-01-01", last="2026-12-31").clean({"q": raw})
    assert str(raised.value) == message


def test_limits_of_a_date_that_are_no_days_are_refused() -> None:
    assert refused("date", first="2026-02-30") == [
        "first: “2026-02-30” is not a date. Write it as YYYY-MM-DD, such as 2026-03-31."
    ]
    assert refused("date", first="2026-02-02", last="2026-02-01") == [
        "last: The last day, 2026-02-01, is before the first, 2026-02-02."
    ]
