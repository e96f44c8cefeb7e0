"""Requests as programs send them."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from accounts import tokens
from annotation.api.schema import document


def program(user: User) -> Client:
    """A client that sends a token of the user."""
    text = tokens.create_token(user=user, name="notebook").text
    return Client(headers={"Authorization": f"Bearer {text}"})


def send(client: Client, method: str, name: str, /, *args: Any, key: str = "", **body: Any) -> Any:
    """A request with a JSON body, and with an Idempotency-Key if there is one."""
    headers = {"Idempotency-Key": key} if key else {}
    data = "" if method == "GET" else json.dumps(body)
    address = reverse(name, args=args)
    response = client.generic(method, address, data, content_type="application/json", headers=headers)
    assert_fits(response, method, address)
    return response


def post(client: Client, name: str, /, *args: Any, key: str = "", **body: Any) -> Any:
    return send(client, "POST", name, *args, key=key, **body)


def get(client: Client, name: str, /, *args: Any, **query: Any) -> Any:
    """What a successful request answers."""
    address = reverse(name, args=args)
    response = client.get(address, query)
    assert response.status_code == 200, response.content
    assert_fits(response, "GET", address)
    return response.json()


def reasons(response: Any) -> list[tuple[str, str]]:
    """The field and the reason of each error of a problem."""
    assert response.headers["Content-Type"] == "application/problem+json"
    return [(error["field"], error["reason"]) for error in response.json()["errors"]]


def assert_fits(response: Any, method: str, address: str) -> None:
    """The JSON of an answer is as the OpenAPI schema says."""
    media_type = response.headers.get("Content-Type", "").partition(";")[0]
    if not media_type.endswith("json"):
        return
    openapi = document()
    described = _operation(openapi, method, address)["responses"][str(response.status_code)]["content"][media_type]
    jsonschema.validate(
        response.json(),
        {"components": openapi["components"], **described["schema"]},
        cls=jsonschema.Draft202012Validator,
    )


def _operation(openapi: dict[str, Any], method: str, address: str) -> dict[str, Any]:
    """The most specific operation at this address."""
    for route in sorted(openapi["paths"], key=lambda route: route.count("{")):
        pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(route))
        if re.fullmatch(pattern, address) and method.lower() in openapi["paths"][route]:
            operation: dict[str, Any] = openapi["paths"][route][method.lower()]
            return operation
    raise AssertionError(f"{method} {address} is not in the schema")
