"""Published figures on released data; skipped if the data are missing."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.agreement import (
    accuracy,
    dawid_skene,
    fleiss_kappa,
    krippendorff_alpha,
    majority_vote,
    ratings_from_frame,
)

pytestmark = pytest.mark.released


def test_fleiss_1971(released: Path) -> None:
    frame = pd.read_csv(released / "classic" / "fleiss1971_diagnoses.csv")
    ratings = ratings_from_frame(frame, unit="item", rater="worker", value="rating")
    assert fleiss_kappa(ratings, interval=False).value == pytest.approx(0.4302, abs=5e-5)


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("A", {"nominal": 0.6914, "interval": 0.8108, "ordinal": 0.8067, "ratio": 0.8089}),
        ("B", {"nominal": 0.7434, "ordinal": 0.8154, "interval": 0.8491, "ratio": 0.7974}),
    ],
)
def test_krippendorffs_examples_as_long_tables(released: Path, name: str, figures: Any) -> None:
    frame = pd.read_csv(released / "classic" / f"krippendorff_{name}.csv")
    ratings = ratings_from_frame(frame, unit="item", rater="worker", value="rating")
    for level, expected in figures.items():
        assert krippendorff_alpha(ratings, level, interval=False).value == pytest.approx(expected, abs=5e-5)


def test_dawid_and_skene_1979(released: Path) -> None:
    """45 patients, 5 observers, the first three times each: class shares of Table 2 to two decimals."""
    frame = pd.read_csv(released / "classic" / "dawid_skene1979.csv")
    columns: dict[str, Any] = {"unit": "item", "rater": "worker", "value": "rating"}
    model = dawid_skene(ratings_from_frame(frame, **columns, repeats=True))
    assert np.round(model.shares, 2).tolist() == [0.40, 0.42, 0.11, 0.07]
    assert model.converged
    with pytest.raises(ValueError, match="more than one rating"):
        ratings_from_frame(frame, **columns)


# Snow et al. 2008: units, Fleiss' κ, accuracy of the majority (ties by share) and of Dawid & Skene's model.
SNOW = {
    "rte": (800, 0.2414, 0.8969, 0.9275),
    "temp": (462, 0.2232, 0.9361, 0.9416),
    "wsd": (177, 0.9372, 0.9944, None),
}


@pytest.mark.parametrize("task", SNOW)
def test_snow_2008(released: Path, task: Any) -> None:
    units, kappa, majority, modelled = SNOW[task]
    frame = pd.read_csv(released / "snow2008" / f"{task}.tsv", sep="\t")
    ratings = ratings_from_frame(frame, unit="item", rater="worker", value="response")
    gold = {item: float(value) for item, value in zip(frame["item"], frame["gold"], strict=True)}
    estimate = fleiss_kappa(ratings)
    assert estimate.value == pytest.approx(kappa, abs=5e-5)
    assert estimate.n == units
    assert estimate.low < kappa < estimate.high
    assert accuracy(majority_vote(ratings), gold).value == pytest.approx(majority, abs=5e-5)
    if modelled is not None:
        assert accuracy(dawid_skene(ratings).labels(), gold).value == pytest.approx(modelled, abs=5e-5)
