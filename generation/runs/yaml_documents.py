"""YAML documents with the line of every key, so that a problem can name its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from common.problems import Problem, invalid, refuse_if_any
from common.yaml_text import BadYaml, read_mapping

MAX_BYTES = 8 * 1024 * 1024


def parse_yaml(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """The document, and the line of every key of its first two levels and of every entry of its lists.

    List entries are called ``key, entry 1`` and so on; a nested key is called ``key.name``. Raises Invalid.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise invalid(path.name, "The file is larger than 8 MB.", "Put the contexts in a CSV file.")
        node, document = read_mapping(content.decode("utf-8-sig"), example="name: sweep-1")
    except OSError as error:
        raise invalid(path.name, f"It cannot be read: {error.strerror}.", "Check the path.") from None
    except UnicodeDecodeError as error:
        raise invalid(path.name, f"Byte {error.start + 1:,} is not UTF-8.", "Save the file as UTF-8.") from None
    except BadYaml as error:
        raise invalid(path.name, error.what, error.fix) from None
    lines: dict[str, int] = {}
    refuse_if_any(_walk(node, "", lines))
    return document, lines


def _walk(node: yaml.MappingNode, prefix: str, lines: dict[str, int]) -> list[Problem]:
    """Collect the lines. Reports a key that appears twice, because its first value would be lost without a warning."""
    problems: list[Problem] = []
    for key, value in node.value:
        name, line = f"{prefix}{key.value[:60] if isinstance(key, yaml.ScalarNode) else '?'}", key.start_mark.line + 1
        if name in lines:
            what = f"The key appears twice, in lines {lines[name]} and {line}."
            problems.append(Problem(f"line {line}, {name}", what, "Keep one of them."))
        lines.setdefault(name, line)
        if isinstance(value, yaml.MappingNode) and not prefix:
            problems += _walk(value, f"{name}.", lines)
        elif isinstance(value, yaml.SequenceNode) and not prefix:
            for number, entry in enumerate(value.value, start=1):
                lines[f"{name}, entry {number}"] = entry.start_mark.line + 1
    return problems


def shown(value: Any) -> str:
    """A value of a document in a few words, for a message."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text “{value[:60]}”"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, int) and abs(value) >= 10**60:  # as text it may be as long as the file
        return "a number of more than 60 digits"
    return f"a list of {len(value)}" if isinstance(value, list) else str(value)[:60]
