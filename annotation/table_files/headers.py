"""The header of a table: its names, and in a CSV file the separator that it shows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from annotation.table_files.tables import MAX_COLUMNS, Offer, refused
from annotation.task_types.items import RowProblem

#: What can separate cells, by the character.
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
#: The name of each in options and in study files.
SEPARATOR_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t"}
#: Lines of a file that a header may have: its names can contain line breaks.
_HEADER_LINES = 50
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


def first_record(lines: Iterator[str]) -> list[str]:
    """The lines of a file up to the end of its header, blank ones included."""
    header: list[str] = []
    for line in lines:
        header.append(line)
        text = "".join(header)
        if len(header) == _HEADER_LINES or (text.strip(" \r\n,;\t") and text.count('"') % 2 == 0):
            break
    return header


def separator_in(header: str, usual: str) -> str:
    """The character that separates the names of a header: the one that it contains outside of quotation marks.

    ``usual``: that of a header with a single column. Raises TableProblems if the header contains several.
    """
    names = _QUOTED.sub("", header.strip("\r\n"))
    present = [mark for mark in SEPARATORS if mark in names]
    if len(present) > 1:
        counts = [f"{SEPARATORS[mark]} ({names.count(mark) + 1} columns)" for mark in present]
        what = f"The header contains {' and '.join(counts)}, so it is not clear which of them separate the cells."
        named = {mark: name for name, mark in SEPARATOR_NAMES.items()}
        raise refused(
            what,
            f"Choose the separator ({' or '.join(named[mark] for mark in present)}), or put quotation marks around "
            "names that contain one of the others.",
            Offer(
                "separator", [(named[mark], count.capitalize()) for mark, count in zip(present, counts, strict=True)]
            ),
        )
    return present[0] if present else usual


def layout_problems(columns: Sequence[str], delimiter: str) -> list[RowProblem]:
    """Too many columns, or cells that are separated by another character."""
    if len(columns) > MAX_COLUMNS:
        what = f"The header has {len(columns):,} columns. The limit is {MAX_COLUMNS:,}."
        return [RowProblem(0, "", what, "Keep only the columns that the study needs.")]
    problems = []
    for mark, called in SEPARATORS.items():
        if len(columns) == 1 and mark != delimiter and mark in columns[0]:
            separator = SEPARATORS[delimiter]
            what = (
                f"The header is one column “{columns[0][:60]}”: "
                f"the cells seem to be separated by {called}, not {separator}."
            )
            fix = f"Save it as .csv, or with {separator} between the cells."
            problems.append(RowProblem(0, "", what, fix))
    return problems


def name_problems(columns: Sequence[str]) -> list[RowProblem]:
    """Columns without a name, and names that several columns have."""
    problems = []
    for number, name in enumerate(columns, 1):
        if not name:
            what = f"Column {number} has no name."
            problems.append(RowProblem(0, f"column {number}", what, "Name it, or delete the column."))
    for name, count in Counter(columns).items():
        if name and count > 1:
            problems.append(
                RowProblem(0, name, f"{count} columns are called “{name[:60]}”.", "Give each column its own name.")
            )
    return problems
