"""The export ``long`` as a Parquet file."""

from __future__ import annotations

from functools import partial

from analysis.answer_files.files import COUNTED_ROLES, is_long
from analysis.answer_files.rows import RowsFile
from analysis.input_errors import InputError


class ParquetFile(RowsFile):
    """The answers in the figures, from a Parquet file with the columns of the export ``long``."""

    def __init__(self, path: str) -> None:
        """InputError: other columns, or no answers."""
        import pyarrow.parquet as pq  # takes half a second

        table = pq.read_table(path)
        if not is_long(table.column_names):
            fix = "export long as Parquet, or save your own table as CSV"
            raise InputError(path, "", "this Parquet file is not the export “long”", fix)
        frame = table.to_pandas()
        frame = frame[frame["included"].astype(bool) & frame["role"].fillna("").isin(COUNTED_ROLES)]
        if frame.empty:
            raise InputError(path, "", "no answer is in the figures", "see the columns included, why_not and role")
        frame = frame.reset_index(drop=True)
        super().__init__(path, {str(name): partial(frame.__getitem__, name) for name in frame.columns})
