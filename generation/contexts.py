"""Contexts of a run from a CSV, TSV or JSON lines file, read strictly: every problem of the whole file at once.

The file has a column with the id of each context and one column per field. Cells are text as they stand.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from generation.problems import Problem, unknown

MAX_BYTES = 256 * 1024 * 1024
MAX_CONTEXTS = 200_000
MAX_ID = 200
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
JSON_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Context:
    """One context with its place in the file, for messages."""

    external_id: str
    fields: Mapping[str, str]
    place: str


@dataclass(frozen=True, slots=True)
class Source:
    """Which file, which column holds the id, and which columns are called otherwise in the template.

    ``rename`` gives field → column; ``most`` takes only so many contexts, from the first.
    """

    path: Path
    id: str = "id"
    rename: Mapping[str, str] | None = None
    most: int | None = None


def read_contexts(source: Source) -> tuple[list[Context], list[Problem]]:
    """The contexts, which count only when there are no problems."""
    try:
        rows, problems = _read_rows(source.path)
    except UnicodeDecodeError as error:
        what = f"{source.path.name} is not UTF-8 (byte {error.start + 1:,})."
        return [], [Problem("contexts", what, "Save it as UTF-8.")]
    except OSError as error:
        return [], [Problem("contexts", f"{source.path} cannot be read: {error.strerror}.", "Check the path.")]
    if not rows and not problems:
        problems = [Problem("contexts", f"{source.path.name} has no rows.", "Add one row per context.")]
    if rows:
        problems += _column_problems(source, list(rows[0][1]))
    if problems:
        return [], problems
    contexts = [_context(source, place, cells) for place, cells in rows[: source.most]]
    return contexts, id_problems(contexts)


def id_problems(contexts: list[Context]) -> list[Problem]:
    """Ids that are missing, too long or there twice."""
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for context in contexts:
        name, place = context.external_id, context.place
        if not name:
            problems.append(Problem(place, "The id is empty.", "Give every context an id of its own."))
        elif len(name) > MAX_ID or not name.isprintable():
            what = f"The id “{name[:40]}…” is longer than {MAX_ID} characters or holds a control character."
            problems.append(Problem(place, what, "Use a short plain name."))
        elif name in seen:
            what = f"The id “{name[:60]}” stands at {seen[name]}, too."
            problems.append(Problem(place, what, "Give every context an id of its own."))
        seen.setdefault(name, place)
    return problems


def _context(source: Source, place: str, cells: Mapping[str, str]) -> Context:
    fields = {name: cell for name, cell in cells.items() if name != source.id}
    fields |= {field: cells[column] for field, column in (source.rename or {}).items()}
    return Context(cells[source.id].strip(), fields, place)


def _column_problems(source: Source, columns: list[str]) -> list[Problem]:
    wanted = {"id": source.id, **{f"fields.{field}": column for field, column in (source.rename or {}).items()}}
    return [
        unknown(f"contexts.{key}, columns of {source.path.name}", column, columns)
        for key, column in wanted.items()
        if column not in columns
    ]


def _read_rows(path: Path) -> tuple[list[tuple[str, dict[str, str]]], list[Problem]]:
    suffix = path.suffix.lower()
    if suffix not in DELIMITERS and suffix not in JSON_LINES:
        what = f"{path.name} is no kind of file that can be read."
        return [], [Problem("contexts", what, f"Its name ends in {', '.join((*DELIMITERS, *JSON_LINES))}.")]
    if path.stat().st_size > MAX_BYTES:
        return [], [Problem("contexts", f"{path.name} is larger than 256 MB.", "Split it into several runs.")]
    text = path.read_text(encoding="utf-8-sig")
    rows: list[tuple[str, dict[str, str]]] = []
    problems: list[Problem] = []
    lines = _json_lines(text) if suffix in JSON_LINES else _delimited(text, DELIMITERS[suffix])
    for line, found in lines:
        place = f"{path.name}, line {line}"
        if isinstance(found, Problem):
            problems.append(replace(found, place=place))
        elif bad := [name for name, cell in found.items() if "\x00" in cell]:
            problems.append(Problem(f"{place}, {bad[0]}", "The cell holds a NUL character.", "Take it out."))
        else:
            rows.append((place, found))
        if len(rows) > MAX_CONTEXTS:
            problems.append(Problem("contexts", f"{path.name} has more than {MAX_CONTEXTS:,} rows.", "Split it."))
            break
    return rows, problems


def _delimited(text: str, delimiter: str) -> Iterator[tuple[int, dict[str, str] | Problem]]:
    """Each row with the line it begins in; a problem says nothing of its place."""
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
                yield line, Problem("", "The header has a column without a name, or two of one name.", "Name each.")
                return
        elif len(cells) != len(columns):
            what = f"The row has {len(cells)} cells, the header has {len(columns)}."
            yield line, Problem("", what, "Put quotes around cells that hold the separator.")
        else:
            yield line, dict(zip(columns, cells, strict=True))


def _json_lines(text: str) -> Iterator[tuple[int, dict[str, str] | Problem]]:
    mend = 'Write {"id": "1", "context": "…"}.'
    columns: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield number, Problem("", f"This is no JSON: {error}.", mend)
            continue
        if not isinstance(record, dict) or not all(isinstance(v, str | int | float | None) for v in record.values()):
            yield number, Problem("", "This is no object of texts.", mend)
            continue
        columns = columns or list(record)
        cells = {str(name): "" if value is None else str(value) for name, value in record.items()}
        yield number, dict.fromkeys(columns, "") | cells
