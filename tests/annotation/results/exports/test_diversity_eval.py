"""The diversity-eval export: the imported file with the study's own figures."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from annotation.table_files import read_table
from annotation.task_types.items import Row
from annotation.task_types.registry import get_type
from common.cells import restore_cell
from tests.annotation.results.exports.helpers import exported, one_set, rated, study_of
from tests.factories import make_submission

RELEASED = (
    "conTest/con_test_200_with_hds_resp_gen.csv",
    "conTest/con_test_200_with_hds_prompt_gen.csv",
    "decTest/dec_test_200_with_hds_prompt_gen.csv",
    "McDiv/mcdiv_all_no_hds_story_gen.csv",
)


@pytest.mark.django_db
@pytest.mark.released
@pytest.mark.parametrize("file", RELEASED)
@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_export_of_a_released_file_is_that_file_with_our_figures(released: Path, file: str, format: str) -> None:
    with (released / "diversity-eval" / file).open("rb") as source:
        table = read_table(source, name=file)
    study = study_of([row.cells for row in table.rows])
    ours = ("metric_abs_hds_mean", "metric_abs_hds_std")
    text = exported(study, "diversity-eval", format)
    again = read_table(io.BytesIO(text.encode()), name=f"export.{format}")
    if file.startswith("McDiv"):
        place = table.columns.index("metric_AveragedCosineSimilarity")
        assert again.columns == [*table.columns[:place], *ours, *table.columns[place:]]
    else:
        assert again.columns == table.columns
    restore = restore_cell if format == "csv" else str
    for before, after in zip(table.rows, again.rows, strict=True):
        rest = {name: restore(cell) for name, cell in after.cells.items() if name not in ours}
        assert rest == {name: cell for name, cell in before.cells.items() if name not in ours}
        assert [after.cells[name] for name in ours] == ["", ""], "nobody has rated: figures of others are not ours"


@pytest.mark.django_db
def test_figures_have_three_decimals_as_released() -> None:
    study = study_of([one_set(metric_abs_hds_mean="1.111", metric_other="0.5")], ratings=3)
    rated(study, {name: [("a", "diversity", "", value)] for name, value in (("x", 4.0), ("y", 4.5), ("z", 5.0))})
    text = exported(study, "diversity-eval")
    # s.d. with ddof 0 of 4, 4.5, 5 is sqrt(1/6) = 0.408…
    assert text == (
        "sample_id,context,label_value,label_name,resp_0,resp_1,metric_abs_hds_mean,metric_abs_hds_std,metric_other\n"
        "a,Hi.,,,Hello.,Bye.,4.500,0.408,0.5\n"
    )


@pytest.mark.released
def test_released_standard_deviations_divide_by_n(released: Path) -> None:
    """Ten ratings in half steps: the sum of their squares is a quarter of a whole number, which shows the divisor."""
    with (released / "diversity-eval/conTest/con_test_200_with_hds_prompt_gen.csv").open(newline="") as file:
        figures = [(float(r["metric_abs_hds_mean"]), float(r["metric_abs_hds_std"])) for r in csv.DictReader(file)]
    of_ten = [(mean, sd) for mean, sd in figures if (mean * 20).is_integer()]
    assert len(of_ten) > 100

    def fits(ddof: int) -> int:
        quarters = [4 * (sd**2 * (10 - ddof) + 10 * mean**2) for mean, sd in of_ten]
        return sum(1 for number in quarters if abs(number - round(number)) < 0.05)

    assert fits(0) > 0.95 * len(of_ten)
    assert fits(1) < 0.3 * len(of_ten)


@pytest.mark.django_db
@pytest.mark.parametrize("task_type", ["abs_hds", "asp_hds", "rnk_hds", "sim_hds"])
@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_import_of_our_own_export_gives_the_same_items(task_type: str, format: str) -> None:
    twice = 2 if task_type == "rnk_hds" else 1
    rows = [
        one_set(sample_id=f"=id{n}", context="-- What the\r\n'=1+1'\rcell; \"quoted\"", label_value="-1.5",
                label_name="@shift", resp_0=f"'tis {n}{half}", resp_1="＝cmd|' /C calc'!A0", resp_2="\t tab", note="+1")
        for n in range(3) for half in range(twice)
    ]  # fmt: skip
    study = study_of(rows, task_type=task_type)
    make_submission(study=study)
    text = exported(study, "diversity-eval", format)
    table = read_table(io.BytesIO(text.encode()), name=f"export.{format}")
    restore = restore_cell if format == "csv" else str
    ours = (f"metric_{task_type}_mean", f"metric_{task_type}_std")
    back = [
        Row(row.number, {name: restore(cell) for name, cell in row.cells.items() if name not in ours})
        for row in table.rows
    ]
    items, problems = get_type(task_type).read_items(back, study.config)
    assert problems == []
    found = [(item.external_id, item.payload) for item in items]
    assert found == [(item.external_id, item.payload) for item in study.items.order_by("position")]
