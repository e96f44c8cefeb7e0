"""The service model that botocore ships: the operations, their parameters and their responses.

Nothing about a single operation is written here. Parameters are checked against the model's shapes (types, required
members, lengths, ranges, patterns and enumerations), and responses follow those shapes.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any

from botocore.loaders import Loader
from botocore.model import ListShape, OperationModel, ServiceModel, Shape, StringShape, StructureShape

from common.numbers import refuse_constant
from marketplace.wire.errors import ProtocolError

NAME = "mturk"
VERSION = "2017-01-17"
LIMITS = {"integer": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}
MOST_PROBLEMS = 50
# Characters that neither a database nor XML can store.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@cache
def model() -> ServiceModel:
    description = Loader().load_service_model(NAME, "service-2", api_version=VERSION)
    return ServiceModel(description, service_name=NAME)


@cache
def operations() -> frozenset[str]:
    return frozenset(model().operation_names)


@cache
def operation_model(name: str) -> OperationModel:
    return model().operation_model(name)


def signing_name() -> str:
    """The service name that clients use in the scope of their signature."""
    return str(model().signing_name)


def content_type() -> str:
    return f"application/x-amz-json-{model().metadata['jsonVersion']}"


def operation_of(target: str) -> str:
    """The operation that a request's X-Amz-Target names."""
    prefix, _, name = target.partition(".")
    if prefix != model().metadata["targetPrefix"] or name not in operations():
        raise ProtocolError("UnknownOperationException", f"There is no operation {target[:100]!r}.")
    return name


# --- Requests -----------------------------------------------------------------------------------------------


def read_body(body: bytes) -> dict[str, Any]:
    """The JSON object of a request; an empty body is an empty object."""
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=refuse_constant) if body else {}
    except (ValueError, RecursionError):
        raise _unreadable("The request is not a JSON object in UTF-8.") from None
    if not isinstance(value, dict):
        raise _unreadable("The request is not a JSON object.")
    return value


def parameters_of(name: str, body: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an operation: only members of the model, without nulls, with timestamps as aware datetimes."""
    shape = operation_model(name).input_shape
    value = _convert(body, shape, "")
    problems: list[str] = []
    _check(value, shape, "", problems)
    if problems:
        count = f"{len(problems)} validation error{'s' if len(problems) > 1 else ''} detected"
        raise ProtocolError("ValidationException", f"{count}: {'; '.join(problems)}")
    return dict(value)


def _unreadable(message: str) -> ProtocolError:
    return ProtocolError("SerializationException", message)


def _wrong_type(path: str, expected: str) -> ProtocolError:
    return _unreadable(f"{path or 'The request'} cannot be read as {expected}.")


def _convert(value: Any, shape: Shape, path: str) -> Any:
    if isinstance(shape, StructureShape):
        if not isinstance(value, dict):
            raise _wrong_type(path, "a structure")
        sent_members = ((name, member) for name, member in shape.members.items() if value.get(name) is not None)
        return {name: _convert(value[name], member, f"{path}.{name}".lstrip(".")) for name, member in sent_members}
    if isinstance(shape, ListShape):
        if not isinstance(value, list):
            raise _wrong_type(path, "a list")
        return [_convert(element, shape.member, f"{path}.{number}") for number, element in enumerate(value, start=1)]
    return READERS[shape.type_name](value, shape, path)


def _read_string(value: Any, shape: Shape, path: str) -> str:
    if not isinstance(value, str):
        raise _wrong_type(path, "a string")
    if UNSTORABLE.search(value):
        raise _unreadable(f"{path} has a character that no text may have.")
    return value


def _read_integer(value: Any, shape: Shape, path: str) -> int:
    least, most = LIMITS[shape.type_name]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _wrong_type(path, "a whole number")
    return value


def _read_boolean(value: Any, shape: Shape, path: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong_type(path, "true or false")
    return value


def _read_timestamp(value: Any, shape: Shape, path: str) -> datetime:
    """Reads seconds since 1970, with or without a fraction, as JSON 1.1 sends them."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong_type(path, "a time in seconds since 1970")
    try:
        return datetime.fromtimestamp(value, tz=UTC)
    except (ValueError, OverflowError, OSError):
        raise _wrong_type(path, "a time in seconds since 1970") from None


READERS: dict[str, Callable[[Any, Any, str], Any]] = {
    "string": _read_string,
    "integer": _read_integer,
    "long": _read_integer,
    "boolean": _read_boolean,
    "timestamp": _read_timestamp,
}


def _check(value: Any, shape: Shape, path: str, problems: list[str]) -> None:
    """Adds a problem, in AWS's words, for each of the model's constraints that a value violates."""
    if isinstance(shape, StructureShape):
        for name in shape.required_members:
            if name not in value:
                problems.append(_constraint("null", f"{path}.{name}", "Member must not be null"))
        for name, part in value.items():
            _check(part, shape.members[name], f"{path}.{name}", problems)
        return
    if len(problems) >= MOST_PROBLEMS:  # the answer must not be many times as long as the request
        return
    size = len(value) if isinstance(value, str | list) else value
    measured = "length " if isinstance(value, str | list) else "value "
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if least is not None and size < least:
        problems.append(_constraint(value, path, f"Member must have {measured}greater than or equal to {least}"))
    if most is not None and size > most:
        problems.append(_constraint(value, path, f"Member must have {measured}less than or equal to {most}"))
    if isinstance(shape, StringShape):
        _check_text(value, shape, path, problems)
    if isinstance(shape, ListShape):
        for number, part in enumerate(value, start=1):
            _check(part, shape.member, f"{path}.{number}.member", problems)


def _check_text(value: str, shape: StringShape, path: str, problems: list[str]) -> None:
    if shape.enum and value not in shape.enum:
        problems.append(_constraint(value, path, f"Member must satisfy enum value set: [{', '.join(shape.enum)}]"))
    pattern = shape.metadata.get("pattern")
    if pattern and not re.fullmatch(pattern, value):
        problems.append(_constraint(value, path, f"Member must satisfy regular expression pattern: {pattern}"))


def _constraint(value: object, path: str, rule: str) -> str:
    shown, name = str(value)[:100], path.lstrip(".")
    name = name[:1].lower() + name[1:]
    quoted = shown if value == "null" else f"'{shown}'"
    return f"Value {quoted} at '{name}' failed to satisfy constraint: {rule}"


# --- Responses ----------------------------------------------------------------------------------------------


def write_result(name: str, result: dict[str, Any]) -> bytes:
    """A handler's result in the operation's output shape. A member that the shape does not have is our mistake."""
    shape = operation_model(name).output_shape
    return json.dumps(_plain(result, shape, name), separators=(",", ":")).encode()


def _plain(value: Any, shape: Shape, path: str) -> Any:
    if isinstance(shape, StructureShape):
        unknown = set(value) - set(shape.members)
        if unknown:
            raise TypeError(f"{path} has no {', '.join(sorted(unknown))}.")
        filled_members = ((member, part) for member, part in value.items() if part is not None)
        return {member: _plain(part, shape.members[member], f"{path}.{member}") for member, part in filled_members}
    if isinstance(shape, ListShape):
        return [_plain(part, shape.member, path) for part in value]
    return WRITERS[shape.type_name](value)


WRITERS: dict[str, Callable[[Any], Any]] = {
    "string": str,
    "integer": int,
    "long": int,
    "boolean": bool,
    "timestamp": lambda moment: round(moment.timestamp(), 3),
}
