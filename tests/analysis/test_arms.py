"""Arms: means and differences by hand, intervals that cover, and the report's section."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.arms import arm_difference, arm_estimate, arm_mean
from analysis.description import Score
from analysis.diversity.resampling import Bootstrap
from analysis.scores import item_scores
from tests.analysis.support.pages import Page, built, unknown_numbers
from tests.analysis.support.studies import LIKERT, SIM_HDS, Values, a_set, arm, study_data

SCORE = Score("diversity", "absHDS")
PLAN = Bootstrap(draws=400, seed=3)


def ratings(rows: list[tuple[str, str, str, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["item", "target", "worker", "value"])


def test_every_item_counts_the_same() -> None:
    # Item a: 1 and 3, mean 2; item b: 5. The mean over items is 3.5, that over ratings 3.
    found = arm_mean(ratings([("a", "", "x", 1), ("a", "", "y", 3), ("b", "", "x", 5)]), SCORE, plan=PLAN)
    assert found.value == pytest.approx(3.5)
    assert (found.workers, found.items) == (2, 2)


def test_it_is_the_mean_of_the_items_scores() -> None:
    rng = np.random.default_rng(1)
    frame = ratings(
        [
            (f"i{rng.integers(5)}", f"{rng.integers(3)}", f"w{rng.integers(8)}", float(rng.integers(1, 6)))
            for _ in range(99)
        ]
    )
    score = Score("s", "s", -1)
    assert arm_mean(frame, score, plan=PLAN).value == pytest.approx(item_scores(frame, score)["score"].mean())


def test_resamples_draw_whole_workers() -> None:
    # Two workers who rate everything 1 and 3: a resample has the mean 1, 2 or 3, and 2 in half of the cases.
    frame = ratings([(item, "", worker, value) for item in "abc" for worker, value in (("x", 1.0), ("y", 3.0))])
    found = arm_mean(frame, SCORE, plan=replace(PLAN, draws=2000))
    assert set(found.draws.round(9)) == {1.0, 2.0, 3.0}
    assert (found.draws == 2).mean() == pytest.approx(0.5, abs=0.05)


def test_a_difference_covers_the_truth() -> None:
    """Forty workers per arm, each with their own mean; true difference 0.5. At least 90% of 100 intervals cover it."""
    rng = np.random.default_rng(8)
    covered = 0
    for _ in range(100):
        arms = []
        for number, mean in enumerate((3.5, 3.0)):
            tastes = rng.normal(mean, 0.7, 40)
            rows = [
                (f"i{(worker + at) % 10}", "", f"w{worker}", taste + rng.normal())
                for worker, taste in enumerate(tastes)
                for at in range(4)
            ]
            arms.append(arm_mean(ratings(rows), SCORE, plan=Bootstrap(draws=200, seed=number)))
        found = arm_difference(*arms, plan=PLAN)
        covered += found.low <= 0.5 <= found.high
    assert 88 <= covered <= 100


def test_a_single_worker_gives_no_interval_and_nobody_no_mean() -> None:
    one = arm_mean(ratings([("a", "", "x", 2.0)]), SCORE, plan=PLAN)
    none = arm_mean(ratings([]), SCORE, plan=PLAN)
    assert arm_estimate(one, plan=PLAN).value == 2 and math.isnan(arm_estimate(one, plan=PLAN).low)
    assert "single worker" in arm_estimate(one, plan=PLAN).note
    assert math.isnan(arm_difference(one, none, plan=PLAN).value)
    assert "no ratings" in arm_estimate(none, plan=PLAN).note


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


def test_without_arms_there_is_no_such_section(tmp_path: Path) -> None:
    _, sections = built(study_data(["one"], {("one", "x"): 1.0}, arms=(arm(""),)), tmp_path)

    assert "arms" not in sections and "arms" not in sections["data"]
    assert sections["time"]["usd_per_hour_at_median"] == pytest.approx(9.0)
