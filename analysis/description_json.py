"""Convert a study's description to JSON for bundles, and back, with errors that name the field."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from analysis.description import StudyDescription


class DescriptionError(ValueError):
    """JSON that does not describe a study. ``str()`` names the field."""


def description_to_json(description: StudyDescription) -> dict[str, Any]:
    """Fields by name; Decimal as text, moments in ISO 8601."""
    return {field.name: _plain(getattr(description, field.name)) for field in dataclasses.fields(description)}


def description_from_json(data: object) -> StudyDescription:
    """The description that `description_to_json` converted. Ignores unknown fields, which a later release may have
    added.

    Raises DescriptionError for a missing field and for a value of the wrong type.
    """
    description = _read(StudyDescription, data, "study")
    assert isinstance(description, StudyDescription)  # noqa: S101 - what was asked for
    return description


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(field_value) for key, field_value in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def _read(kind: Any, value: Any, where: str) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        (inner,) = (part for part in parts if part is not type(None))
        return None if value is None else _read(inner, value, where)
    if origin is Literal:
        if value not in parts or isinstance(value, bool):
            raise DescriptionError(f"{where} is {str(value)[:40]!r}, not one of {', '.join(map(str, parts))}")
        return value
    if dataclasses.is_dataclass(kind):
        return _read_fields(kind, value, where)
    if origin is Mapping:
        _expect(value, dict, "an object", where)
        return {str(key): _read(parts[1], field_value, f"{where}.{key}") for key, field_value in value.items()}
    if origin in (tuple, Sequence):
        _expect(value, list, "a list", where)
        if origin is Sequence or Ellipsis in parts:
            parts = (parts[0],) * len(value)
        if len(parts) != len(value):
            raise DescriptionError(f"{where} has {len(value)} entries, not {len(parts)}")
        entries = enumerate(zip(parts, value, strict=True))
        return tuple(_read(part, entry, f"{where}[{index}]") for index, (part, entry) in entries)
    return _read_simple(kind, value, where)


def _read_fields(kind: Any, value: Any, where: str) -> Any:
    _expect(value, dict, "an object", where)
    hints = get_type_hints(kind)
    arguments: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if field.name in value:
            arguments[field.name] = _read(hints[field.name], value[field.name], f"{where}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise DescriptionError(f"{where}.{field.name} is missing")
    return kind(**arguments)


def _read_simple(kind: Any, value: Any, where: str) -> Any:
    if kind is float:
        _expect(value, (int, float), "a number", where)
        return float(value)
    if kind in (Decimal, datetime):
        _expect(value, str, "text", where)
        try:
            return Decimal(value) if kind is Decimal else datetime.fromisoformat(value)
        except (InvalidOperation, ValueError):
            what = "an amount" if kind is Decimal else "a moment in ISO 8601"
            raise DescriptionError(f"{where} is {value[:40]!r}, not {what}") from None
    _expect(value, kind, {str: "text", int: "a whole number", bool: "true or false"}[kind], where)
    return value


def _expect(value: Any, kinds: Any, name: str, where: str) -> None:
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise DescriptionError(f"{where} is not {name}")
