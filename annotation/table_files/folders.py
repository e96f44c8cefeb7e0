"""Reads a folder in the layout of Hugging Face's `datasets`, as a zip file: one split of it.

The files of a split are found by name, as the library finds them: ``train.csv``, ``data/train-00000-of-00002.parquet``
or ``train/part.jsonl``. Without such names, all files are one split, ``train``.
Source: Hugging Face Hub documentation, “Data files Configuration”; the keywords are those of `datasets.data_files`.
"""

from __future__ import annotations

import re
import tempfile
import zipfile
from dataclasses import replace
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from annotation.table_files.parquet import read_parquet
from annotation.table_files.tables import (
    Offer,
    ReadingOptions,
    Table,
    TableProblems,
    check_size,
    refused,
)
from annotation.table_files.text_files import TEXT_SUFFIXES, read_text
from annotation.table_files.whole_files import MAX_UNPACKED, TextBudget, opened_archive, seekable
from annotation.task_types.items import Row
from common.words import counted

PARQUET = ".parquet"
_SUFFIXES = (*TEXT_SUFFIXES, PARQUET)
_SPLITS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
#: Shards that ``push_to_hub`` names itself may belong to a split of any name.
_SHARD = re.compile(r"(?:^|/)(?P<split>[\w.]+)-(?P<number>\d{5})-of-(?P<count>\d{5})[.-]")
#: Files about the data, which are no data: descriptions, metadata of the library, what operating systems add.
_IGNORED_NAMES = ("dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json", "croissant.json")
_EXAMPLE = "Such a folder has files like train.csv or data/train-00000-of-00001.parquet."
_PIECE = 1 << 20


def read_folder(file: BinaryIO, name: str, options: ReadingOptions, limit: int | None) -> Table:
    """The rows of one split: the one in ``options``, or the only one. Raises TableProblems."""
    with seekable(file, limit) as whole:
        damaged = refused("This is no zip file, or it is damaged.", "Zip the folder of the data set again.")
        with opened_archive(whole, damaged=damaged) as archive:
            names = archive.namelist()
            if "[Content_Types].xml" in names:
                raise refused("This is an Excel workbook, not a folder of a data set.", "Call it .xlsx.")
            splits = _splits(names)
            if not splits:
                if any(member.endswith(".arrow") for member in names):
                    what = "The folder contains Arrow files, as save_to_disk() writes them."
                    raise refused(what, "Save it as Parquet instead: Dataset.to_parquet() does.")
                raise refused("The zip file contains no data files.", _EXAMPLE)
            return _read_split(archive, name, splits, options)


def _splits(names: list[str]) -> dict[str, list[str]]:
    """The data files of each split."""
    data = []
    for member in sorted(names):
        path = PurePosixPath(member)
        hidden = any(part.startswith(".") or part == "__MACOSX" for part in path.parts)
        is_description = path.name in _IGNORED_NAMES or path.stem.upper() in ("README", "LICENSE")
        is_folder = member.endswith("/")
        if not is_folder and not hidden and not is_description and path.suffix.lower() in _SUFFIXES:
            data.append(member)
    splits: dict[str, list[str]] = {}
    for member in data:
        if split := _split_of(member):
            splits.setdefault(split, []).append(member)
    return splits if splits or not data else {"train": data}


def _split_of(member: str) -> str:
    if shard := _SHARD.search(member):
        word = shard["split"].lower()
        return next((split for split, words in _SPLITS.items() if word in words), shard["split"])
    # The name of the file decides before that of its folder.
    for part in reversed(PurePosixPath(member).parts):
        words = re.split(r"[\W_\d]+", PurePosixPath(part).stem.lower())
        for split, keywords in _SPLITS.items():
            if any(word in keywords for word in words):
                return split
    return ""


def _read_split(archive: zipfile.ZipFile, name: str, splits: dict[str, list[str]], options: ReadingOptions) -> Table:
    offer = Offer("split", [(split, f"{split} ({counted(len(files), 'file')})") for split, files in splits.items()])
    if options.split and options.split not in splits:
        what = f"There is no split “{options.split[:60]}”."
        raise refused(what, f"The splits are {', '.join(splits)[:500]}.", offer)
    if not options.split and len(splits) > 1:
        what = f"The folder has {len(splits)} splits: {', '.join(splits)[:500]}."
        raise refused(what, "Choose the split with the items.", offer)
    split = options.split or next(iter(splits))
    members = splits[split]
    _refuse_incomplete(split, members)
    inner = replace(options, split="", mapping={})
    budget = TextBudget()
    columns: list[str] = []
    rows: list[Row] = []
    notes: dict[str, None] = {}
    for member in members:
        try:
            table = _read_member(archive, member, inner)
        except TableProblems as error:
            raise _in_member(error, member) if len(members) > 1 else error from None
        if columns and set(table.columns) != set(columns):
            what = f"The file {member[-100:]} has other columns than {members[0][-100:]}."
            raise refused(what, f"It has {', '.join(table.columns)[:300]}. Write the same columns to all files.")
        columns = columns or table.columns
        notes |= dict.fromkeys(table.notes)
        start = rows[-1].number if rows else 0
        for row in table.rows:
            budget.spend(sum(map(len, row.cells.values())))
            rows.append(replace(row, number=start + row.number))
        check_size(len(rows), len(columns))
    if len(members) > 1:
        notes[f"The rows of {len(members)} files of the split {split} were read in the order of their names."] = None
    return Table(columns, rows, name, notes=list(notes), offer=offer if len(splits) > 1 else None)


def _read_member(archive: zipfile.ZipFile, member: str, options: ReadingOptions) -> Table:
    suffix = PurePosixPath(member).suffix.lower()
    with archive.open(member) as packed:
        if suffix != PARQUET:
            return read_text(cast(BinaryIO, packed), member, suffix, options, MAX_UNPACKED)
        with tempfile.TemporaryFile() as unpacked:
            while piece := packed.read(_PIECE):
                unpacked.write(piece)
            unpacked.seek(0)
            return read_parquet(cast(BinaryIO, unpacked), member, MAX_UNPACKED)


def _refuse_incomplete(split: str, members: list[str]) -> None:
    shards = [shard for member in members if (shard := _SHARD.search(member))]
    if not shards:
        return
    numbers = {int(shard["number"]) for shard in shards}
    missing = sorted({*range(int(shards[0]["count"]))} - numbers)
    if missing:
        listed = ", ".join(f"{number:05}" for number in missing[:10])
        what = f"The split {split} should have {int(shards[0]['count']):,} files; these are missing: {listed}."
        raise refused(what, "Add them, or write the split as one file.")
    if len({shard["count"] for shard in shards}) > 1 or len(shards) < len(members):
        what = f"The split {split} has files from different exports: {', '.join(members)[:300]}."
        raise refused(what, "Keep only those of one export.")


def _in_member(error: TableProblems, member: str) -> TableProblems:
    """The problems with the name of their file. Their rows are counted in that file."""
    named = [replace(problem, what=f"{member[-100:]}: {problem.what}") for problem in error.problems]
    return TableProblems(named, error.total, None, error.offer)
