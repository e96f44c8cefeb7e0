"""`python -m bench.papers`: a folder with every table and figure of each paper, from simulated workers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.data import read_bundle
from analysis.report.build import source_of
from analysis.report.sections import sets as scored_sets
from bench.papers import clark, tevet, zhang
from bench.papers.__main__ import PAPERS, write_paper
from bench.papers.folder import FIGURES, REPORTS, TABLES, slug
from tests.services import ROOT

SLOW = ("clark", "giulianelli", "tevet")
pytestmark = pytest.mark.django_db


def table_in(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / TABLES / f"{slug(name)}.csv")


@pytest.mark.parametrize(
    "paper", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in PAPERS]
)
def test_the_folder_has_every_table_and_figure_under_the_paper_s_name(paper: str, tmp_path: Path) -> None:
    assert write_paper(paper, tmp_path, size="small", draws=40) == []
    folder = tmp_path / paper
    readme = (folder / "README.md").read_text("utf-8")
    assert "All answers are by simulated workers" in readme
    linked = re.findall(r"\]\(((?:tables|figures|reports)/[^)]+)\)", readme)
    assert linked and all((folder / path).exists() for path in linked)
    names = [one.name for one in PAPERS[paper].TABLES]
    assert len({slug(name) for name in names}) == len(names)  # no file replaces another
    for one in PAPERS[paper].TABLES:
        assert f"| {one.name} | {one.subject} |" in readme
        if one.kind == "figure":
            assert (folder / FIGURES / f"{slug(one.name)}.png").read_bytes().startswith(b"\x89PNG")
        else:
            assert not table_in(folder, one.name).empty
    for report in folder.glob(f"{REPORTS}/*/report.json"):
        failed = [key for key, section in json.loads(report.read_text())["sections"].items() if "error" in section]
        assert failed == [], report


def test_points_of_the_likelihood_trap_are_means_of_five_texts_as_published(tmp_path: Path) -> None:
    """Zhang et al. 2020, Figure 1: a point is the average rating of five sentences with similar likelihoods."""
    write_paper("zhang", tmp_path, size="small", draws=40)
    folder = tmp_path / "zhang"
    data = read_bundle(folder / REPORTS / "likelihood-trap" / "bundle")
    cells = data.items.set_index("item")["cells"]
    texts = data.ratings.groupby("item")["value"].mean().to_frame("rating")
    texts["log_prob"] = [float(cells[item]["log_prob"]) for item in texts.index]
    ordered = texts.sort_values("log_prob")
    expected = [ordered.iloc[start : start + 5].mean() for start in range(0, len(ordered), 5)]
    points = pd.read_csv(folder / FIGURES / "figure-1.csv")
    assert points["Texts"].tolist() == [5] * (len(texts) // 5)
    np.testing.assert_allclose(points["Mean rating"], [point["rating"] for point in expected])
    np.testing.assert_allclose(points["Log-probability"], [point["log_prob"] for point in expected])


def test_pools_by_time_of_day_are_two_halves_of_the_workers(tmp_path: Path) -> None:
    """Zhang et al. 2020, appendix A: two disjoint pools by when people worked."""
    write_paper("zhang", tmp_path, size="small", draws=40)
    section = json.loads((tmp_path / "zhang" / REPORTS / "inter-rater" / "report.json").read_text())["sections"][
        "systems"
    ]
    assert -1 < section["agreement_by_time_of_day"]["value"] < 1
    assert section["pools"] and section["agreement_by_time_of_day"]["n"] > 0


@pytest.mark.parametrize(
    ("size", "answers", "workers"),
    [((130, 50, 1), 9_750, 1_950), ((4, 10, 1), 300, 60)],
)
def test_the_detection_study_has_fifteen_cells_of_five_texts_by_each_worker(
    size: tuple[int, int, int], answers: int, workers: int
) -> None:
    """Clark 2021, chapter 6: 15 cells of 130 workers; half of the texts by people."""
    data = clark.detection(*size)
    assert (len(data.ratings), data.submissions["worker"].nunique()) == (answers, workers)
    assert data.submissions.groupby("arm")["worker"].nunique().tolist() == [size[0]] * 15
    sources = data.ratings["item"].map(data.items.set_index("item")["cells"].map(lambda cells: cells["source"]))
    assert (sources == "human").mean() == pytest.approx(0.5)


def test_published_sizes_are_the_papers() -> None:
    """Zhang et al. 2020, §4.1: 15 systems, 48 contexts, ten samples, 1,930 tasks; 2,968 of about 3,000 pair ratings in
    the A/A test (150 tasks of ten pairs in two pools) and 14,760 in five raters' tasks (738 submissions of 20 ordered
    pairs)."""
    assert sum(len(parameters) for parameters, _ in zhang.DECODERS.values()) == 15
    sizes = zhang.SIZES["published"]
    assert (sizes["contexts"], sizes["samples"], sizes["tasks"], sizes["aa"]) == (48, 10, 1930, 150)
    assert sizes["inter"] * 20 == pytest.approx(14_760, rel=0.01)
    assert clark.SIZES["published"]["writers"] * 3 == 27  # Clark 2021, chapter 2: t tests over 27 texts of an arm


@pytest.mark.parametrize(
    ("task", "sets", "distinct_n", "cos_sim"),
    [("story", 250, (0.57, 0.77), (0.56, 0.77)), ("prompt", 200, (0.33, 0.68), (0.36, 0.67))],
)
def test_with_the_released_sets_the_metrics_are_the_published_ones(
    task: str, sets: int, distinct_n: tuple[float, float], cos_sim: tuple[float, float], released: Path
) -> None:
    """Tevet & Berant 2021, Table 5: ρ and OCA of conTest. The released OCA of both can differ by 0.01."""
    of_task = tevet.sets_of("conTest", task, 200, 1, released / "diversity-eval")
    data = tevet.rated("tevet_abs_hds", f"conTest {task}", of_task, 10, 1)
    source = source_of(data, 10, 1)
    scored = scored_sets.sets_of(source, source.description.scores[0])
    assert len(scored.usable) == sets
    for metric, (rho, oca) in (("distinct-n", distinct_n), ("cos-sim", cos_sim)):
        test = scored_sets.tested(scored, source, metric)
        assert test.spearman.value == pytest.approx(rho, abs=0.006), metric
        assert test.second.value == pytest.approx(oca, abs=0.011), metric


@pytest.mark.slow
def test_labels_in_percent_add_up_to_100_and_scores_by_model_count_every_worker(tmp_path: Path) -> None:
    write_paper("clark", tmp_path, size="small", draws=40)
    folder = tmp_path / "clark"
    printed = table_in(folder, "Table 6.3").set_index("Category")
    np.testing.assert_allclose(printed.sum(), 100)
    for topic in ("stories", "slogans"):
        np.testing.assert_allclose(table_in(folder, f"Table 2.4, {topic}")["% of answers"].sum(), 100)
    for name in ("Table 6.1", "Table 6.2"):
        percent, of_one = (table_in(folder, f"{name}{rest}") for rest in ("", ", with intervals"))
        for column in ("Accuracy", "F1", "Human"):
            np.testing.assert_allclose(percent[f"{column}, %"], 100 * of_one[column])
    section: dict[str, Any] = json.loads((folder / REPORTS / "detection" / "report.json").read_text())["sections"]
    by_model = section["human_or_machine"]["score_counts_by_model"]
    counts = {name: sum(row["workers"] for row in rows) for name, rows in by_model.items()}
    workers = clark.SIZES["small"]["workers"]
    assert counts == {"gpt2": 3 * workers, "gpt3": 12 * workers}  # three cells, and three with each of four trainings


def test_the_documentation_says_how_long_every_paper_takes() -> None:
    page = (ROOT / "docs" / "replicating.md").read_text("utf-8")
    for name in PAPERS:
        assert re.search(rf"^\| `{name}` \|.*\d s( \||.*\d s \|)$", page, re.MULTILINE), name
