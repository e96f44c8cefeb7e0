"""Every operation of the API has a method of the client, with and without async."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from django.urls import resolve

from annotation.api.schema import document
from hitserver_client import Study
from tests.client.support.calls import CALLS
from tests.client.support.server import Server, ok

METHODS = ("get", "post", "put", "patch", "delete")
#: What all answers contain that the client looks at.
STATE: dict[str, Any] = {
    "slug": "mine",
    "title": "Mine",
    "status": "draft",
    "task_type": "likert",
    "submitted": 0,
    "wanted": 0,
    "results": [],
    "next": None,
    "warnings": [],
    "secret": "",
    "team": None,
    "items": 0,
    "id": 1,
    "kind": "export",
    "state": "done",
    "result": {},
    "links": {"file": "/api/v1/jobs/1/file/"},
    "progress": {"done": 0, "total": 0, "unit": ""},
}
ANSWER = {**STATE, "study": STATE, "notes": []}


def operation_ids() -> dict[tuple[str, str], str]:
    """The id of each method of each address."""
    paths: dict[str, dict[str, Any]] = document()["paths"]
    return {
        (method, path): operations[method]["operationId"]
        for path, operations in paths.items()
        for method in METHODS
        if method in operations
    }


def test_the_client_has_a_method_for_every_operation_of_the_api() -> None:
    assert set(CALLS) == set(operation_ids().values())


@pytest.mark.parametrize("operation", CALLS)
def test_the_method_sends_the_request_of_its_operation(operation: str, tmp_path: Path) -> None:
    server = Server(ok(ANSWER))
    hits, ids = server.client(), operation_ids()
    study = Study(hits.transport, ANSWER)
    CALLS[operation](hits, study, tmp_path)
    sent = set()
    for request in server.requests:
        route = re.sub(r"<\w+:(\w+)>", r"{\1}", resolve(unquote(request.url.raw_path.decode().partition("?")[0])).route)
        method = "get" if request.method == "HEAD" else request.method.lower()
        sent.add(ids[method, f"/{route}"])
        if request.method not in ("GET", "HEAD"):
            assert request.headers["idempotency-key"]
    assert operation in sent
