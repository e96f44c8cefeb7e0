"""Studies as YAML files, read strictly; ``services.applying`` makes a study be as its file says.

A file says all about a study: what it leaves out has its default. ``docs/study-files.md`` describes every key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from django import forms

from annotation.forms import StudyForm, accepts
from annotation.services.checking import find_type
from annotation.services.refusals import FieldProblem, Refused, unknown
from annotation.task_types.base import TaskType

MAX_BYTES = 1024 * 1024
REQUIRED = ("slug", "task_type", "title")
PARTS = ("task_type", "config", "texts", "items")
KEYS: tuple[str, ...] = (*StudyForm.Meta.fields, *PARTS)


@dataclass(frozen=True, slots=True)
class StudyFile:
    """What a file says, types checked, values not yet. ``lines`` tells where each field stands."""

    path: Path
    values: dict[str, Any]
    task_type: str
    config: dict[str, Any]
    texts: dict[str, str]
    items: Path | None
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        return str(self.values["slug"])


class FileRefused(Refused):
    """A study file that cannot be read or says something impossible; every problem with its line."""

    def __init__(self, problems: list[FieldProblem], lines: Mapping[str, int] | None = None) -> None:
        self.lines = lines or {}
        super().__init__(problems)

    def line(self, problem: FieldProblem) -> int | None:
        """The line of the field, or of the part of the file that it belongs to."""
        return self.lines.get(problem.field) or self.lines.get(problem.field.partition(".")[0])


def read_study_file(path: Path) -> StudyFile:
    """The file, with unknown keys and wrong types refused. Raises FileRefused."""
    document, lines = _parse(path)
    problems = [unknown(name, name, KEYS) for name in document if name not in KEYS]
    problems += [
        FieldProblem(name, f"The key {name} is missing.", f"Add a line “{name}: …”.")
        for name in REQUIRED
        if name not in document
    ]
    values, wrong = _typed(document, StudyForm().fields, "")
    problems += wrong
    task, wrong = _task(document)
    problems += wrong
    config = _mapping(document, "config", problems)
    if task is not None:
        config, wrong = _typed(config, task.config_form.base_fields, "config.", refuse_unknown=True)
        problems += wrong
    texts = _texts(_mapping(document, "texts", problems), problems)
    items = _items_path(path, document, problems)
    if problems:
        raise FileRefused(problems, lines)
    return StudyFile(path, values, str(document["task_type"]), config, texts, items, lines)


def _parse(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """The document and the line of every key down to the second level."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _refused("file", f"{path} cannot be read: {error.strerror}.", "Check the path.") from None
    if len(data) > MAX_BYTES:
        raise _refused("file", f"{path} is larger than 1 MB.", "Items belong in a file of their own.")
    try:
        text = data.decode("utf-8-sig")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        document = yaml.safe_load(text)
    except UnicodeDecodeError as error:
        what = f"Byte 0x{data[error.start]:02X} at position {error.start} is not UTF-8."
        raise _refused("file", what, "Save the file as UTF-8.") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _refused("file", f"This is no YAML: {_yaml_error(error)}", "Check indentation and quotes.") from None
    if not isinstance(node, yaml.MappingNode) or not isinstance(document, dict):
        raise _refused("file", "The file has no keys.", "Write lines such as “title: My study”.")
    lines: dict[str, int] = {}
    problems = _walk(node, "", lines)
    if problems:
        raise FileRefused(problems, lines)
    return document, lines


def _refused(name: str, what: str, mend: str) -> FileRefused:
    return FileRefused([FieldProblem(name, what, mend)])


def _yaml_error(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or str(error) or type(error).__name__
    return f"{what} (line {mark.line + 1}, column {mark.column + 1})." if mark else f"{what}."


def _walk(node: yaml.MappingNode, prefix: str, lines: dict[str, int]) -> list[FieldProblem]:
    """Notes the line of each key; a key that stands twice would silently lose its first value."""
    problems: list[FieldProblem] = []
    for key, value in node.value:
        name = f"{prefix}{key.value if isinstance(key, yaml.ScalarNode) else '?'}"
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
            mend = "Write a name; put it in quotes if it is on, off, yes, no or a number."
            problems.append(FieldProblem(name, f"The key in line {line} is no plain text.", mend))
        elif name in lines:
            what = f"The key stands twice, in lines {lines[name]} and {line}."
            problems.append(FieldProblem(name, what, "Keep one of them."))
        lines.setdefault(name, line)
        if isinstance(value, yaml.MappingNode) and not prefix:
            problems += _walk(value, f"{name}.", lines)
    return problems


def _task(document: Mapping[str, Any]) -> tuple[TaskType | None, list[FieldProblem]]:
    if "task_type" not in document:
        return None, []
    if not isinstance(document["task_type"], str):
        return None, [_wrong_type("task_type", document["task_type"], "the name of a task type")]
    return find_type(document["task_type"])


def _mapping(document: Mapping[str, Any], name: str, problems: list[FieldProblem]) -> dict[str, Any]:
    value = document.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        problems.append(FieldProblem(name, f"This is {_kind(value)}.", f"Write lines “name: value” below {name}."))
        return {}
    return {str(key): inner for key, inner in value.items()}


def _texts(given: Mapping[str, Any], problems: list[FieldProblem]) -> dict[str, str]:
    wrong = {name: text for name, text in given.items() if not isinstance(text, str)}
    problems += [_wrong_type(f"texts.{name}", text, "text") for name, text in wrong.items()]
    return {name: text for name, text in given.items() if name not in wrong}


def _items_path(path: Path, document: Mapping[str, Any], problems: list[FieldProblem]) -> Path | None:
    name = document.get("items")
    if name is None:
        return None
    if not isinstance(name, str):
        problems.append(_wrong_type("items", name, "the path of a file"))
        return None
    items = path.parent / name
    if not items.is_file():
        what = f"There is no file {items}."
        problems.append(FieldProblem("items", what, "Write a path relative to the study file."))
        return None
    return items


def _typed(
    given: Mapping[str, Any], fields: Mapping[str, forms.Field], prefix: str, *, refuse_unknown: bool = False
) -> tuple[dict[str, Any], list[FieldProblem]]:
    """The values of known fields that have the kind that their field wants."""
    values: dict[str, Any] = {}
    problems: list[FieldProblem] = []
    for name, value in given.items():
        if name not in fields:
            if refuse_unknown:
                problems.append(unknown(f"{prefix}{name}", name, fields))
        elif fits(fields[name], value):
            values[name] = value
        else:
            problems.append(_wrong_type(f"{prefix}{name}", value, accepts(fields[name])))
    return values, problems


def fits(field: forms.Field, value: Any) -> bool:
    """Whether YAML's value is of the kind that the field takes, without any conversion that may surprise."""
    if value is None:
        return not field.required and not isinstance(field, forms.BooleanField)
    if isinstance(field, forms.MultipleChoiceField):
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    if isinstance(field, forms.BooleanField):
        return isinstance(value, bool)
    if isinstance(field, forms.FloatField | forms.DecimalField):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(field, forms.IntegerField):
        return isinstance(value, int) and not isinstance(value, bool)
    if isinstance(field, forms.CharField | forms.ChoiceField):
        return isinstance(value, str)
    return True


def _wrong_type(name: str, value: Any, wanted: str) -> FieldProblem:
    quote = ", in quotes" if wanted.startswith(("text", "one of")) and not isinstance(value, list | dict) else ""
    shown = "" if isinstance(value, list | dict) or value is None else f" “{_plain(value)[:60]}”"
    return FieldProblem(name, f"This is {_kind(value)}{shown}.", f"Write {wanted}{quote}.")


def _kind(value: Any) -> str:
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "a mapping"}
    if value is None:
        return "nothing"
    return "a date" if isinstance(value, date) else kinds.get(type(value), type(value).__name__)


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
