"""How p values are written for people: one way on pages, in the report and in commands."""

import math

import pytest

from analysis.estimate import p_equals, p_value


@pytest.mark.parametrize(
    ("p", "written", "after_p"),
    [
        (0.0, "< 0.0001", "< 0.0001"),
        (0.00009, "< 0.0001", "< 0.0001"),
        (0.0123, "0.0123", "= 0.0123"),
        (0.9999, "0.9999", "= 0.9999"),
        (0.99994, "> 0.9999", "> 0.9999"),
        (1.0, "> 0.9999", "> 0.9999"),
        (math.nan, "–", "= –"),
    ],
)
def test_p_is_never_written_as_impossible_or_certain(p: float, written: str, after_p: str) -> None:
    assert (p_value(p), p_equals(p)) == (written, after_p)
