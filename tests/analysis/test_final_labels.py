"""Final labels and categories of coded comments, by hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
import pytest

from analysis.data import StudyData, read_bundle, write_bundle
from analysis.description import QuestionDescription, ReportSection
from analysis.detection import final_labels, in_categories
from analysis.study_tables import AdjudicationRow
from tests.analysis.support.judged import an_item, rated_together
from tests.analysis.support.pages import built
from tests.analysis.test_detection_section import CHOSEN

NONE_SETTLED = pd.DataFrame({"comment": [], "label": [], "chosen": []})


def decisions(**by_coder: dict[str, str]) -> pd.DataFrame:
    """For every coder the letters of the labels that they gave to each comment; the labels are a, b and v."""
    rows = [
        (comment, coder, label, float(label in labels))
        for coder, comments in by_coder.items()
        for comment, labels in comments.items()
        for label in "abv"
    ]
    return pd.DataFrame(rows, columns=["comment", "coder", "label", "chosen"])


def chosen(final: pd.DataFrame) -> dict[str, str]:
    picked = final[final["chosen"] == 1]
    return {str(name): "".join(sorted(rows["label"])) for name, rows in picked.groupby("comment")}


def test_settled_comments_have_their_decisions_and_the_others_what_any_coder_gave() -> None:
    given = decisions(x={"1": "a", "2": "a", "3": "b"}, y={"1": "a", "2": "b", "3": "bv"})
    settled = pd.DataFrame(
        [("2", label, float(label == "b")) for label in "abv"], columns=["comment", "label", "chosen"]
    )
    final, differing = final_labels(given, settled)
    assert chosen(final) == {"1": "a", "2": "b", "3": "bv"}
    assert differing == 1  # comment 3
    assert final_labels(given, NONE_SETTLED)[1] == 2


def test_one_coder_leaves_nothing_to_settle() -> None:
    final, differing = final_labels(decisions(x={"1": "a", "2": "v"}), NONE_SETTLED)
    assert (chosen(final), differing) == ({"1": "a", "2": "v"}, 0)


def test_a_category_applies_if_any_of_its_labels_does() -> None:
    given = decisions(x={"1": "ab", "2": "v"}, y={"1": "b", "2": "v"})
    found = in_categories(given, {"Form": ["a"], "All": ["a", "b"]})
    rows = {(c, o, name): value for c, o, value, name in found[["comment", "coder", "chosen", "label"]].to_numpy()}
    assert rows == {
        ("1", "x", "Form"): 1,
        ("1", "y", "Form"): 0,
        ("2", "x", "Form"): 0,
        ("2", "y", "Form"): 0,
        ("1", "x", "All"): 1,
        ("1", "y", "All"): 1,
        ("2", "x", "All"): 0,
        ("2", "y", "All"): 0,
    }


def coded_study(*, settled: bool) -> StudyData:
    """Four comments. x: a, a, v, ab. y: a, b, v, ab. Comment 2 differs; once settled, it has b alone."""
    labels = QuestionDescription(
        "labels", "Which?", CHOSEN, "choices", targets={"a": "Label a", "b": "Label b", "v": "Vague"}
    )

    def given(*keys: str) -> dict[str, dict[str, float]]:
        return {f"c{at}": {key: float(key in chosen) for key in "abv"} for at, chosen in enumerate(keys, start=1)}

    data = rated_together(
        [an_item(f"c{at}") for at in (1, 2, 3, 4)],
        [("x", 1, given("a", "a", "v", "ab")), ("y", 2, given("a", "b", "v", "ab"))],
        task_type="comment_coding",
        questions=(labels,),
        scores=(),
        sections=(
            ReportSection(
                "coding", {"topic": "labels", "null_labels": ["v"], "categories": {"Form": ["a"], "Content": ["b"]}}
            ),
        ),
    )
    rows = [("c2", "labels", key, float(key == "b")) for key in "abv"] if settled else []
    return dataclasses.replace(data, adjudications=pd.DataFrame(rows, columns=list(AdjudicationRow._fields)))


def test_the_report_counts_final_labels_and_shares_per_category(tmp_path: Path) -> None:
    """Settled: a has comments 1 and 4, b has 2 and 4, of three that say something. Form is 1 and 4, Content 2 and 4.

    Agreement on a: both say yes to 1 and 4, no to 3, and differ on 2: 3 of 4. Cohen's κ: x says yes to 3 of 4, y to 2
    of 4, so chance is 3/4·1/2 + 1/4·1/2 = 1/2, and κ = (3/4 − 1/2) / (1/2) = 1/2.
    """
    page, sections = built(coded_study(settled=True), tmp_path)
    section = sections["coding"]
    assert section["unsettled"] == 0
    assert section["dropped"] == 1
    assert {name: each["value"] for name, each in section["shares"].items()} == pytest.approx({"a": 2 / 3, "b": 2 / 3})
    by_label = {each["label"]: each for each in section["labels"]}
    assert by_label["a"]["percent"]["value"] == 0.75
    assert by_label["a"]["kappa"]["value"] == pytest.approx(0.5)
    assert by_label["a"]["kappa"]["low"] is None, "four comments are too few for an interval"
    categories = section["categories"]
    assert categories["Form"]["share"]["value"] == pytest.approx(2 / 3)
    assert categories["Form"]["agreement"]["kappa"]["value"] == pytest.approx(0.5)
    assert "nobody has settled" not in page


def test_the_report_warns_of_differences_that_nobody_has_settled(tmp_path: Path) -> None:
    """Comment 2 counts for a and for b: a has 1, 2 and 4."""
    page, sections = built(coded_study(settled=False), tmp_path)
    assert sections["coding"]["unsettled"] == 1
    assert sections["coding"]["shares"]["a"]["value"] == 1
    assert "Coders differ about 1 comment that nobody has settled yet." in page


def test_final_answers_come_back_from_a_bundle(tmp_path: Path) -> None:
    data = coded_study(settled=True)
    with (tmp_path / "b.zip").open("wb") as file:
        write_bundle(data, file)
    records = read_bundle(tmp_path / "b.zip").adjudications.to_dict("records")
    assert records == data.adjudications.to_dict("records")
