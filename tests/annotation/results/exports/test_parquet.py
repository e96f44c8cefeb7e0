"""Exports as Parquet, and the folder that Hugging Face's `datasets` opens. pyarrow itself reads them back."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from django.test import Client
from django.urls import reverse

from annotation.models import Study
from annotation.record_writers import Sheet
from annotation.results import exports
from annotation.results.exports import parquet
from annotation.table_files import ReadingOptions, read_table
from tests.annotation.console_helpers import as_role
from tests.annotation.results.exports.helpers import exported, exported_bytes, read_csv, read_jsonl
from tests.factories import make_study, make_submission

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study(items=2, ratings_per_item=2)
    make_submission(study=study)
    return study


def table_of(study: Study, kind: str) -> pa.Table:
    data, count = exported_bytes(study, kind, "parquet")
    table = pq.read_table(io.BytesIO(data))
    assert table.num_rows == count
    return table


def as_cell(value: Any) -> str:
    """A value as the CSV file has it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if hasattr(value, "isoformat"):
        return str(value.isoformat(timespec="milliseconds")).replace("+00:00", "Z")
    return str(value)


@pytest.mark.parametrize("kind", ["long", "wide", "diversity-eval"])
def test_parquet_has_the_columns_and_values_of_the_csv_file(study: Study, kind: str) -> None:
    table = table_of(study, kind)
    rows = read_csv(exported(study, kind))
    assert rows
    assert table.column_names == list(rows[0])
    # An integer in a column of floats is written as 4 in CSV, and is 4.0 here.
    written = [{name: as_cell(value) for name, value in row.items()} for row in table.to_pylist()]
    for row, cells in zip(written, rows, strict=True):
        for name, cell in cells.items():
            assert row[name] == cell or float(row[name]) == float(cell), name


def test_columns_have_their_types(study: Study) -> None:
    types = {field.name: str(field.type) for field in table_of(study, "long").schema}
    expected = {
        "submission": "int64",
        "worker": "string",
        "synthetic": "bool",
        "included": "bool",
        "item": "string",
        "submitted_at": "timestamp[ms, tz=UTC]",
        "answer_text": "string",
        "slot": "int64",
    }
    assert {name: types[name] for name in expected} == expected
    assert types["value"] in ("double", "int64")


def test_values_are_those_of_json_lines(study: Study) -> None:
    lines = read_jsonl(exported(study, "long", "jsonl"))
    values = table_of(study, "long").to_pylist()
    assert [row["value"] for row in values] == [row["value"] for row in lines]
    assert [row["included"] for row in values] == [row["included"] for row in lines]


def written(*records: list[Any], texts: tuple[int, ...] = ()) -> pa.Table:
    names = [f"c{number}" for number in range(len(records[0]))]
    return pq.read_table(
        io.BytesIO(b"".join(data for data, _ in parquet.parquet_bytes(Sheet(names, texts, [list(records)]))))
    )


@pytest.mark.parametrize(
    ("values", "is_text", "kind", "read"),
    [
        ([1, None, 2], False, "int64", [1, None, 2]),
        ([1, 2.5, ""], False, "double", [1.0, 2.5, None]),
        ([True, None], False, "bool", [True, None]),
        ([1, "n/a"], False, "string", ["1", "n/a"]),
        ([True, "x", None], False, "string", ["true", "x", None]),
        ([None, ""], False, "string", [None, None]),
        (["1", "2"], True, "string", ["1", "2"]),
        (["", "=1+1"], True, "string", ["", "=1+1"]),
        ([2**53 + 1, 0.5], False, "string", [str(2**53 + 1), "0.5"]),
        ([2**64], False, "string", [str(2**64)]),
        (["half \ud800"], True, "string", ["half ?"]),
    ],
)
def test_the_type_of_a_column_holds_all_of_its_values(
    values: list[Any], is_text: bool, kind: str, read: list[Any]
) -> None:
    table = written(*([value] for value in values), texts=(0,) if is_text else ())
    assert str(table.schema.field(0).type) == kind
    assert table.column(0).to_pylist() == read


def test_rows_are_written_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP", 10)
    batches = ([[number] for number in range(start, start + 7)] for start in range(0, 35, 7))
    data = b"".join(piece for piece, _ in parquet.parquet_bytes(Sheet(["n"], (), batches)))
    opened = pq.ParquetFile(io.BytesIO(data))
    assert opened.metadata.num_row_groups == 4
    assert opened.read().column("n").to_pylist() == list(range(35))


def test_a_study_without_answers_has_the_columns_all_the_same() -> None:
    assert table_of(make_study(items=1), "long").num_rows == 0


# --- the folder ---


def archive_of(study: Study) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(exported_bytes(study, "dataset", "zip")[0]))


def test_the_folder_has_a_table_for_each_configuration_of_its_card(study: Study) -> None:
    archive = archive_of(study)
    card = archive.read("README.md").decode()
    front = yaml.safe_load(re.split(r"^---$", card, flags=re.MULTILINE)[1])
    assert front["license"] == "other"
    assert [config["config_name"] for config in front["configs"]] == ["long", "wide"]
    assert front["configs"][0]["default"] is True
    info = {entry["config_name"]: entry for entry in front["dataset_info"]}
    for config in front["configs"]:
        (files,) = config["data_files"]
        table = pq.read_table(io.BytesIO(archive.read(files["path"])))
        described = info[config["config_name"]]
        assert f"| `{config['config_name']}` |" in card
        assert [feature["name"] for feature in described["features"]] == table.column_names
        arrow = {"float64": "double"}
        types = [arrow.get(feature["dtype"], feature["dtype"]) for feature in described["features"]]
        assert types == [str(field.type) for field in table.schema]


def test_the_card_says_how_the_data_were_collected_and_what_to_fill_in(study: Study) -> None:
    card = archive_of(study).read("README.md").decode()
    assert "- Licence (`license` above): **[…]**" in card
    assert "Each item was to get 2 ratings; a hit had 1 item and paid" in card
    assert "The study opened on" in card


def test_our_own_reader_opens_the_folder(study: Study) -> None:
    data = exported_bytes(study, "dataset", "zip")[0]
    table = read_table(io.BytesIO(data), name="study.zip", options=ReadingOptions(split="long"))
    assert len(table.rows) == len(read_csv(exported(study, "long")))


# --- pages ---


@pytest.mark.parametrize(
    ("kind", "format", "content_type"),
    [("long", "parquet", "application/vnd.apache.parquet"), ("dataset", "zip", "application/zip")],
)
def test_members_download_and_others_do_not(study: Study, kind: str, format: str, content_type: str) -> None:
    address = reverse("export", args=[study.slug, kind, format])
    response = as_role("viewer", study).get(address)
    assert response.status_code == 200
    assert response["Content-Type"] == content_type
    assert f'filename="{study.slug}-{kind}.{format}"' in response["Content-Disposition"]
    assert b"".join(response.streaming_content)  # type: ignore[attr-defined]
    assert as_role("owner", make_study()).get(address).status_code == 404
    assert Client().get(address).status_code == 302


def test_ids_of_workers_are_in_no_data_set(study: Study) -> None:
    with pytest.raises(exports.ExportError, match="never says who workers are"):
        exported_bytes(study, "dataset", "zip", with_worker_ids=True)
