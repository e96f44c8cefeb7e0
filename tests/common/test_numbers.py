"""Whole numbers in what strangers send."""

import json

import pytest

from common.numbers import refuse_constant, whole_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("007", 7),
        ("100", 100),
        ("101", None),
        ("0", None),
        ("0001999", None),
        ("9" * 5000, None),
        ("0" * 5000 + "5", 5),
        ("", None),
        ("-1", None),
        ("+1", None),
        (" 1", None),
        ("1_0", None),
        ("1.0", None),
        ("٣", None),
        ("²", None),
    ],
)
def test_only_plain_digits_within_the_range_are_a_number(text: str, number: int | None) -> None:
    assert whole_number(text, least=1, most=100) == number


def test_zero_is_a_number_where_it_is_in_range() -> None:
    assert whole_number("000", least=0, most=9) == 0


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_json_has_only_finite_numbers(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} is not a number in JSON$"):
        json.loads(f'{{"value": {name}}}', parse_constant=refuse_constant)
