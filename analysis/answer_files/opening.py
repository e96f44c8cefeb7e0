"""Which form a file with answers has."""

from __future__ import annotations

import sys
from pathlib import Path

from analysis.answer_files.elsewhere import answers_of
from analysis.answer_files.files import AnswerFile, LongFile, TableFile, is_long
from analysis.answer_files.foreign_files import PARQUET, read_elsewhere
from analysis.answer_files.parquet_files import ParquetFile
from analysis.input_errors import InputError
from analysis.tables import format_of, header_of

READABLE = (
    "a bundle (a folder or .zip file), the export “long” (CSV, JSON lines or Parquet), answers of the API (.json), an "
    "export of Label Studio, Argilla or Potato, or any table (CSV, TSV or JSONL, UTF-8) with one answer per row"
)


def open_answers(path: str, *, accept_edited: bool = False) -> AnswerFile:
    """The answers in a file or a folder. ``accept_edited``: CSV files of a bundle may have been edited.

    What is left out of another tool's export goes to standard error, too.

    InputError: it is none of READABLE, or damaged.
    """
    file = Path(path)
    if (elsewhere := read_elsewhere(path)) is not None:
        for note in elsewhere.notes:
            print(f"{path}: {note}", file=sys.stderr)
        return answers_of(path, elsewhere)
    if file.suffix.lower() == PARQUET and file.is_file():
        return ParquetFile(path)
    if file.is_dir() and not (file / "study.json").exists():
        raise InputError(path, "", "this is a folder, and no bundle of a study", "name a file in it")
    if is_bundle(path):
        from analysis.answer_files.rows import BundleFile  # loads what only bundles need
        from analysis.data import BundleError, read_bundle

        try:
            return BundleFile(path, read_bundle(path, accept_edited=accept_edited))
        except BundleError as error:
            raise InputError(path, "", str(error).removeprefix(f"{path}: ")) from error
    if file.suffix.lower() == ".json":
        from analysis.answer_files.api_pages import read_api_answers

        return read_api_answers(path)
    # A pipe can only be read once.
    if not file.is_file():
        return TableFile(path)
    names = header_of(path)
    return LongFile(path, names, guarded=format_of(path).kind == "separated") if is_long(names) else TableFile(path)


def is_bundle(path: str) -> bool:
    """Whether this is a folder or an archive."""
    return Path(path).is_dir() or Path(path).suffix.lower() == ".zip"
