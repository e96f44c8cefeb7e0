"""The section of statements on n-point scales: figures by hand, groups, and a chart that needs no colour."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from analysis import plots
from analysis.description import QuestionDescription, ReportSection, Scale, Score
from analysis.plots import Words
from tests.analysis.support.pages import Page, built, unknown_numbers
from tests.analysis.support.studies import LIKERT, Values, a_set, arm, study_data
from tests.analysis.support.two_way import anova_of_mean

ITEMS = [a_set(f"i{at}", label=at // 2) for at in range(4)]
#: Two workers; items 1 2 5 6 and 3 2 7 6.
VALUES: Values = {
    (f"i{at}", worker): value
    for worker, row in (("x", (1, 2, 5, 6)), ("y", (3, 2, 7, 6)))
    for at, value in enumerate(row)
}


def test_statements_by_hand(tmp_path: Path) -> None:
    page, sections = built(study_data(ITEMS, VALUES, **LIKERT), tmp_path)

    found = sections["scales"]["statements"]["creative"]
    assert (found["n"], found["median"]) == (8, 4)
    assert found["mean"]["value"] == 4
    # Squared deviations 9 4 1 4 1 4 9 4 sum to 36, over 7.
    assert found["sd"]["value"] == pytest.approx(math.sqrt(36 / 7))
    # One-way ANOVA: item means 2 2 6 6, MSB = 2 · 16 / 3, MSW = (2 + 0 + 2 + 0) / 4 = 1; ICC(1,k) = 1 − MSW / MSB.
    assert found["icc_1k"]["value"] == pytest.approx(1 - 3 / 32)
    assert found["mean"]["note"] == "an interval needs at least 5 workers, and there are only 2"
    assert [each["creative"]["mean"] for each in sections["scales"]["items"]] == [2, 2, 6, 6]
    assert "coherent" not in sections["scales"]["statements"]
    assert unknown_numbers(Page(page), sections) == []


def test_a_mean_carries_items_and_workers(tmp_path: Path) -> None:
    """Every worker rated every item: the analysis of variance, on the logit scale between the ends of the scale."""
    rng = np.random.default_rng(5)
    tastes, levels = rng.normal(0, 1, 8), rng.normal(0, 1, 12)
    values: Values = {
        (f"t{item}", f"w{worker}"): float(np.clip(round(4 + levels[item] + tastes[worker] + rng.normal()), 1, 7))
        for item in range(12)
        for worker in range(8)
    }
    _, sections = built(study_data([a_set(f"t{at}") for at in range(12)], values, **LIKERT), tmp_path)

    rated = np.array(list(values.values()), dtype=float)
    reference = anova_of_mean(rated.reshape(12, 8))
    mean = rated.mean()
    centre, slope = math.log((mean - 1) / (7 - mean)), 6 / ((mean - 1) * (7 - mean))
    half = stats.t.ppf(0.975, reference.freedom) * math.sqrt(reference.variance) * slope
    bounds = [1 + 6 / (1 + math.exp(-(centre + sign * half))) for sign in (-1, 1)]
    found = sections["scales"]["statements"]["creative"]["mean"]
    assert (found["low"], found["high"]) == pytest.approx(bounds)
    start = f"clustered by 12 items and 8 workers; t with {reference.freedom:.4g} degrees of freedom"
    assert (
        found["method"]
        == f"{start}; with fewer than 15 of either, 92 to 100% of such 95% intervals are right in simulations"
    )


def test_alpha_is_that_of_the_answers_section(tmp_path: Path) -> None:
    _, sections = built(study_data(ITEMS, VALUES, **LIKERT), tmp_path)

    alpha = sections["answers"]["creative"]["agreement"]["Krippendorff’s α, ordinal"]
    assert sections["scales"]["statements"]["creative"]["alpha"] == alpha


def test_a_mean_is_in_one_table_and_agreement_in_another(tmp_path: Path) -> None:
    _, sections = built(study_data(ITEMS, VALUES, **LIKERT), tmp_path)

    tables = {
        table["caption"]: table["columns"] for name in ("scales", "answers") for table in sections[name]["tables"]
    }
    assert tables["Statements"] == ["Statement", "n", "Mean", "s.d.", "Median"]
    assert "Krippendorff’s α" in tables["Questions"]
    assert "Mean" not in tables["Questions"]


def test_a_slider_has_no_chart_with_a_hundred_bars_and_an_alpha_of_its_own_level(tmp_path: Path) -> None:
    slider = QuestionDescription(
        "overall", "How good is it?", Scale.numbered("s", 101, low="Bad", high="Good", level="interval")
    )
    values: Values = {(f"i{item}", f"w{at}"): float(1 + 7 * item + 2 * at * at) for item in range(6) for at in range(6)}
    kind = LIKERT | {"questions": (slider,), "scores": (Score("overall", "overall"),)}

    page, sections = built(study_data([f"i{at}" for at in range(6)], values, **kind), tmp_path)

    assert "Answers to “overall”" not in page
    agreement = sections["answers"]["overall"]["agreement"]["Krippendorff’s α, interval"]
    assert sections["scales"]["statements"]["overall"]["alpha"] == agreement
    assert "α, interval" in page and "α, ordinal" not in page


def test_groups_by_parameter(tmp_path: Path) -> None:
    _, sections = built(study_data(ITEMS, VALUES, **LIKERT), tmp_path)

    low, high = sections["scales"]["by_parameter"]
    assert (low["parameter"], low["n"], low["mean"]["value"]) == (0, 4, 2)
    assert (high["parameter"], high["n"], high["mean"]["value"], high["mean"]["n_of"]) == (1, 4, 6, "answers")


def test_groups_by_arm(tmp_path: Path) -> None:
    kind = LIKERT | {"sections": (ReportSection("scales", {"by": "arm"}),), "arms": (arm("a"), arm("b"))}
    _, sections = built(study_data(ITEMS, VALUES, arm_of={"x": "a", "y": "b"}, **kind), tmp_path)

    first, second = sections["scales"]["by_arm"]
    assert (first["arm"], first["mean"]["value"]) == ("a", 14 / 4)
    assert (second["arm"], second["mean"]["value"], second["mean"]["low"]) == ("b", 18 / 4, None)  # one worker


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"by": "moon"}, "cannot be separated by “moon”"),
        ({"topics": ["creative", "boring"]}, "No ratings on a scale of: boring"),
        ({"nonsense": 1}, "wrong parameters"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, object], message: str, tmp_path: Path) -> None:
    kind = LIKERT | {"sections": (ReportSection("scales", parameters),)}
    page, _ = built(study_data(ITEMS, VALUES, **kind), tmp_path)

    assert message in page


def test_a_question_about_no_item_is_described_and_not_tested_for_agreement(tmp_path: Path) -> None:
    values: Values = {("", worker): value for worker, value in (("x", 2.0), ("y", 4.0), ("z", 6.0))}
    page, sections = built(study_data(["i"], values, **LIKERT), tmp_path)

    found = sections["scales"]["statements"]["creative"]
    assert (found["mean"]["value"], found["mean"]["n"], found["mean"]["n_of"]) == (4, 3, "answers")
    assert found["alpha"]["value"] is None
    assert "items" not in sections["scales"]
    assert sections["answers"]["creative"]["agreement"] == {}
    assert "nothing for workers to agree on" in page


def test_two_sections_of_one_kind_have_ids_of_their_own(tmp_path: Path) -> None:
    kind = LIKERT | {"sections": (ReportSection("scales"), ReportSection("scales", {"by": "parameter"}))}
    page, sections = built(study_data(ITEMS, VALUES, **kind), tmp_path)

    assert {"scales", "scales-2"} <= set(sections)
    ids = Page(page).ids
    assert len(ids) == len(set(ids))


# --- the chart ---

WORDS = Words("key", "Title", "Description", x="Share")


def rectangles(svg: str) -> list[tuple[float, float]]:
    """Left and right end of every part, in order."""
    found = []
    for path in ElementTree.fromstring(svg).iter("path"):  # noqa: S314 - our own text
        points = [float(point.split(",")[0]) for point in path.get("d", "")[1:-1].split("L")]
        found.append((min(points), max(points)))
    return found


def test_parts_part_at_the_middle_of_the_scale() -> None:
    svg = plots.diverging(WORDS, [("a", [1, 2, 1])], ["1", "2", "3"], ends=("no", "yes"))

    low, middle, high = rectangles(svg)
    assert (middle[0] + middle[1]) / 2 == pytest.approx(180, abs=0.02)
    assert low[1] == pytest.approx(middle[0], abs=0.02) and middle[1] == pytest.approx(high[0], abs=0.02)
    assert (middle[1] - middle[0]) == pytest.approx(2 * (low[1] - low[0]), abs=0.02)


def test_an_even_scale_parts_between_its_halves() -> None:
    left, right = rectangles(plots.diverging(WORDS, [("a", [3, 1])], ["1", "2"], ends=("no", "yes")))

    assert left[1] == right[0] == pytest.approx(180, abs=0.02)
    assert left[1] - left[0] == pytest.approx(3 * (right[1] - right[0]), abs=0.05)


def test_every_part_with_room_carries_its_point() -> None:
    svg = plots.diverging(WORDS, [("a", [5, 0, 5])], ["1", "2", "3"], ends=("no", "yes"))

    told = [element.text for element in ElementTree.fromstring(svg).iter("text")]  # noqa: S314
    assert "1" in told and "3" in told and "2" not in told
    assert "← no" in told and "yes →" in told and "a (n = 10)" in told


def test_a_chart_needs_a_count_for_every_point() -> None:
    with pytest.raises(ValueError, match="a count for each"):
        plots.diverging(WORDS, [("a", [1, 2])], ["1", "2", "3"], ends=("no", "yes"))
