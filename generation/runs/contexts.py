"""Contexts of a run from a CSV, TSV or JSON lines file, read strictly: it reports every problem of the file at once.

The file has a column with the id of each context and one column per field. Cells are text and stay as they are.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from common.problems import Problem, unknown
from generation.decoding.prompts import first_words

MAX_BYTES = 64 * 1024 * 1024
MAX_CONTEXTS = 200_000
MAX_COLUMNS = 1_000
#: Limits for contexts × columns (each context has a cell for every column of the first) and for characters in a line.
MAX_CELLS = 5_000_000
MAX_LINE = 4_000_000
#: Reading stops after this many problems, because a broken file may have one in every line.
MOST_PROBLEMS = 1_000
MAX_ID = 200
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
JSON_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Context:
    """One context. ``where``: its place in the file, for messages."""

    external_id: str
    fields: Mapping[str, str]
    where: str

    def with_first_words(self, count: int) -> Context:
        """The context with only the first words of its field ``context``."""
        if "context" not in self.fields:
            return self
        return replace(self, fields={**self.fields, "context": first_words(self.fields["context"], count)})


@dataclass(frozen=True, slots=True)
class Source:
    """Which file, which column holds the id, and which columns have another name in the template.

    ``rename`` gives field → column; ``most``: read only this many contexts, from the start.
    """

    path: Path
    id: str = "id"
    rename: Mapping[str, str] | None = None
    most: int | None = None


def read_contexts(source: Source) -> tuple[list[Context], list[Problem]]:
    """The contexts and the problems of the file. If a row or a column cannot be read, there are no contexts."""
    rows, problems = read_rows(source.path)
    if not rows and not problems:
        problems = [Problem("contexts", f"{source.path.name} has no rows.", "Add one row per context.")]
    renamed = source.rename or {}
    if rows:
        columns = list(rows[0][1])
        used = {"id": source.id, **{f"fields.{field}": column for field, column in renamed.items()}}
        problems += [
            unknown(f"contexts.{key}, columns of {source.path.name}", column, columns)
            for key, column in used.items()
            if column not in columns
        ]
    if problems:
        return [], problems
    contexts = []
    for where, cells in rows[: source.most]:
        fields = {name: cell for name, cell in cells.items() if name != source.id}
        fields |= {field: cells[column] for field, column in renamed.items()}
        contexts.append(Context(cells[source.id].strip(), fields, where))
    return contexts, id_problems(contexts)


def id_problems(contexts: list[Context]) -> list[Problem]:
    """Ids that are missing, too long or used twice."""
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for context in contexts:
        name, where = context.external_id, context.where
        if not name:
            problems.append(Problem(where, "The id is empty.", "Give every context a unique id."))
        elif len(name) > MAX_ID or not name.isprintable():
            what = f"The id “{name[:40]}…” is longer than {MAX_ID} characters or contains a control character."
            problems.append(Problem(where, what, "Use a short plain name."))
        elif name in seen:
            what = f"The id “{name[:60]}” is already used: {seen[name]}."
            problems.append(Problem(where, what, "Give every context a unique id."))
        seen.setdefault(name, where)
    return problems


def read_rows(path: Path) -> tuple[list[tuple[str, dict[str, str]]], list[Problem]]:
    """The rows of a file by column, each with its place, and the problems of the file."""
    suffix = path.suffix.lower()
    if suffix not in DELIMITERS and suffix not in JSON_LINES:
        what = f"{path.name} is not a kind of file that can be read."
        return [], [
            Problem("contexts", what, f"Use a file whose name ends in {', '.join((*DELIMITERS, *JSON_LINES))}.")
        ]
    try:
        if path.stat().st_size > MAX_BYTES:
            return [], [Problem("contexts", f"{path.name} is larger than 64 MB.", "Split it into several runs.")]
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        what = f"{path.name} is not UTF-8 (byte {error.start + 1:,})."
        return [], [Problem("contexts", what, "Save it as UTF-8.")]
    except OSError as error:
        return [], [Problem("contexts", f"{path} cannot be read: {error.strerror}.", "Check the path.")]
    if long := _long_line(text):
        what = f"Line {long:,} of {path.name} has more than {MAX_LINE:,} characters."
        return [], [Problem("contexts", what, "Write one context per line.")]
    rows: list[tuple[str, dict[str, str]]] = []
    n_cells = 0
    problems: list[Problem] = []
    lines = _json_lines(text) if suffix in JSON_LINES else _delimited(text, DELIMITERS[suffix])
    for line, row in lines:
        where = f"{path.name}, line {line}"
        if isinstance(row, Problem):
            problems.append(replace(row, where=where))
        elif bad := [name for name, cell in row.items() if "\x00" in cell]:
            problems.append(Problem(f"{where}, {bad[0]}", "The cell contains a NUL character.", "Remove it."))
        else:
            rows.append((where, row))
            n_cells += len(row)
        if what := _excess(len(rows), len(rows[-1][1]) if rows else 0, n_cells):
            return [], [Problem("contexts", f"{path.name} has {what}.", "Split it, or remove columns.")]
        if len(problems) >= MOST_PROBLEMS:
            break
    return rows, problems


def _long_line(text: str) -> int:
    """The number of the first line that is too long to parse, because a parser multiplies its size; 0 if none is."""
    start, number = 0, 1
    while len(text) - start > MAX_LINE:
        end = text.find("\n", start, start + MAX_LINE + 1)
        if end < 0:
            return number
        start, number = end + 1, number + 1
    return 0


def _excess(rows: int, columns: int, cells: int) -> str:
    if rows > MAX_CONTEXTS:
        return f"more than {MAX_CONTEXTS:,} rows"
    if columns > MAX_COLUMNS:
        return f"more than {MAX_COLUMNS:,} columns"
    return f"more than {MAX_CELLS:,} cells (rows times columns)" if cells > MAX_CELLS else ""


def _delimited(text: str, delimiter: str) -> Iterator[tuple[int, dict[str, str] | Problem]]:
    """Each row with the line it begins on. Problems do not name their place."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    columns: list[str] = []
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, Problem("", f"The row cannot be read: {error}.", "Check its quotes.")
            return
        if not any(cells):
            continue
        if not columns:
            columns = [cell.strip() for cell in cells]
            if len(set(columns)) < len(columns) or not all(columns):
                yield (
                    line,
                    Problem(
                        "",
                        "The header has a column without a name, or two with the same name.",
                        "Give each column its own name.",
                    ),
                )
                return
        elif len(cells) != len(columns):
            what = f"The row has {len(cells)} cells, the header has {len(columns)}."
            yield line, Problem("", what, "Put quotes around cells that hold the separator.")
        else:
            yield line, dict(zip(columns, cells, strict=True))


def _json_lines(text: str) -> Iterator[tuple[int, dict[str, str] | Problem]]:
    fix = 'Write {"id": "1", "context": "…"}.'
    columns: list[str] = []
    for number, line in enumerate(io.StringIO(text, newline="\n"), start=1):
        if not line.strip():
            continue
        try:
            record: Any = json.loads(line.removesuffix("\n"))
        except (ValueError, RecursionError) as error:
            yield number, Problem("", f"This is not JSON: {error}.", fix)
            continue
        if not isinstance(record, dict) or not all(isinstance(v, str | int | float | None) for v in record.values()):
            yield number, Problem("", "This is not an object whose values are texts.", fix)
            continue
        columns = columns or list(record)
        cells = {str(name): "" if value is None else str(value) for name, value in record.items()}
        yield number, dict.fromkeys(columns, "") | cells
