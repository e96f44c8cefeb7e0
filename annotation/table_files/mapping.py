"""Columns under other names: what a researcher's file calls differently than the task type."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher, get_close_matches

from annotation.table_files.tables import Table, TableProblems
from annotation.task_types.items import Column, Row, RowProblem

#: The end of the name of a numbered family of columns: ``resp_0 …`` stands for resp_0, resp_1 and so on.
FAMILY = re.compile(r"_0 …$")
#: How similar two names must be for a guess.
_SIMILAR = 0.8
#: Words that people use for our columns. A guess is shown, and somebody confirms it.
_SYNONYMS = {
    "id": ("item_id", "sample_id", "index", "idx", "uid", "key", "example_id", "doc_id"),
    "context": ("prompt", "input", "question", "instruction", "source", "premise", "query"),
    "prompt": ("context", "input", "question", "instruction", "query"),
    "text": ("response", "output", "answer", "generation", "completion", "sentence", "document", "content", "summary"),
    "response": ("text", "output", "answer", "generation", "completion"),
    "text_a": ("response_a", "output_a", "answer_a", "model_a", "text_1", "response_1", "output_1", "a"),
    "text_b": ("response_b", "output_b", "answer_b", "model_b", "text_2", "response_2", "output_2", "b"),
}


def renamed(table: Table, mapping: Mapping[str, str]) -> Table:
    """The table with some columns under other names: file column → our column. Raises TableProblems with everything
    that is wrong with the mapping."""
    if not mapping:
        return table
    problems = [
        RowProblem(0, name[:60], f"The file has no column “{name[:60]}”.", _closest(name, table.columns))
        for name in mapping
        if name not in table.columns
    ]
    names = [mapping.get(name, name).strip() for name in table.columns]
    for name in dict.fromkeys(names):
        sources = [column for column, target in zip(table.columns, names, strict=True) if target == name]
        if len(sources) > 1:
            listed = " and ".join(f"“{column[:60]}”" for column in sources)
            what = f"{len(sources)} columns would be called {name[:60]}: {listed}."
            problems.append(RowProblem(0, name[:60], what, "Give each column a different name."))
    problems += [
        RowProblem(0, name[:60], "The column would have no name.", "Name it, or leave it out of the mapping.")
        for name, target in mapping.items()
        if not target.strip()
    ]
    if problems:
        raise TableProblems(problems)
    new_name = dict(zip(table.columns, names, strict=True))
    rows: list[Row] = [
        replace(row, cells={new_name[name]: cell for name, cell in row.cells.items()}) for row in table.rows
    ]
    return replace(table, columns=names, rows=rows)


def target_problems(mapping: Mapping[str, str], columns: Sequence[Column], others: Iterable[str]) -> list[RowProblem]:
    """A problem for every target that is neither a column of the task type nor one of ``others``.

    A column of the file with such a name can get any other name: it makes room for the right one.
    """
    names = [column.name for column in columns]
    allowed = {*names, *others}
    problems = []
    for name, target in mapping.items():
        if (
            target in allowed
            or name in allowed
            or ":" in target
            or any(is_in_family(target, family) for family in names)
        ):
            continue
        what = f"The study has no column “{target[:60]}”."
        problems.append(RowProblem(0, name[:60], what, _closest(target, [*names, *others])))
    return problems


def lacks_columns(file_columns: Sequence[str], columns: Sequence[Column]) -> bool:
    """Whether the file has no column with the name of a required one, or none of a required family."""
    return any(
        column.name not in file_columns and not any(is_in_family(name, column.name) for name in file_columns)
        for column in columns
        if column.required
    )


def is_in_family(name: str, family: str) -> bool:
    """Whether this is a column of a numbered family, such as resp_3 of “resp_0 …”."""
    stem = FAMILY.sub("", family)
    return stem != family and re.fullmatch(re.escape(stem) + r"_\d+", name) is not None


def _closest(name: str, choices: Collection[str]) -> str:
    near = get_close_matches(name, list(choices), n=1, cutoff=0.6)
    return f"Did you mean “{near[0]}”?" if near else f"Choose one of {', '.join(list(choices)[:30])}."


def guessed_mapping(file_columns: Sequence[str], columns: Sequence[Column]) -> dict[str, str]:
    """The likely column of the file for each column of the type that the file lacks: file column → our column.

    Each column of the file is used once. Same letters count most, then usual words for the same thing, then spelling.
    """
    present = {column.name for column in columns if column.name in file_columns}
    wanted = [column.name for column in columns if column.name not in present and not FAMILY.search(column.name)]
    free = [name for name in file_columns if name not in present]
    guesses: dict[str, str] = {}
    for score in (_same_letters, _synonym, _similar):
        for target in wanted:
            if target in guesses.values():
                continue
            fitting = [name for name in free if name not in guesses and score(name, target)]
            if fitting:
                guesses[fitting[0]] = target
    return guesses


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _same_letters(name: str, target: str) -> bool:
    return _plain(name) == _plain(target)


def _synonym(name: str, target: str) -> bool:
    key = "id" if target.endswith("_id") else target
    return any(_plain(name) == _plain(word) for word in (*_SYNONYMS.get(key, ()), *(("id",) if key == "id" else ())))


def _similar(name: str, target: str) -> bool:
    return SequenceMatcher(None, _plain(name), _plain(target)).ratio() >= _SIMILAR
