"""The schema as the page /api/v1/docs/ shows it: operations under their subject, and the shapes of what they send."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt

#: Paragraphs and code in descriptions, as HTML. HTML in them appears as typed.
_WORDS = MarkdownIt("zero", {"html": False}).enable("backticks")
#: The beginning of a reference to a shape.
REFERENCE = "#/components/schemas/"
Node = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or a key. ``shape``: the name of the shape of its value, if that has one."""

    name: str
    type: str
    shape: str
    required: bool
    description: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Body:
    """What a request sends or an answer has: its media type, and its shape by name or in words."""

    title: str
    media_type: str
    type: str
    shape: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one address."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    parameters: list[Field]
    bodies: list[Body]
    answers: list[Body]


def operations_by_subject(document: Node) -> dict[str, list[Operation]]:
    """The operations under the first word of their names, in the order of the addresses."""
    subjects: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            subjects.setdefault(operation["tags"][0], []).append(_operation(path, method, operation))
    return subjects


def shapes(document: Node) -> dict[str, list[Field]]:
    """The keys of each shape, by its name."""
    return {
        name: [
            Field(field, *type_in_words(part), field in schema.get("required", ()), part.get("description", ""))
            for field, part in schema.get("properties", {}).items()
        ]
        for name, schema in sorted(document["components"]["schemas"].items())
    }


def _operation(path: str, method: str, operation: Node) -> Operation:
    parameters = [
        Field(
            parameter["name"],
            *type_in_words(parameter["schema"]),
            parameter.get("required", False),
            parameter.get("description", ""),
            parameter["in"],
        )
        for parameter in operation.get("parameters", ())
    ]
    answers = {code: answer for code, answer in operation["responses"].items() if code.startswith("2")}
    return Operation(
        operation["operationId"],
        method.upper(),
        path,
        operation.get("summary", ""),
        _WORDS.render(operation.get("description", "")),
        parameters,
        list(_bodies("", operation.get("requestBody", {}))),
        [body for code, answer in answers.items() for body in _bodies(code, answer)],
    )


def _bodies(title: str, node: Node) -> Iterator[Body]:
    content = node.get("content", {})
    for media_type, media in content.items():
        yield Body(title, media_type, *type_in_words(media.get("schema", {})))
    if title and not content:
        yield Body(title, "", node.get("description", "") or "no body", "")


def type_in_words(schema: Node) -> tuple[str, str]:
    """The type in a few words, and the name of the shape in it, if it has one."""
    for key in ("allOf", "oneOf", "anyOf"):
        if parts := schema.get(key):
            pairs = [type_in_words(part) for part in parts]
            return " or ".join(dict.fromkeys(words for words, _ in pairs)), next((s for _, s in pairs if s), "")
    if reference := schema.get("$ref"):
        name = reference.removeprefix(REFERENCE)
        return name, name
    if choices := schema.get("enum"):
        return f"one of {', '.join(str(choice) for choice in choices)}", ""
    types = schema.get("type", "anything")
    words, shape = ", ".join(types) if isinstance(types, list) else types, ""
    words = words.replace(", null", " or null")
    if words.startswith("array"):
        inner, shape = type_in_words(schema.get("items", {}))
        words = words.replace("array", f"list of {inner}")
    elif schema.get("format"):
        words = f"{words} ({schema['format']})"
    return words, shape
