"""Reads JSON strictly: one object per line, or a list of objects."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from annotation.table_files.encodings import MAX_LINE, EncodingCheck
from annotation.table_files.tables import (
    MAX_COLUMNS,
    Problems,
    Table,
    TableProblems,
    check_cells,
    check_size,
    no_rows,
    readable,
    refused,
)
from annotation.task_types.items import Row

JSON_LINES = (".jsonl", ".ndjson")
JSON_LIST = ".json"
_EXAMPLE = '{"sample_id": "1", "context": "…"}'
_LITERALS = {None: "", True: "true", False: "false"}
#: What separates the entries of a list: a string is skipped as a whole, so that brackets in it do not count.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|["\[\]{},]', re.DOTALL)


class _BadJson(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise _BadJson(f"The name “{readable(name)[:60]}” is used {count} times in this object.")
    return dict(pairs)


def _constant(name: str) -> Any:
    raise _BadJson(f"{name} is not valid JSON. Write null for a missing number.")


# Numbers keep their digits as in the file: 0.70 stays 0.70.
_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_int=str, parse_float=str, parse_constant=_constant)


def read_json_lines(lines: Iterator[str], name: str, encoding: str) -> Table:
    """A table of the objects, one per line. Raises TableProblems."""
    entries = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    return _read(entries, name, encoding, "line", "as an object on its own line")


def read_json_list(text: TextIO, name: str, encoding: str) -> Table:
    """A table of the objects in the list. Raises TableProblems."""
    return _read(_entries(text.read()), name, encoding, "entry", "as an object in the list")


def _read(entries: Iterable[tuple[int, str]], name: str, encoding_name: str, called: str, where: str) -> Table:
    problems = Problems()
    encoding = EncodingCheck(encoding_name, problems)
    columns: dict[str, None] = {}
    records: list[tuple[int, dict[str, str]]] = []
    for number, entry in entries:
        cells = _cells(number, entry, called, problems, encoding)
        if cells is None or problems.total:
            continue
        columns |= dict.fromkeys(cells)
        records.append((number, cells))
        check_size(len(records), len(columns))
        if len(columns) > MAX_COLUMNS:
            what = f"The file has more than {MAX_COLUMNS:,} different names."
            problems.add(number, "", what, "Use the same names in all objects.")
            break
    encoding.finish()
    if problems.total:
        raise TableProblems(problems.problems, problems.total, offer=encoding.offer)
    if not records:
        raise no_rows(where)
    empty = dict.fromkeys(columns, "")
    return Table(list(columns), [Row(number, empty | cells) for number, cells in records], name)


def _entries(text: str) -> Iterator[tuple[int, str]]:
    """The numbered entries of a list as text. A parser would need far more memory for all of them at once.

    Raises TableProblems if this is no list, or does not end.
    """
    stripped = text.lstrip()
    if not stripped.startswith("["):
        what = "The file is an object, not a list of objects." if stripped.startswith("{") else "The file is no list."
        raise refused(what, f"Write [{_EXAMPLE}, …], or one object per line in a file that ends in .jsonl.")
    start = text.index("[") + 1
    depth, number = 1, 0
    for token in _TOKEN.finditer(text, start):
        mark = token[0]
        if mark == '"':
            raise refused(f"A text in entry {number + 1:,} has no closing quotation mark.", "Close it.")
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(mark, 0)
        if depth and not (depth == 1 and mark == ","):
            continue
        number += 1
        entry, start = text[start : token.start()], token.end()
        if len(entry) > MAX_LINE:
            raise refused(f"Entry {number:,} has more than {MAX_LINE:,} characters.", "Write one item per entry.")
        if depth or number > 1 or entry.strip():
            yield number, entry
        if not depth:
            break
    if depth:
        raise refused("The list does not end: a closing bracket ] is missing.", "Save the whole file again.")
    if text[start:].strip():
        raise refused("There is text after the end of the list.", "Write a single list.")


def _cells(number: int, entry: str, called: str, problems: Problems, encoding: EncodingCheck) -> dict[str, str] | None:
    if not entry.isascii() and not encoding.look(number, "", entry):
        return None
    fix = f"Write one object per {called}, such as {_EXAMPLE}"
    try:
        record = _decoder.decode(entry.strip())
    except json.JSONDecodeError as error:
        problems.add(number, "", f"This {called} is not valid JSON: {error.msg} at character {error.pos + 1}.", fix)
        return None
    except (_BadJson, RecursionError) as error:
        what = str(error) if isinstance(error, _BadJson) else f"This {called} is nested too deeply."
        problems.add(number, "", what, fix)
        return None
    if not isinstance(record, dict):
        problems.add(number, "", f"This {called} is not an object.", fix)
        return None
    cells: dict[str, str] = {}
    for name, value in record.items():
        if not name.strip():
            problems.add(number, "", "A name in this object is empty.", "Name the value, or remove it.")
        elif isinstance(value, dict | list):
            kind = "a list" if isinstance(value, list) else "an object"
            problems.add(number, readable(name), f"The value is {kind}.", "Write text or a number.")
        else:
            cells[name.strip()] = value if isinstance(value, str) else _LITERALS[value]
    check_cells(number, list(cells), list(cells.values()), problems)
    check_cells(number, list(cells), list(cells), problems)
    return cells
