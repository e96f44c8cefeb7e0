"""Figures of the diversity section: metrics of the items' file, classes, planning, and who rated what."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main
from analysis.description import ReportSection
from analysis.estimate import LARGEST
from tests.analysis.support.examples import CLASS_VALUES, CLASSES
from tests.analysis.support.pages import built
from tests.analysis.support.studies import RNK_HDS, Values, a_pair, a_set, study_data


def sets_with_metrics(**metrics: float) -> list[dict[str, Any]]:
    """The two classes, each set with these metrics times its place."""
    return [each | {"metrics": {key: at * value for key, value in metrics.items()}} for at, each in enumerate(CLASSES)]


def test_metrics_of_the_file_are_compared_with_the_scores(tmp_path: Path) -> None:
    page, sections = built(study_data(sets_with_metrics(nli=0.1, n=2.0), CLASS_VALUES), tmp_path)

    found = sections["diversity"]["diversity"]
    assert list(found["metrics_with_human"]) == ["distinct-n", "cos-sim", "nli", "metric_n"]  # n is a column already
    assert [row["nli"] for row in found["sets"]] == pytest.approx([at * 0.1 for at in range(8)])
    # Places 0 … 3 are low and 4 … 7 high: the metric separates the classes.
    assert found["tests"]["nli"]["second"]["value"] == 1
    for metric in ("distinct-n", "cos-sim", "nli"):
        assert f">{metric} by temp</title>" in page
        assert f">absHDS against {metric}</title>" in page
    assert "nli, metric_n: from the items’ file." in page


def test_scores_by_people_in_the_file_are_not_metrics(tmp_path: Path) -> None:
    items = sets_with_metrics(abs_hds_mean=1.0, abs_hds_std=0.1, TSD_mean=2.0)

    page, sections = built(study_data(items, CLASS_VALUES), tmp_path)

    assert list(sections["diversity"]["diversity"]["metrics_with_human"]) == ["distinct-n", "cos-sim", "TSD_mean"]
    assert "hold scores by people: metric_abs_hds_mean, metric_abs_hds_std." in page
    named = (ReportSection("diversity", {"metrics": ["metric_abs_hds_mean"]}),)
    _, sections = built(study_data(items, CLASS_VALUES, sections=named), tmp_path)
    assert list(sections["diversity"]["diversity"]["metrics_with_human"]) == [
        "distinct-n",
        "cos-sim",
        "metric_abs_hds_mean",
    ]


def test_the_scatter_shows_classes_and_rho(tmp_path: Path) -> None:
    page, sections = built(study_data(sets_with_metrics(nli=0.1), CLASS_VALUES), tmp_path)

    rho = sections["diversity"]["diversity"]["metrics_with_human"]["nli"]["spearman"]["value"]
    svg = re.search(r"<svg[^>]*><title[^>]*>absHDS against nli</title>.*?</svg>", page)
    assert svg is not None
    assert f">ρ = {rho:.2f}" in svg[0]
    assert ">temp 0</text>" in svg[0] and ">1</text>" in svg[0]
    # Four dots and four squares, and one of each in the legend.
    assert (svg[0].count("<circle"), svg[0].count("<rect")) == (5, 5)


def test_axes_of_scores_cover_the_whole_scale(tmp_path: Path) -> None:
    """Ratings of 2 and 3 on a scale from 1 to 5."""
    values = {key: 2.0 + (key[0].startswith("high")) for key in CLASS_VALUES}
    page, _ = built(study_data(CLASSES, values), tmp_path)

    svg = re.search(r"<svg[^>]*><title[^>]*>absHDS by temp</title>.*?</svg>", page)
    assert svg is not None
    assert {f">{tick}</text>" for tick in range(1, 6)} <= set(re.findall(r">\d</text>", svg[0]))


def test_no_axis_of_shares_goes_beyond_zero_and_one(tmp_path: Path) -> None:
    page, _ = built(study_data(CLASSES, CLASS_VALUES), tmp_path)

    for name in ("distinct-n by temp", "OCA by number of sets"):
        for svg in re.findall(rf"<svg[^>]*><title[^>]*>{name}.*?</svg>", page):
            ticks = [float(tick.replace("−", "-")) for tick in re.findall(r">(−?[\d.]+)</text>", svg)]
            assert all(0 <= tick <= 1 for tick in ticks if "." in str(tick)), (name, ticks)


def rated_by(workers: int, items: int) -> Values:
    """Worker w rates every third item; ratings rise with the item and with the worker."""
    return {
        (f"i{item}", f"w{worker:03}"): 1.0 + (item * 3 // items) + (worker * 2 // workers) / 2
        for item in range(items)
        for worker in range(workers)
        if (item + worker) % 3 == 0
    }


def test_the_map_of_who_rated_what_is_sorted_and_shows_gaps(tmp_path: Path) -> None:
    page, sections = built(study_data([a_set(f"i{at}") for at in range(6)], rated_by(4, 6)), tmp_path)

    found = sections["workers"]["matrix"]["diversity"]
    assert [len(row) for row in found["mean_ratings"]] == [4] * 6
    means = [next(value for value in row if value is not None) for row in found["mean_ratings"]]
    assert means == sorted(means, reverse=True) or found["items"][0][0] in ("i4", "i5")
    rated = sum(value is not None for row in found["mean_ratings"] for value in row)
    assert rated == 8
    assert "6 items by 4 workers, 33% rated. Empty: no rating." in page


def test_a_large_matrix_is_summarised(tmp_path: Path) -> None:
    page, sections = built(study_data([a_set(f"i{at}") for at in range(200)], rated_by(100, 200)), tmp_path)

    found = sections["workers"]["matrix"]["diversity"]
    assert (len(found["mean_ratings"]), len(found["mean_ratings"][0])) == (50, 60)
    assert sorted(name for row in found["items"] for name in row) == sorted(f"i{at}" for at in range(200))
    assert "Each cell is the mean rating of about 4 items by 1.7 workers." in page


def test_the_command_line_gives_the_numbers_of_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One function and one seed rule: the same draws for α, split-half, noise ceiling, and for OCA. A file of scores
    does not say who rated, so its interval of ρ is the published bootstrap; the report's is about new workers, too."""
    context = {f"{name}{at}": f"context {at}" for at in range(4) for name in ("low", "high")}
    items = [each | {"context": context[each["item"]]} for each in CLASSES]
    shift = {key: (len(key[0]) + ord(key[1][0])) % 3 / 2 - 0.5 for key in CLASS_VALUES}
    values = {key: float(str(value)) + shift[key] for key, value in CLASS_VALUES.items()}
    _, sections = built(study_data(items, values), tmp_path, draws=100)
    scores = {row["item"]: row["score"] for row in sections["diversity"]["diversity"]["sets"]}
    with (tmp_path / "ratings.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["item", "worker", "value"], *([*key, value] for key, value in reversed(values.items()))]
        )
    with (tmp_path / "sets.csv").open("w", newline="") as file:
        rows = [[each["context"], each["parameter_value"], repr(scores[each["item"]])] for each in items]
        csv.writer(file).writerows([["context", "label_value", "score"], *rows])

    words = [
        "--unit",
        "item",
        "--rater",
        "worker",
        "--value",
        "value",
        "--level",
        "ordinal",
        "--draws",
        "100",
        "--json",
    ]
    assert main(["agreement", str(tmp_path / "ratings.csv"), *words]) == 0
    agreed = json.loads(capsys.readouterr().out)["estimates"]
    assert main(["contest", str(tmp_path / "sets.csv"), "--metric", "score", "--draws", "100", "--json"]) == 0
    tested = json.loads(capsys.readouterr().out)["estimates"]

    report = sections["answers"]["diversity"]["agreement"]
    assert agreed["split_half"] == report["Split-half"]
    assert agreed["noise_ceiling"] == report["Noise ceiling"]
    assert agreed["krippendorff_alpha"] == report["Krippendorff’s α, ordinal"]
    human = sections["diversity"]["diversity"]["tests"]["absHDS"]
    assert (tested["rho"]["value"], tested["oca"]) == (human["spearman"]["value"], human["second"])


def test_a_figure_at_its_largest_is_not_shown_as_certain(tmp_path: Path) -> None:
    """People who separate the classes: ρ cannot be larger, whichever sets and workers are drawn."""
    values: Values = {
        (a_class["item"], f"w{worker}"): 2.0 + 2 * a_class["item"].startswith("high") + (worker < at % 4)
        for at, a_class in enumerate(CLASSES)
        for worker in range(6)
    }
    page, sections = built(study_data(CLASSES, values), tmp_path)

    rho = sections["diversity"]["diversity"]["tests"]["absHDS"]["spearman"]
    assert rho["value"] == pytest.approx(4 / math.sqrt(21))  # ranks 1 … 8 against two classes of four, by hand
    assert rho["low"] is None
    assert LARGEST in rho["note"]
    assert f"ρ of absHDS: {LARGEST}." in page
    assert f" ({LARGEST}); OCA" in page
    page, _ = built(study_data(CLASSES, CLASS_VALUES), tmp_path)
    assert LARGEST not in page


def test_metrics_of_comparisons_are_tested_by_their_differences(tmp_path: Path) -> None:
    """rnkHDS: distinct-n of set 1 less that of set 2 against the difference of the labels (Tevet & Berant 2021,
    Table 5). By hand: the mean of unique ÷ total n-grams over n = 1 to 5."""
    varied, repeated = ["one two three four five six"], ["one one one one one one"]
    items = []
    for at, more in enumerate((1, -1, 1, -1, 1)):
        item = a_pair(f"p{at}", (0.6, 0.6 - 0.1 * more * (at + 1)))
        items.append(item | {"texts": [varied, repeated] if more > 0 else [repeated, varied]})
    values = {(f"p{at}", f"w{worker}"): 4.0 if at % 2 == 0 else 2.0 for at in range(5) for worker in range(6)}
    sections = built(study_data(items, values, **RNK_HDS), tmp_path)[1]
    data = sections["diversity"]["ranking"]
    repeated_score = (1 / 6 + 1 / 5 + 1 / 4 + 1 / 3 + 1 / 2) / 5  # one n-gram of each order
    differences = [row["distinct-n"] for row in data["sets"]]
    assert differences == pytest.approx([(1 - repeated_score) * sign for sign in (1, -1, 1, -1, 1)])
    assert data["tests"]["distinct-n"]["second"]["value"] == 1.0  # every sign is right
