"""Arms: means and differences by hand, intervals that cover, and the report's section."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.arms import arm_means
from analysis.description import Score
from analysis.scores import item_scores
from tests.analysis.support.pages import Page, built, unknown_numbers
from tests.analysis.support.studies import CHOICE, LIKERT, SIM_HDS, Values, a_set, arm, study_data

SCORE = Score("diversity", "absHDS")


def ratings(rows: list[tuple[str, str, str, float]], arm: str = "a") -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["item", "target", "worker", "value"]).assign(arm=arm)


def test_every_item_counts_the_same() -> None:
    # Item a: 1 and 3, mean 2; item b: 5. The mean over items is 3.5, that over ratings 3.
    found = arm_means(ratings([("a", "", "x", 1), ("a", "", "y", 3), ("b", "", "x", 5)]), SCORE, arms=["a"])
    assert found.estimate("a").value == pytest.approx(3.5)
    assert (found.workers, found.items) == ({"a": 2}, {"a": 2})


def test_it_is_the_mean_of_the_items_scores() -> None:
    rng = np.random.default_rng(1)
    frame = ratings(
        [
            (f"i{rng.integers(5)}", f"{rng.integers(3)}", f"w{rng.integers(8)}", float(rng.integers(1, 6)))
            for _ in range(99)
        ]
    )
    score = Score("s", "s", -1)
    value = arm_means(frame, score, arms=["a"]).estimate("a").value
    assert value == pytest.approx(item_scores(frame, score)["score"].mean())


def two_arms(rng: np.random.Generator, sd_item_by_arm: float, apart: float = 0.5) -> pd.DataFrame:
    """Twelve items, each rated by all of eight workers of either arm; workers and items have effects."""
    item, worker = (each.ravel() for each in np.indices((12, 16)))
    arm = worker % 2
    effects = rng.normal(0, 1, 12)[item] + rng.normal(0, 0.7, 16)[worker]
    values = effects + rng.normal(0, sd_item_by_arm, (12, 2))[item, arm] - apart * arm + rng.normal(size=len(item))
    names = {"item": [f"i{at}" for at in item], "target": "", "worker": [f"w{at}" for at in worker]}
    return pd.DataFrame(names | {"value": values, "arm": np.array(["a", "b"])[arm]})


def test_a_difference_of_a_complete_table_is_that_of_the_analysis_of_variance() -> None:
    """Every worker of an arm rated every item: Var = (MS of items × arms + MS of workers within arms − MS of the rest)
    · 2 / answers of an arm (Searle 1971, ch. 9); items are shared by both arms, and cancel out."""
    frame = two_arms(np.random.default_rng(1), 0.8)
    table = frame.pivot(index="item", columns="worker", values="value")
    by_arm = [table[sorted(set(frame.loc[frame["arm"] == arm, "worker"]))].to_numpy() for arm in "ab"]
    apart = by_arm[0].mean(axis=1) - by_arm[1].mean(axis=1)
    of_items = 8 * apart.var(ddof=1) / 2
    of_workers = 12 * sum(arm.mean(axis=0).var(ddof=1) for arm in by_arm) / 2
    rest = [arm - arm.mean(axis=0) - arm.mean(axis=1)[:, None] + arm.mean() for arm in by_arm]
    noise = sum(float((left**2).sum()) for left in rest) / (2 * 11 * 7)
    # What items and arms add to the rest is in both terms of it: within an arm, workers see the same items.
    expected = 2 * (of_items + of_workers - noise) / 96
    estimate = arm_means(frame, SCORE, arms=["a", "b"]).difference("a", "b")
    free = float(estimate.method.split("with ")[1].split()[0])
    half = (estimate.high - estimate.low) / 2
    assert half == pytest.approx(stats.t.ppf(0.975, free) * math.sqrt(expected), rel=1e-3)
    assert 7 <= free <= 25


def test_items_that_suit_one_arm_do_not_make_a_difference() -> None:
    """A true null with an item × arm effect: 300 studies, 15 rejections expected (s.d. 3.8). Workers alone: over 40."""
    rng = np.random.default_rng(9)
    rejected = 0
    for _ in range(300):
        rejected += arm_means(two_arms(rng, 0.8, apart=0.0), SCORE, arms=["a", "b"]).p("a", "b") < 0.05
    assert rejected <= 24


def test_few_workers_give_no_interval_and_nobody_no_mean() -> None:
    found = arm_means(ratings([("a", "", "x", 2.0)]), SCORE, arms=["a", "b"])
    assert found.estimate("a").value == 2 and math.isnan(found.estimate("a").low)
    assert found.estimate("a").note == "an interval needs at least 5 items, and there is only 1"
    assert math.isnan(found.difference("a", "b").value) and math.isnan(found.p("a", "b"))
    assert (found.items["b"], found.workers["b"]) == (0, 0)


# --- the section ---

ARMS = (
    arm("solo", "0.10", wanted=3),
    arm("mil", "0.30", wanted=3, config={"suggest": "push"}, texts={"consent": "Hi"}),
)
OF = {f"w{at}": ("solo", "mil")[at % 2] for at in range(6)}
VALUES: Values = {(f"i{item}", f"w{at}"): 2.0 + 2 * (at % 2) + (item % 2) for item in range(3) for at in range(6)}


def test_the_report_compares_arms(tmp_path: Path) -> None:
    data = study_data([a_set(f"i{at}") for at in range(3)], VALUES, arm_of=OF, arms=ARMS, excluded=[1])

    page, sections = built(data, tmp_path)

    found = sections["arms"]
    assert [each["participants"] for each in found["arms"]] == [3, 3]
    assert [each["submissions"] for each in found["arms"]] == [8, 9]
    score = found["scores"]["diversity"]
    assert score["means"]["solo"]["value"] == pytest.approx(2 + 1 / 3)
    assert score["means"]["mil"]["value"] == pytest.approx(4 + 1 / 3)
    (apart,) = score["differences"]
    assert (apart["first"], apart["second"]) == ("solo", "mil")
    assert apart["difference"]["value"] == pytest.approx(-2)
    assert "solo − mil" in page
    assert sections["data"]["arms"][0] == {
        "arm": "solo", "participants": 3, "submissions_used": 8, "submissions_left_out": 1, "ratings": 8,
    }  # fmt: skip
    assert [each["name"] for each in sections["design"]["arms"]] == ["solo", "mil"]
    assert "suggest: push" in page and "own text: consent" in page and "differs between arms" in page
    # Every submission took 40 seconds: 90 an hour.
    assert sections["time"]["usd_per_hour_at_median"] == pytest.approx({"solo": 9.0, "mil": 27.0})
    assert unknown_numbers(Page(page), {"sections": sections}) == []


@pytest.mark.parametrize(("kind", "topics"), [(LIKERT, {"creative", "coherent"}), (SIM_HDS, {"similarity"})])
def test_every_score_is_compared(kind: dict[str, Any], topics: set[str], tmp_path: Path) -> None:
    data = study_data([f"i{at}" for at in range(3)], VALUES, arm_of=OF, **kind, arms=ARMS)

    page, sections = built(data, tmp_path)

    rated = {topic for topic in topics if topic in sections["arms"]["scores"]}
    assert rated == {data.description.questions[0].topic}
    assert page.count("the arms cannot be compared on it") == len(topics) - 1


def test_arms_of_choices_are_compared_by_the_system_that_was_chosen(tmp_path: Path) -> None:
    """Two of three in solo and none of three in mil chose B, whichever text of the item it was."""
    systems = {"a": ("B", "A"), "b": ("A", "B"), "c": ("A", "B")}
    items = [
        a_set(name, cells={"system_1": first, "system_2": second}, texts=[["One."], ["Two."]])
        for name, (first, second) in systems.items()
    ]
    chosen_first = {("a", "solo"): 1, ("b", "solo"): -1, ("c", "solo"): 1, ("a", "mil"): -1, ("b", "mil"): 1}
    values: Values = {(item, f"of-{arm}"): value for (item, arm), value in chosen_first.items()}
    values = {**values, ("c", "of-mil"): 1}
    of = {"of-solo": "solo", "of-mil": "mil"}

    _, sections = built(study_data(items, values, arm_of=of, **CHOICE, arms=ARMS), tmp_path)

    score = sections["arms"]["scores"]["overall"]
    assert score["title"] == "overall: choices of B, not A"
    assert {name: mean["value"] for name, mean in score["means"].items()} == {
        "solo": pytest.approx(2 / 3), "mil": 0.0,
    }  # fmt: skip


def test_arms_of_choices_between_unnamed_texts_are_not_compared(tmp_path: Path) -> None:
    values: Values = {("a", "w0"): 1, ("a", "w1"): -1}
    page, sections = built(study_data(["a"], values, arm_of=OF, **CHOICE, arms=ARMS), tmp_path)
    assert sections["arms"]["scores"] == {}
    assert "Choices on “overall”: the arms are compared only where the items name two systems" in page


def test_without_arms_there_is_no_such_section(tmp_path: Path) -> None:
    _, sections = built(study_data(["one"], {("one", "x"): 1.0}, arms=(arm(""),)), tmp_path)

    assert "arms" not in sections and "arms" not in sections["data"]
    assert sections["time"]["usd_per_hour_at_median"] == pytest.approx(9.0)
