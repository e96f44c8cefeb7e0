"""Which tool a file of answers is from: Label Studio, Argilla or Potato, seen by its shape."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.answer_files import argilla, label_studio, potato
from analysis.answer_files.elsewhere import Elsewhere
from analysis.input_errors import InputError
from analysis.tables import JSONL, format_of, header_of, read_texts

PARQUET = ".parquet"


def read_elsewhere(path: str) -> Elsewhere | None:
    """The answers in the export of another tool; None if it is from none. InputError: it is from one, and unusable."""
    file = Path(path)
    if file.is_dir():
        return potato.read_folder(file) if potato.is_folder(file) else None
    suffix = file.suffix.lower()
    if not file.is_file() or suffix == ".zip":
        return None
    if suffix == PARQUET:
        return _of_records(path, _parquet_records(file))
    if suffix == ".json":
        try:
            content = json.loads(file.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError, RecursionError):
            return None  # whoever reads it next says why
        if potato.is_state(content):
            return potato.read_state(path, content)
        return _of_records(path, content) if isinstance(content, list) else None
    if suffix in JSONL or format_of(path).kind == "jsonl":
        return _of_lines(path)
    columns = header_of(path)
    if not (label_studio.is_flat(columns) or potato.is_table(columns)):
        return None
    texts = read_texts(path)
    records = [dict(zip(columns, row, strict=True)) for row in texts[columns].itertuples(index=False, name=None)]
    return potato.read_table(path, records) if potato.is_table(columns) else label_studio.read_flat(path, records)


def _of_records(path: str, records: Sequence[Any]) -> Elsewhere | None:
    if not records or not all(isinstance(record, dict) for record in records):
        return None
    if label_studio.is_tasks(records):
        return label_studio.read_tasks(path, records)
    if argilla.is_records(records):
        return argilla.read_records(path, records)
    return label_studio.read_flat(path, records) if label_studio.is_flat(list(records[0])) else None


def _of_lines(path: str) -> Elsewhere | None:
    """A file with one object per line. Only the first is read to see whether it is from another tool."""
    with Path(path).open(encoding="utf-8-sig", errors="replace") as lines:
        first = next((line for line in lines if line.strip()), "")
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not (potato.is_lines(record) or argilla.is_records([record])):
        return None
    records: list[Mapping[str, Any]] = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8-sig").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            records.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise InputError(path, f"line {number}", f"this is not JSON ({error})", "export it again") from None
    return potato.read_lines(path, records) if potato.is_lines(record) else argilla.read_records(path, records)


def _parquet_records(file: Path) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        records: list[dict[str, Any]] = pq.read_table(file).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise InputError(file, "", f"this is no Parquet file, or it is damaged ({error})", "write it again") from None
    return records
