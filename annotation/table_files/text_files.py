"""Reads CSV, TSV and JSON: the format follows from the ending of the name."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import BinaryIO

from annotation.table_files.delimited import DELIMITERS, read_delimited
from annotation.table_files.encodings import MAX_LINE, UTF16_MARKS, Limited, LongLine, lines_of, text_of
from annotation.table_files.json_files import JSON_LINES, JSON_LIST, read_json_lines, read_json_list
from annotation.table_files.tables import UTF16, ReadingOptions, Table, refused

TEXT_SUFFIXES = (*DELIMITERS, *JSON_LINES, JSON_LIST)


def read_text(file: BinaryIO, name: str, suffix: str, options: ReadingOptions, limit: int | None) -> Table:
    """The file as a table. Raises TableProblems, or TooBig above ``limit`` bytes."""
    buffered = io.BufferedReader(Limited(file, limit), 1 << 16)
    start = buffered.peek(4)[:4]
    if not start:
        raise refused("The file is empty.", "Choose the file with the items.")
    if start == b"PK\x03\x04":
        what = "This is a workbook or a zip file, not a text file."
        raise refused(what, "Give it its own ending: .xlsx if it is a workbook, .zip if it is a folder of a data set.")
    if start == b"PAR1":
        raise refused("This is a Parquet file, not a text file.", "Call it .parquet.")
    if start[:2] in UTF16_MARKS:
        options = replace(options, encoding=UTF16)
    text = text_of(buffered, options.encoding)
    try:
        if suffix in JSON_LINES:
            return read_json_lines(lines_of(text), name, options.encoding)
        if suffix == JSON_LIST:
            return read_json_list(text, name, options.encoding)
        return read_delimited(lines_of(text), name, suffix, options)
    except LongLine as error:
        what = f"Line {error.args[0]:,} of the file has more than {MAX_LINE:,} characters."
        raise refused(what, "Write one item per line.") from None
