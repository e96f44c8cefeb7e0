"""A study's tables as a folder that Hugging Face's `datasets` opens: Parquet files and a card, in one zip archive."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping

from analysis.paper.parquet_card import CardTable, parquet_card
from annotation.record_writers import Sheet
from annotation.results.description import describe_study
from annotation.results.exports.parquet import write_parquet
from annotation.results.exports.request import Request

_PIECE = 64 * 1024


def dataset_chunks(request: Request, sheets: Mapping[str, Callable[[Request], Sheet]]) -> Iterator[tuple[bytes, int]]:
    """The archive in pieces. The first has no bytes, and the number of rows of the first table.

    No file in it has a time, so the same data give the same archive.
    """
    tables: list[CardTable] = []
    with tempfile.TemporaryFile() as out:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
            for name, sheet_of in sheets.items():
                with tempfile.TemporaryFile() as table:
                    schema, rows = write_parquet(sheet_of(request), table)
                    file = f"data/{name}-00000-of-00001.parquet"
                    table.seek(0)
                    with archive.open(zipfile.ZipInfo(file), "w", force_zip64=True) as member:
                        shutil.copyfileobj(table, member)
                # `datasets` calls a double float64, and everything else as Arrow does.
                dtypes = {field.name: {"double": "float64"}.get(str(field.type), str(field.type)) for field in schema}
                tables.append(CardTable(name, file, rows, dtypes))
            card = parquet_card(describe_study(request.study), tables)
            archive.writestr(zipfile.ZipInfo("README.md"), card.encode("utf-8", "replace"))
        yield b"", tables[0].rows
        out.seek(0)
        while piece := out.read(_PIECE):
            yield piece, 0
