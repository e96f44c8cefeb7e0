"""Exclusion rules leave the same submissions out of the console, the report, a bundle's report and the exports.

Two workers rate one text: Ann gives 6 and is right about the gold text, Bob gives 2 and is wrong. Without rules the
mean is 4; with `gold_share_below: 0.7` it is 6.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from analysis.data import read_bundle
from analysis.report import report_numbers
from annotation.models import Item, Review, Study, Submission
from annotation.results.exports import export
from annotation.results.frames import study_data, write_study_bundle
from annotation.review.payments_due import due
from annotation.review.quality_findings import quality_of
from annotation.review.rating_counts import rating_counts
from annotation.studies.items_overview import item_rows
from annotation.studies.storing import change_study
from annotation.work.left_out import excluded_by_rule, excluded_submissions, left_out_submissions
from tests.annotation.quality_helpers import GOLD, MAIN, gold_study, rate, someone

pytestmark = pytest.mark.django_db
BELOW = {"gold_share_below": 0.7}


def rated(**exclusion: object) -> tuple[Study, Submission, Submission]:
    study = gold_study([MAIN[0], GOLD], exclusion=exclusion, values={"reward": 0.5})
    return study, rate(someone(study), main=6), rate(someone(study), main=2, gold=7)


def mean_in_console(study: Study) -> tuple[float | None, int]:
    [row] = item_rows(study, list(Item.objects.filter(study=study, role="main")))
    score = row.scores[0]
    return score.score, score.n


def test_the_console_uses_the_rules() -> None:
    study, right, wrong = rated(**BELOW)
    assert excluded_by_rule(study) == {wrong.pk: ["gold_share_below"]}
    assert mean_in_console(study) == (6.0, 1)
    assert set(left_out_submissions(study)) == {wrong.pk}
    assert rating_counts(study).included == 4
    assert right.pk not in left_out_submissions(study)


def test_without_rules_everybody_counts() -> None:
    study, _, _ = rated()
    assert mean_in_console(study) == (4.0, 2)
    assert list(left_out_submissions(study)) == []


def test_the_report_and_the_report_of_a_bundle_give_the_same(tmp_path: Path) -> None:
    study, _, _ = rated(**BELOW)
    with (tmp_path / "study.zip").open("wb") as file:
        write_study_bundle(study, file)
    ours = report_numbers(study_data(study), draws=2)["sections"]
    theirs = report_numbers(read_bundle(tmp_path / "study.zip"), draws=2)["sections"]
    assert ours == theirs
    found = ours["exclusions"]
    assert (found["before"], found["after"]) == (2, 1)
    assert found["rules"] == [{"rule": "gold_share_below", "submissions": 1, "only_this_rule": 1, "workers": 1}]
    lively = found["scores"][0]
    assert (lively["without_rules"], lively["with_rules"]) == (4.0, 6.0)


def test_exports_mark_what_the_rules_leave_out() -> None:
    study, right, wrong = rated(**BELOW)
    out = io.BytesIO()
    export(study, kind="long", format="csv", out=out)
    rows = list(csv.DictReader(io.StringIO(out.getvalue().decode("utf-8-sig"))))
    included = {row["worker"]: row["included"] for row in rows}
    assert included == {right.participant.pseudonym: "true", wrong.participant.pseudonym: "false"}


def test_rules_never_change_pay_or_reviews() -> None:
    study, _, _ = rated(**BELOW)
    assert due(study).hits == 2
    assert not excluded_submissions(study).exists()
    assert not Review.objects.exists()


def test_flags_exclude_only_if_a_rule_names_them() -> None:
    study, _, wrong = rated(flags=["gold_wrong"])
    assert excluded_by_rule(study) == {wrong.pk: ["flags.gold_wrong"]}
    study.exclusion = {"flags": ["pasted"]}
    assert excluded_by_rule(study) == {}


def test_the_figures_of_the_console_count_before_and_after() -> None:
    study, _, wrong = rated(different_flags=1, **BELOW)
    found = quality_of(study)
    assert (found.before, found.after, found.submissions) == (2, 1, 2)
    assert [(row.words, row.submissions) for row in found.exclusions] == [
        ("Fewer than 70% of the worker's gold answers right", 1),
        ("At least 1 different flags", 1),
    ]
    Review.objects.create(submission=wrong, decision="exclude")
    again = quality_of(study)
    assert (again.before, again.after, [row.submissions for row in again.exclusions]) == (1, 1, [0, 0])


def test_rules_change_in_a_draft_and_are_audited() -> None:
    study = gold_study(live=False)
    change_study(study=study, exclusion=BELOW, quality_control={"too_fast": 3}, actor="ann")
    study.refresh_from_db()
    assert study.exclusion["gold_share_below"] == 0.7
    assert study.quality_control["too_fast"] == 3.0
    entry = study.audit.first()
    assert entry is not None
    assert entry.detail["changes"]["exclude.gold_share_below"] == {"old": None, "new": 0.7}
    assert entry.detail["changes"]["quality_control.too_fast"] == {"old": 1.0, "new": 3.0}
