"""Studies in which workers answer about their own texts: nothing compares them with each other."""

from __future__ import annotations

from pathlib import Path

from analysis.description import ReportSection
from tests.analysis.support.pages import Page, built, unknown_numbers
from tests.analysis.support.studies import LIKERT, Values, a_set, study_data

ITEMS = [a_set(f"i{at}") for at in range(3)]
#: Three workers rate their own text about each of three prompts.
VALUES: Values = {
    (f"i{at}", worker): value
    for worker, row in (("x", (1, 2, 3)), ("y", (5, 5, 5)), ("z", (7, 6, 5)))
    for at, value in enumerate(row)
}


def test_there_is_no_agreement_and_workers_are_the_clusters(tmp_path: Path) -> None:
    page, sections = built(study_data(ITEMS, VALUES, own_work=True, **LIKERT), tmp_path)

    found = sections["scales"]["statements"]["creative"]
    assert (found["mean"]["value"], found["alpha"]["value"]) == (39 / 9, None)
    assert found["mean"]["note"] == "an interval needs at least 5 workers, and there are only 3"
    assert sections["answers"]["creative"]["agreement"] == {}
    assert "creative" not in sections["workers"]
    assert "Workers answered about what they wrote themselves" in page
    assert "Answers and agreement" not in page and "α" not in page
    assert unknown_numbers(Page(page), sections) == []


def test_the_same_ratings_of_shared_items_are_compared(tmp_path: Path) -> None:
    page, sections = built(study_data(ITEMS, VALUES, **LIKERT), tmp_path)

    assert "Krippendorff’s α, ordinal" in sections["answers"]["creative"]["agreement"]
    assert "Answers and agreement" in page


def test_a_study_without_arms_has_no_table_by_arm(tmp_path: Path) -> None:
    kind = LIKERT | {"sections": (ReportSection("scales", {"by": "arm"}),)}
    page, sections = built(study_data(ITEMS, VALUES, own_work=True, **kind), tmp_path)

    assert "by_arm" not in sections["scales"] and "Statements by arm" not in page
