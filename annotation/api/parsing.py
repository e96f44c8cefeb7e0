"""Reads what a request sends: its JSON body, and the parameters of its address."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from common.numbers import refuse_constant, whole_number
from common.problems import Problem, refuse_if_any

_CHARACTER = re.compile("[\x00\ud800-\udfff]")
#: How such a character looks in JSON; the second half is also part of every pair, which is one whole character.
_SUSPECT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
#: A limit from here on is that of the database, and says nothing to people.
LARGEST = 2**31
WORDS = {"true": True, "1": True, "false": False, "0": False, "": False}


class BadParameter(APIException):
    """A parameter of the address cannot be used."""

    status_code = 400

    def __init__(self, name: str, reason: str, fix: str) -> None:
        super().__init__(f"{reason} {fix}")
        self.reasons = [{"field": name, "reason": reason, "fix": fix}]


class Json(BaseParser):
    """JSON without NaN, without lists nested so deeply that reading them fails, and without what cannot be stored.

    Not the framework's own class, whose bodies may be no larger than a worker's page. The server's limit for uploads
    holds.
    """

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        data = stream.read()
        try:
            values = json.loads(data.decode("utf-8-sig"), parse_constant=refuse_constant)
        except UnicodeDecodeError as error:
            raise ParseError(f"The body is not UTF-8: byte {error.start + 1:,} is wrong.") from None
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        except ValueError as error:  # also a number with thousands of digits
            raise ParseError(f"The body is not valid JSON: {error}.") from None
        if _SUSPECT.search(data):
            refuse_if_any(list(_unstorable(values, "")))
        return values


def _unstorable(value: Any, where: str) -> Iterator[Problem]:
    """The texts with U+0000 or half a character, which no database stores."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _unstorable(name, where)
            yield from _unstorable(part, f"{where}.{name}".strip("."))
    elif isinstance(value, list):
        for number, part in enumerate(value, 1):
            yield from _unstorable(part, f"{where}.{number}".strip("."))
    elif isinstance(value, str) and (character := _CHARACTER.search(value)):
        what = f"Character {character.start() + 1}, U+{ord(character[0]):04X}, cannot be stored."
        yield Problem(_CHARACTER.sub("�", where), what, "Remove it.")


def body(request: Request) -> dict[str, Any]:
    """The JSON object that the request sends; empty if it sends nothing."""
    if not isinstance(request.data, Mapping):
        raise ParseError('The body must be a JSON object, such as {"title": "My study"}.')
    return dict(request.data)


def flag(request: Request, name: str) -> bool:
    """A parameter that is true or false."""
    value = request.query_params.get(name, "")
    if value.lower() not in WORDS:
        raise BadParameter(name, f"“{value[:40]}” is neither true nor false.", f"Write {name}=true, or leave it out.")
    return WORDS[value.lower()]


def number(request: Request, name: str, *, least: int, most: int) -> int | None:
    """A whole number from ``least`` to ``most``; None if the parameter is missing."""
    value = request.query_params.get(name)
    if value is None:
        return None
    whole = whole_number(value, least=least, most=most)
    if whole is None:
        end = f" to {most:,}" if most < LARGEST else ""
        raise BadParameter(name, f"“{value[:40]}” cannot be used.", f"Write a whole number from {least:,}{end}.")
    return whole


def text(request: Request, name: str, *, most: int = 200) -> str:
    """A text without control characters; empty if the parameter is missing."""
    return request.query_params.get(name, "").replace("\x00", "").strip()[:most]
