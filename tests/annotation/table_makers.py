"""Files of rows as other programs write them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq


def workbook(rows: Sequence[Sequence[Any]], *, title: str = "Items", **sheets: Sequence[Sequence[Any]]) -> bytes:
    """A workbook by openpyxl, with further sheets by name."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = title
    for row in rows:
        sheet.append(row)
    for name, further in sheets.items():
        other = book.create_sheet(name)
        for row in further:
            other.append(row)
    return saved(book)


def saved(book: Any) -> bytes:
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def parquet(columns: Mapping[str, Any], **options: Any) -> bytes:
    """A Parquet file by pyarrow."""
    out = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), out, **options)
    return out.getvalue()


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def changed(archive: bytes, part: str, old: str, new: str) -> bytes:
    """A workbook with other XML in one of its parts, as programs write it that openpyxl does not write like."""
    with zipfile.ZipFile(io.BytesIO(archive)) as before:
        files = {name: before.read(name) for name in before.namelist()}
    text = files[part].decode().replace("<v></v>", "<v />")  # openpyxl writes the first where lxml is installed
    assert old in text, text
    return zipped({**files, part: text.replace(old, new)})
