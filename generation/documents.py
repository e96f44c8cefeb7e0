"""YAML documents with the line of every key, so that each problem can say where it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from generation.problems import Problem, invalid, refuse_if_any

MAX_BYTES = 8 * 1024 * 1024


def parse_yaml(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """The document, and the line of every key of its first two levels and of every entry of its lists.

    A list's entries are called ``key, entry 1`` and so on, a key below another ``key.name``. Raises Invalid.
    """
    text = _read(path)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise invalid(str(path), f"This is no YAML: {_yaml_error(error)}", "Check its indentation.") from None
    if not isinstance(node, yaml.MappingNode) or not isinstance(document, dict):
        raise invalid(str(path), "The file has no keys.", "Write lines such as “name: sweep-1”.")
    lines: dict[str, int] = {}
    refuse_if_any(_walk(node, "", lines))
    return document, lines


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise invalid(str(path), "The file is larger than 8 MB.", "Put the contexts in a CSV file.")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise invalid(str(path), f"It cannot be read: {error.strerror}.", "Check the path.") from None
    except UnicodeDecodeError as error:
        raise invalid(str(path), f"Byte {error.start + 1:,} is not UTF-8.", "Save the file as UTF-8.") from None


def _yaml_error(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or str(error) or type(error).__name__
    return f"{what} (line {mark.line + 1}, column {mark.column + 1})." if mark else f"{what}."


def _walk(node: yaml.MappingNode, prefix: str, lines: dict[str, int]) -> list[Problem]:
    """Notes lines; a key that stands twice would silently lose its first value."""
    problems: list[Problem] = []
    for key, value in node.value:
        name, line = f"{prefix}{key.value if isinstance(key, yaml.ScalarNode) else '?'}", key.start_mark.line + 1
        if name in lines:
            what = f"The key stands twice, in lines {lines[name]} and {line}."
            problems.append(Problem(f"line {line}, {name}", what, "Keep one of them."))
        lines.setdefault(name, line)
        if isinstance(value, yaml.MappingNode) and not prefix:
            problems += _walk(value, f"{name}.", lines)
        elif isinstance(value, yaml.SequenceNode) and not prefix:
            for number, entry in enumerate(value.value, start=1):
                lines[f"{name}, entry {number}"] = entry.start_mark.line + 1
    return problems


def shown(value: Any) -> str:
    """A value of a document in few words, for a message."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text “{value[:60]}”"
    if isinstance(value, dict):
        return "a mapping"
    return f"a list of {len(value)}" if isinstance(value, list) else str(value)[:60]
