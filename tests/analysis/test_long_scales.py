"""Counts, such as how many suggestions somebody used, are scales of many points without names."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis.description import Point, QuestionDescription, Scale
from analysis.kinds import kind_in_words
from analysis.report.sections.answers import bar_figure, distribution, without_unused_ends

COUNT = Scale("count", "interval", tuple(Point(float(count)) for count in range(51)))
STARS = Scale("stars", "ordinal", tuple(Point(float(star)) for star in range(1, 6)))


@pytest.mark.parametrize(
    ("scale", "given", "shown"),
    [
        (COUNT, [0, 3, 3], ["0", "1", "2", "3"]),
        (COUNT, [7], ["7"]),
        (STARS, [2, 4], ["1", "2", "3", "4", "5"]),
    ],
)
def test_the_ends_of_a_long_scale_that_nobody_chose_are_not_drawn(
    scale: Scale, given: list[int], shown: list[str]
) -> None:
    counts = distribution(scale, pd.Series(given, dtype=float))

    assert without_unused_ends(counts)["answer"].tolist() == shown


def test_the_figure_says_what_it_leaves_out() -> None:
    whole = bar_figure("q", "used", distribution(STARS, pd.Series([2.0])))
    part = bar_figure("q", "used", distribution(COUNT, pd.Series([2.0])))

    assert "not shown" not in whole.caption
    assert part.caption.endswith("The scale goes from 0 to 50; nobody gave the answers that are not shown.")


def test_what_workers_read_names_the_ends_of_a_count_and_every_point_of_a_short_scale() -> None:
    def described(scale: Scale) -> str:
        return kind_in_words("scale").on_page(QuestionDescription("used", "Suggestions used", scale))

    assert described(COUNT) == "A number from 0 to 50."
    assert described(STARS).splitlines() == ["1", "2", "3", "4", "5"]
