"""Requests of a program to the API, and what they answer. Every answer is compared with the schema."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from django.test import Client
from django.urls import resolve, reverse
from jsonschema import Draft202012Validator

from annotation.api.schema import document
from annotation.models import Study

PROBLEM = "application/problem+json"


def send(
    client: Client, method: str, name: str, study: Study | None, *args: Any, body: Any = None, **query: str
) -> Any:
    """The response to a request with a JSON body, if there is one."""
    names = [*([study.slug] if study else []), *args]
    content = {} if method == "get" else {"data": "" if body is None else body, "content_type": "application/json"}
    response = getattr(client, method)(reverse(name, args=names, query=query), **content)
    fits_schema(method, reverse(name, args=names), response)
    return response


def fits_schema(method: str, path: str, response: Any) -> None:
    """Fails if the schema has no such answer for the address."""
    route = re.sub(r"<\w+:(\w+)>", r"{\1}", resolve(path).route)
    answers = document()["paths"][f"/{route}"][method]["responses"]
    assert str(response.status_code) in answers, f"{method} {route} answers {response.status_code}"
    content = answers[str(response.status_code)].get("content", {})
    media_type = response.headers.get("Content-Type", "").partition(";")[0]
    assert media_type in content or not (content or media_type), f"{method} {route} answers {media_type}"
    if media_type.endswith("json"):
        validator(route, method, response.status_code, media_type).validate(response.json())


@cache
def validator(route: str, method: str, status: int, media_type: str) -> Draft202012Validator:
    answer = document()["paths"][f"/{route}"][method]["responses"][str(status)]["content"][media_type]
    return Draft202012Validator(answer["schema"] | {"components": document()["components"]})


def problem_of(response: Any, status: int) -> dict[str, Any]:
    """The problem in a response, which has every part that one must have."""
    assert (response.status_code, response.headers["Content-Type"]) == (status, PROBLEM), response.content[:2000]
    body: dict[str, Any] = response.json()
    assert set(body) == {"type", "title", "status", "detail", "errors"}
    assert body["status"] == status
    return body


def reasons_of(response: Any, status: int) -> dict[str, str]:
    """Each field of a problem with its reason and its fix."""
    return {error["field"]: f"{error['reason']} {error['fix']}" for error in problem_of(response, status)["errors"]}
