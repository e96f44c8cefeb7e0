"""Items as a program has them (rows, a data frame, a file), and answers as data frames."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from hitserver_client.errors import HitserverError

if TYPE_CHECKING:
    import pandas

#: A data frame, rows as mappings, or the name of a file.
Table = Union["pandas.DataFrame", Iterable[Mapping[str, Any]], str, Path]


@dataclass(frozen=True)
class Upload:
    """A file to send with a form. It is opened again for each try, and sent piece by piece."""

    path: Path
    values: Mapping[str, str] = field(default_factory=dict)

    def form(self, stack: ExitStack) -> dict[str, Any]:
        file = stack.enter_context(self.path.open("rb"))
        return {"files": {"file": (self.path.name, file)}, "data": dict(self.values)}


def is_file(table: Table) -> bool:
    return isinstance(table, (str, Path))


def existing(name: str | Path) -> Path:
    """The path of a file. Raises HitserverError if there is no such file."""
    path = Path(name)
    if not path.is_file():
        raise HitserverError(f"There is no file {path}.")
    return path


def upload_of(table: Table, mapping: Mapping[str, str] | None, options: Mapping[str, Any]) -> Upload:
    """Raises HitserverError if there is no such file."""
    values = {name: str(value) for name, value in options.items() if value is not None}
    if mapping:
        values["mapping"] = json.dumps(dict(mapping))
    return Upload(existing(str(table)), values)


def rows_of(table: Table, mapping: Mapping[str, str] | None = None) -> list[dict[str, str]]:
    """The rows with text in every cell, under their new names. Missing values are empty."""
    if hasattr(table, "to_dict") and hasattr(table, "columns"):
        rows: Iterable[Mapping[Any, Any]] = table.to_dict("records")
    elif isinstance(table, (str, Path)):
        raise HitserverError("A file is sent as it is: pass rows or a data frame here.")
    else:
        rows = table
    names = dict(mapping or {})
    return [{names.get(str(name), str(name)): _cell(value) for name, value in row.items()} for row in rows]


def rows_in_file(path: Path) -> list[dict[str, str]] | None:
    """The rows of a CSV, TSV or JSON Lines file in UTF-8. None for other files: only the server reads those."""
    if not path.is_file():
        raise HitserverError(f"There is no file {path}.")
    if path.suffix not in (".csv", ".tsv", ".jsonl"):
        return None
    with path.open(encoding="utf-8-sig", newline="") as file:
        if path.suffix == ".jsonl":
            return rows_of(json.loads(line) for line in file if line.strip())
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


def _cell(value: Any) -> str:
    """As the server stores it. Whole numbers that pandas made floating stay whole numbers."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or str(value) in ("<NA>", "NaT"):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def pandas_module() -> Any:
    """Raises HitserverError that says how to install it."""
    try:
        import pandas
    except ImportError:
        raise HitserverError("Data frames need pandas. Install it: pip install pandas") from None
    return pandas


def frame_of_csv(path: Path) -> pandas.DataFrame:
    """An export as a data frame. Cells without a value are missing; ids stay text."""
    library = pandas_module()
    text = dict.fromkeys(("item", "worker", "arm", "criterion", "label", "answer_text", "part"), "string")
    missing = {"value": [""], "seconds": [""]}
    frame: pandas.DataFrame = library.read_csv(path, dtype=text, keep_default_na=False, na_values=missing)
    return frame


def frame_of_rows(rows: Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
    """Rows of the API as a data frame, with nested objects as columns such as ``columns.text``."""
    frame: pandas.DataFrame = pandas_module().json_normalize(list(rows))
    return frame
