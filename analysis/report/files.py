"""The files of a report: their names, their version, and how they are written and read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any

from analysis.report.records import Records
from common.files import replaced, write_whole

PAGE, NUMBERS = "report.html", "report.json"
#: Raise this when the content or look of a report changes, so that stored reports are made again.
VERSION = 11
#: What has no members.
PLAIN = frozenset((str, int, float, bool, type(None)))
_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def write_files(out_dir: Path, *, page: str, numbers: dict[str, Any]) -> None:
    """Both files, each replaced whole; the folder is created if missing."""
    out_dir.mkdir(parents=True, exist_ok=True)
    with replaced(out_dir / NUMBERS) as file:
        for piece in json_pieces(numbers):
            file.write(piece.encode())
    write_whole(out_dir / PAGE, page)


def json_pieces(value: Any, indent: str = "\n", depth: int = 3) -> Iterator[str]:
    """What `json_text` gives, in pieces, so that the text of a large study is never in memory as a whole.

    A function stands for what it returns, so that not all sections of a report are in memory at once.
    """
    value = value() if callable(value) else value
    if not depth or not isinstance(value, dict) or not value:
        yield json_text(value, indent)
        return
    inner, before = indent + " ", "{"
    for name, member in value.items():
        yield f"{before}{inner}{encode_basestring(name)}: "
        yield from json_pieces(member, inner, depth - 1)
        before = ","
    yield indent + "}"


def json_text(value: Any, indent: str = "\n") -> str:
    """What ``json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1)`` gives, in an eighth of its time.

    The standard library indents in Python, a piece of text at a time, and a large study has millions of pieces. Names
    are texts, numbers are finite: `analysis.report.tables.plain` has made them so.
    """
    kind = type(value)
    if kind is dict and value:
        inner = indent + " "
        if not PLAIN.issuperset(map(type, value.values())):
            members = [f"{encode_basestring(name)}: {json_text(member, inner)}" for name, member in value.items()]
            return "{" + inner + ("," + inner).join(members) + indent + "}"
    elif kind is list and value:
        inner = indent + " "
        if not PLAIN.issuperset(map(type, value)):
            return "[" + inner + ("," + inner).join([json_text(member, inner) for member in value]) + indent + "]"
    elif kind is Records:
        return str(value.to_json(indent))
    else:
        return _ENCODE(value)
    # All its members have no members: the encoder in C separates them as they must be.
    line = _encode_with(inner)(value)
    return line[0] + inner + line[1:-1] + indent + line[-1]


@cache
def _encode_with(inner: str) -> Callable[[Any], str]:
    separators = ("," + inner, ": ")
    return json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=separators).encode


def failed_sections(out_dir: Path) -> list[str]:
    """A line for each section that an error kept out of the report in this folder."""
    numbers = (out_dir / NUMBERS).read_bytes()
    # Reading all numbers of a large study takes a quarter of a second.
    return failed_lines(json.loads(numbers)) if b'"error": ' in numbers else []


def failed_lines(numbers: dict[str, Any]) -> list[str]:
    """The same from the content of ``report.json``."""
    return [
        f"The section “{section['title']}” could not be made: {section['error']}."
        for section in numbers["sections"].values()
        if "error" in section
    ]
