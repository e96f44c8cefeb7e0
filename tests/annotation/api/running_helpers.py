"""Requests as programs send them."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from accounts import tokens
from tests.annotation.api_helpers import fits_schema


def program(user: User) -> Client:
    """A client that sends a token of the user."""
    text = tokens.create_token(user=user, name="notebook", scopes=["read", "collect", "pay"]).text
    return Client(headers={"Authorization": f"Bearer {text}"})


def send(client: Client, method: str, name: str, /, *args: Any, key: str = "", **body: Any) -> Any:
    """A request with a JSON body, and with an Idempotency-Key if there is one."""
    headers = {"Idempotency-Key": key} if key else {}
    data = "" if method == "GET" else json.dumps(body)
    address = reverse(name, args=args)
    response = client.generic(method, address, data, content_type="application/json", headers=headers)
    fits_schema(method.lower(), address, response)
    return response


def post(client: Client, name: str, /, *args: Any, key: str = "", **body: Any) -> Any:
    return send(client, "POST", name, *args, key=key, **body)


def get(client: Client, name: str, /, *args: Any, **query: Any) -> Any:
    """What a successful request answers."""
    address = reverse(name, args=args)
    response = client.get(address, query)
    assert response.status_code == 200, response.content
    fits_schema("get", address, response)
    return response.json()


def reasons(response: Any) -> list[tuple[str, str]]:
    """The field and the reason of each error of a problem."""
    assert response.headers["Content-Type"] == "application/problem+json"
    return [(error["field"], error["reason"]) for error in response.json()["errors"]]
