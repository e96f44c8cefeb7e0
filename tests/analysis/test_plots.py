"""Plots are valid SVG, show numbers in the right places, and describe them for people who cannot see."""

import math
import re
from xml.etree import ElementTree

import pytest

from analysis import plots
from analysis.plots import Axis, Group, Line, Mark, Words, nice_ticks, padded, spread

WORDS = Words("key", "A <title> & more", "What “it” shows", x="Seconds", y="Ratings")


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - our own text


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in parsed(svg).iter("text")]


def every_plot() -> list[str]:
    return [
        plots.bars(WORDS, ["5 <b>", "4"], [3, 1]),
        plots.histogram(WORDS, [0, 1, 2], [4, 2], mark=Mark(0.5, "median")),
        plots.strip(WORDS, [Group("0 & 1", [1, 2, 2]), Group("none", [])], mark=Mark(1.5, "cut <")),
        plots.scatter(WORDS, [1, 2, 3], [2.0, 1.0, 3.0], [0.5, math.nan, 0.0], mark=Mark(2, "middle")),
        plots.curves(WORDS, [Line("1 <", [1, 2], [0.5, math.nan], [0.1, math.nan], [0.9, math.nan])]),
        plots.diverging(WORDS, [("a <b>", [1, 2, 3]), ("none", [0, 0, 0])], ["1", "2 &", "3"], ends=("<no", "yes")),
        plots.ranges(WORDS, ["10", "20 <"], [Line("1 <", [0, 1], [0.5, math.nan], [-1, 0.2], [2, 0.9])], limits=(0, 1)),
        plots.heat_map(WORDS, [[1, math.nan], [3, 5.0]], limits=(1, 5), ends=("1 <low>", "5 high")),
        plots.intervals(WORDS, [("α & κ", 0.5, 0.2, 0.7), ("none", math.nan, math.nan, math.nan)]),
    ]


@pytest.mark.parametrize("svg", every_plot())
def test_every_plot_is_well_formed_and_says_what_it_is(svg: str) -> None:
    root = parsed(svg)

    assert root.get("role") == "img"
    named = {element.get("id"): element.text for element in root if element.tag in ("title", "desc")}
    assert [named[key] for key in root.get("aria-labelledby", "").split()] == ["A <title> & more", "What “it” shows"]
    assert "NaN" not in svg and "nan" not in svg.replace("none", "")
    assert not re.search(r"style=|class=\"(?!plot)|url\(|href|<script", svg)


@pytest.mark.parametrize("svg", every_plot())
def test_everything_is_drawn_within_the_picture(svg: str) -> None:
    root = parsed(svg)
    _, _, width, height = (float(number) for number in root.get("viewBox", "").split())

    for element in root.iter():
        for name in ("x", "x1", "x2", "cx"):
            assert 0 <= float(element.get(name, 0)) <= width
        for name in ("y", "y1", "y2", "cy"):
            assert 0 <= float(element.get(name, 0)) <= height


def test_bars_are_as_long_as_their_counts() -> None:
    svg = plots.bars(WORDS, ["a", "b", "c"], [10, 5, 0])

    widths = [float(bar.get("width", "")) for bar in parsed(svg).iter("rect")]
    assert widths[1] == pytest.approx(widths[0] / 2, abs=0.01)
    assert widths[2] == 0
    assert {"10 (67%)", "5 (33%)", "0 (0%)"} <= set(texts(svg))


def test_dots_are_at_their_values() -> None:
    svg = plots.scatter(WORDS, [0, 10], [0, 100])

    first, second = ((float(dot.get("cx", "")), float(dot.get("cy", ""))) for dot in parsed(svg).iter("circle"))
    assert first[0] < second[0]
    assert first[1] > second[1]  # up is more
    assert second[0] - first[0] == pytest.approx((350 - plots.LEFT) / 1.06, abs=0.1)  # 3% of room at either end


def test_error_bars_span_one_deviation_to_either_side() -> None:
    svg = plots.scatter(WORDS, [1, 2], [5, 7], [1.0, math.nan])

    lines = [line for line in parsed(svg).iter("line") if line.get("opacity") == "0.3"]
    dots = [float(dot.get("cy", "")) for dot in parsed(svg).iter("circle")]
    (bar,) = lines
    assert (float(bar.get("y1", "")) + float(bar.get("y2", ""))) / 2 == pytest.approx(dots[0], abs=0.01)
    per_point = abs(dots[0] - dots[1]) / 2
    assert abs(float(bar.get("y1", "")) - float(bar.get("y2", ""))) == pytest.approx(2 * per_point, abs=0.02)


def test_dots_of_one_value_are_side_by_side() -> None:
    axis = Axis(0, 10, 200, 0)

    offsets = spread([3, 3, 3, 9], axis, reach=50)

    assert len(set(offsets[:3])) == 3
    assert sum(offsets[:3]) == 0
    assert offsets[3] == 0


def test_many_dots_of_one_value_stay_in_their_column() -> None:
    assert max(map(abs, spread([1.0] * 500, Axis(0, 10, 200, 0), reach=40))) <= 40


def test_no_more_curves_than_can_be_distinguished() -> None:
    line = Line("n", [1, 2], [1, 2], [1, 2], [1, 2])

    with pytest.raises(ValueError, match="3 curves at most, not 4"):
        plots.curves(WORDS, [line] * 4)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.9, 5.1, [0, 1, 2, 3, 4, 5, 6]),
        (-0.31, 0.02, [-0.4, -0.3, -0.2, -0.1, 0, 0.1]),
    ],
)
def test_ticks_are_round_and_hold_the_data(low: float, high: float, ticks: list[float]) -> None:
    assert nice_ticks(low, high) == pytest.approx(ticks)


def test_an_axis_of_no_length_is_refused() -> None:
    with pytest.raises(ValueError, match="low end below its high end"):
        nice_ticks(2, 2)


@pytest.mark.parametrize(("values", "low", "high"), [([], 0, 1), ([3], 2.5, 3.5), ([20], 18, 22), ([math.nan], 0, 1)])
def test_a_range_of_one_value_or_none_still_has_room(values: list[float], low: float, high: float) -> None:
    assert padded(values) == pytest.approx((low, high))


def test_tick_labels_have_the_decimals_of_their_step_and_a_real_minus() -> None:
    assert [plots.tick_label(tick, [-0.5, 0, 0.5]) for tick in (-0.5, 0, 1000)] == ["−0.5", "0.0", "1,000.0"]
    assert plots.tick_label(20, [0, 20]) == "20"


def test_a_heat_map_leaves_a_gap_where_there_is_no_value() -> None:
    svg = plots.heat_map(WORDS, [[1, math.nan], [3, 5.0]], limits=(1, 5), ends=("low", "high"))

    paths = [path.get("d", "") for path in parsed(svg).iter("path") if path.get("fill") != "none"]
    legend, cells = paths[:9], paths[9:]
    assert len(legend) == 9
    assert sum(path.count("M") for path in cells) == 3
    with pytest.raises(ValueError, match="rows of one length"):
        plots.heat_map(WORDS, [[1], [1, 2]], limits=(1, 5), ends=("low", "high"))


def test_ranges_end_at_the_axis_and_are_side_by_side() -> None:
    lines = [Line(name, [0], [0.5], [low], [0.9]) for name, low in (("a", -1.0), ("b", 0.1))]
    svg = plots.ranges(WORDS, ["10", "20"], lines, limits=(0, 1))

    bars = [line for line in parsed(svg).iter("line") if line.get("stroke-width") == "1.8"]
    assert [float(bar.get("y1", "")) for bar in bars] == [200, pytest.approx(182.6)]
    assert bars[0].get("x1") != bars[1].get("x1")
