"""Cells that a spreadsheet would run are made safe, and are read back unchanged."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from annotation.record_writers import Sheet, csv_bytes, jsonl_bytes
from common.cells import protect_cell, restore_cell
from tests.annotation.results.exports.helpers import exported, one_set, read_csv, read_jsonl, study_of
from tests.factories import make_submission


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\u00a0=1", "\ufeff=1", "\u200b=1", "＝1",
     "＋1", "－1a", "＠x", "﹦1", "'=1", "''=1", "-", "-- What", "-ever", "=", "-1.5.2", "+49 30 1", "--1", "-1e",
     "-0x1", "=-1.5"],
)  # fmt: skip
def test_possible_formulas_get_an_apostrophe(text: str) -> None:
    assert protect_cell(text) == f"'{text}"
    assert restore_cell(f"'{text}") == text


@pytest.mark.parametrize(
    "text",
    ["", "a", "'tis", "''", "'", "1=1", "a=b", "-1.5", "+2", "-.5", "-3.", "1e-7", "-1e+7", "  text", "“=1”", "(=1)",
     "''tis", "0"],
)  # fmt: skip
def test_other_texts_and_numbers_stay_as_they_are(text: str) -> None:
    assert protect_cell(text) == text
    assert restore_cell(text) == text


@given(st.one_of(st.text(max_size=20), st.text(alphabet="'=+-@ \t\r\n\0＝1.e", max_size=8)))
@example("'=")
@example("''-1")
@example("'-1.5")
@example("-1.5")
def test_a_protected_cell_comes_back_and_begins_with_nothing_that_is_run(text: str) -> None:
    cell = protect_cell(text)
    assert restore_cell(cell) == text
    if cell[:1] in ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"):
        float(cell)
    if cell.lstrip(" ")[:1] in ("=", "@"):
        pytest.fail(repr(cell))


@pytest.mark.django_db
@given(text=st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30))
@example(text='=HYPERLINK("http://x","y")')
@example(text="line\rbreak")
@example(text="a,b;\"c\"\r\n'd'")
@example(text="\u2028\u0085")
def test_any_text_comes_back_from_every_cell_of_a_file(text: str) -> None:
    def sheet() -> Sheet:
        batches: list[list[list[Any]]] = [[[text, -1.5]], [[text, None]]]
        return Sheet([f"={text}", "n"], [0], iter(batches))

    written = b"".join(data for data, _ in csv_bytes(sheet())).decode()
    header, first, second = csv.reader(io.StringIO(written, newline=""), strict=True)
    assert [restore_cell(header[0]), header[1]] == [f"={text}", "n"]
    assert [restore_cell(first[0]), first[1]] == [text, "-1.5"]
    assert [restore_cell(second[0]), second[1]] == [text, ""]
    lines = b"".join(data for data, _ in jsonl_bytes(sheet())).decode().split("\n")
    assert [json.loads(line) for line in lines[:2]] == [{f"={text}": text, "n": -1.5}, {f"={text}": text, "n": None}]


@pytest.mark.django_db
def test_a_workers_formula_is_made_safe_in_csv_and_untouched_in_json_lines() -> None:
    study = study_of([one_set(sample_id="=cmd|' /C calc'!A0")])
    submission = make_submission(study=study)
    own = submission.ratings.get(question="own_response")
    own.delete()
    own.pk, own.text = None, "=IMPORTXML(1)"
    own.save(force_insert=True)
    csv_row = next(row for row in read_csv(exported(study, "long")) if row["criterion"] == "own_response")
    assert (csv_row["answer_text"], csv_row["item"]) == ("'=IMPORTXML(1)", "'=cmd|' /C calc'!A0")
    json_row = next(r for r in read_jsonl(exported(study, "long", "jsonl")) if r["criterion"] == "own_response")
    assert (json_row["answer_text"], json_row["item"]) == ("=IMPORTXML(1)", "=cmd|' /C calc'!A0")
    assert not exported(study, "long").startswith("\ufeff")
