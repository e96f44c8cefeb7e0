"""Exclusion rules in the data and in the report, on a study small enough to compute by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from analysis.data import StudyData, make_study_data, read_bundle, write_bundle_folder
from analysis.quality_control.exclusion import Exclusion, excluded_by
from analysis.report import report_numbers
from tests.analysis.support.studies import a_set, describe, study_data

WORKERS = {1: "ann", 2: "ann", 3: "bob", 4: "cleo"}
FLAGS = [(1, "too_fast"), (3, "copied"), (3, "pasted"), (3, "copied")]
GOLD = {"ann": (2, 4), "bob": (4, 4)}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (Exclusion(), {}),
        (Exclusion(gold_share_below=0.7), {1: ["gold_share_below"], 2: ["gold_share_below"]}),
        (Exclusion(gold_share_below=0.5), {}),
        (Exclusion(flags=("copied", "pasted")), {3: ["flags.copied", "flags.pasted"]}),
        (Exclusion(different_flags=2), {3: ["different_flags"]}),
        (Exclusion(different_flags=3), {}),
        (
            Exclusion(0.7, ("too_fast",)),
            {1: ["gold_share_below", "flags.too_fast"], 2: ["gold_share_below"]},
        ),
    ],
)
def test_each_rule_excludes_what_it_names(rules: Exclusion, expected: dict[int, list[str]]) -> None:
    assert excluded_by(rules, worker_of=WORKERS, flags=FLAGS, gold=GOLD) == expected


def ratings_with_gold(planted: Sequence[tuple[int, str]] = ((1, "too_fast"),), **exclude: object) -> StudyData:
    """Three workers rate one set and two gold sets whose right answer is 5. Ann: 4, right twice; Bob: 1, wrong twice;
    Cleo: 2, right once."""
    check = {"role": "gold", "answers": {"diversity": ["5"]}, "tolerance": 0.0, "explanation": ""}
    items = [a_set("main"), *(a_set(name, role="gold", check=check) for name in ("g1", "g2"))]
    values = {
        ("main", "ann"): 4.0,
        ("g1", "ann"): 5.0,
        ("g2", "ann"): 5.0,
        ("main", "bob"): 1.0,
        ("g1", "bob"): 1.0,
        ("g2", "bob"): 2.0,
        ("main", "cleo"): 2.0,
        ("g1", "cleo"): 5.0,
        ("g2", "cleo"): 1.0,
    }
    return study_data(items, values, flags=planted, exclude=exclude)


def test_right_gold_answers_are_counted_by_worker() -> None:
    assert ratings_with_gold().gold_answers == {"ann": (2, 2), "bob": (0, 2), "cleo": (1, 2)}


def test_figures_leave_out_what_the_rules_exclude() -> None:
    data = ratings_with_gold(gold_share_below=0.5)
    assert list(data.used["worker"].unique()) == ["ann", "cleo"]
    assert data.items.set_index("item")["n"].to_dict() == {"main": 2, "g1": 2, "g2": 2}
    assert data.excluded == 3
    everything = data.without_rules()
    assert everything.items.set_index("item")["n"].to_dict() == {"main": 3, "g1": 3, "g2": 3}
    assert data.items.set_index("item").loc["main", "n"] == 2


def test_the_report_gives_n_before_and_after_by_rule_and_both_results() -> None:
    data = ratings_with_gold(gold_share_below=0.7, flags=["too_fast"])
    found = report_numbers(data, draws=2)["sections"]["exclusions"]
    assert (found["before"], found["after"], found["excluded"]) == (9, 2, 7)
    assert found["rules"] == [
        {"rule": "gold_share_below", "submissions": 6, "only_this_rule": 6, "workers": 2},
        {"rule": "flags.too_fast", "submissions": 1, "only_this_rule": 1, "workers": 1},
    ]
    # The one main item: (4 + 1 + 2) / 3 with everybody. Ann's rating of it is flagged, and Bob and Cleo are out.
    [score] = found["scores"]
    assert score["without_rules"] == pytest.approx(7 / 3)
    assert (score["ratings_without_rules"], score["ratings_with_rules"], score["with_rules"]) == (3, 0, None)


def test_mean_scores_differ_by_what_was_left_out() -> None:
    [score] = report_numbers(ratings_with_gold(gold_share_below=0.5), draws=2)["sections"]["exclusions"]["scores"]
    assert (score["without_rules"], score["with_rules"]) == (pytest.approx(7 / 3), pytest.approx(3.0))


def test_a_study_without_rules_has_no_such_section() -> None:
    assert "exclusions" not in report_numbers(ratings_with_gold(), draws=2)["sections"]


def test_rules_that_exclude_nothing_and_everything_are_reported() -> None:
    none = report_numbers(ratings_with_gold(different_flags=5), draws=2)["sections"]["exclusions"]
    assert (none["before"], none["after"]) == (9, 9)
    data = ratings_with_gold([(number, "pasted") for number in range(1, 10)], flags=["pasted"])
    every = report_numbers(data, draws=2)["sections"]["exclusions"]
    assert (every["before"], every["after"]) == (9, 0)


def test_a_bundle_gives_the_same_report(tmp_path: Path) -> None:
    data = ratings_with_gold(gold_share_below=0.5)
    write_bundle_folder(data, tmp_path / "bundle")
    read = read_bundle(tmp_path / "bundle")
    assert report_numbers(read, draws=2, made_at=None)["sections"] == report_numbers(data, draws=2)["sections"]
    assert read.gold_answers == data.gold_answers


def test_a_bundle_of_an_earlier_release_has_no_checks_and_no_thresholds(tmp_path: Path) -> None:
    data = make_study_data(describe(), items=[a_set("one")], submissions=[], ratings=[])
    write_bundle_folder(data, tmp_path / "bundle")
    flags = tmp_path / "bundle" / "flags.csv"
    flags.write_text("submission,reason,detail\n")
    found = read_bundle(tmp_path / "bundle", accept_edited=True)
    assert list(found.flags.columns) == ["submission", "reason", "detail", "value", "threshold"]
