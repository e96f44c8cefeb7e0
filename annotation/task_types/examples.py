"""Worked cases of a task type, in YAML. The test suite runs them; the console offers their rows as a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import yaml

from annotation.task_types.items import Json


@dataclass(frozen=True, slots=True)
class Example:
    """A worked case of a type: rows of a file, a config, form posts, and the expected ratings.

    ``config`` contains what differs from the settings' initial values. ``posts`` contains one form per page.
    ``ratings`` lists [item's external id, question, target, value or text], ``flags`` the reasons, ``outputs`` [kind,
    texts, label's name, its value]. ``order`` is the recorded order, for examples in which it matters. ``offers`` lists
    live suggestions by page (``step``, from 0) and ``side``, ``pulls`` the presses of a button for suggestions by
    ``step`` and ``number`` (from 1), with what was ``typed``. Instead of ratings, an invalid example has ``problems``
    [row, column] (of the file) or ``errors`` [page's name, question's key] (of the posts).
    """

    name: str
    rows: Sequence[Mapping[str, str]]
    config: Mapping[str, Any] = field(default_factory=dict)
    order: Json | None = None
    offers: Sequence[Mapping[str, Any]] = ()
    pulls: Sequence[Mapping[str, Any]] = ()
    posts: Sequence[Mapping[str, str]] = ()
    ratings: Sequence[Sequence[Any]] = ()
    flags: Sequence[str] = ()
    outputs: Sequence[Sequence[Any]] = ()
    problems: Sequence[Sequence[Any]] = ()
    errors: Sequence[Sequence[Any]] = ()


def examples_in(text: str, path: str) -> list[Example]:
    """The worked cases in a YAML file. A ValueError names the file, the line and how to fix the problem."""
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        for line, what in _mistakes(root):
            raise ValueError(f"{path}, line {line}: {what}")
        return [Example(**case) for case in loader.construct_document(root)]
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        what = f"this is not YAML ({error.problem}). A text with a comma, a colon or a question mark needs quotes."
        raise ValueError(f"{path}, line {line}: {what}") from None
    except yaml.reader.ReaderError as error:
        raise ValueError(f"{path}, line {text.count(chr(10), 0, error.position) + 1}: {error.reason}.") from None


def _mistakes(root: yaml.Node | None) -> Iterator[tuple[int, str]]:
    """The line and the message for each mistake in the YAML."""
    known_names = [field.name for field in fields(Example)]
    if not isinstance(root, yaml.SequenceNode):
        yield 1, "examples are a list; begin each one with “- name: …”."
        return
    for case in root.value:
        line = case.start_mark.line + 1
        if not isinstance(case, yaml.MappingNode):
            yield line, "this is not an example; begin each one with “- name: …”."
            continue
        parts = {key.value: (key.start_mark.line + 1, value) for key, value in case.value}
        for name, (part_line, value) in parts.items():
            if name not in known_names:
                yield part_line, f"“{name}” is not part of an example; use {', '.join(known_names)}."
            if name in ("rows", "posts"):
                yield from _not_texts(name, part_line, value)
        for name in ("name", "rows"):
            if name not in parts:
                yield line, f"this example has no “{name}”."


def _not_texts(name: str, line: int, listed: yaml.Node) -> Iterator[tuple[int, str]]:
    """Cells and form fields that are not texts, such as 5 without quotes, or the part after a comma without quotes."""
    if not (
        isinstance(listed, yaml.SequenceNode) and all(isinstance(record, yaml.MappingNode) for record in listed.value)
    ):
        yield line, f"“{name}” is a list of records; write each as “- {{field: text}}”."
        return
    for record in listed.value:
        for key, value in record.value:
            if value.tag != "tag:yaml.org,2002:str":
                line = key.start_mark.line + 1
                yield line, f"“{key.value}” in “{name}” has no text as its value; put the whole text in quotes."


# --- a small file for the console ---
