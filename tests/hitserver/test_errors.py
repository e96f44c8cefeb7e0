"""A page that fails because the database or the disk is away says so, and that trying again helps."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client

pytestmark = pytest.mark.django_db


def failing(error: Exception) -> Any:
    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        raise error

    return connection.execute_wrapper(refuse)


@pytest.mark.parametrize("error", [OperationalError("server closed the connection"), OSError(errno.ENOSPC, "full")])
@pytest.mark.parametrize("path", ["/console/login/", "/marketplace/sign-in/", "/marketplace/operate/login/"])
def test_nobody_who_signs_in_during_an_outage_reads_that_the_server_is_broken(path: str, error: Exception) -> None:
    client = Client(raise_request_exception=False)
    form = {"username": "ada", "email": "ada@lab.example", "password": "x" * 12}
    with failing(error):
        response = client.post(path, form)
    assert response.status_code == 503
    assert "<h1>Not available right now</h1>" in response.content.decode()
    assert response.headers["Retry-After"] == "10"


def test_programs_get_json() -> None:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_user("ada"))
    with failing(OperationalError("gone")):
        response = client.get("/api/v1/studies/")
    assert (response.status_code, response.headers["Content-Type"]) == (503, "application/problem+json")
    assert "Try again in a minute." in response.json()["detail"]


def test_a_fault_in_the_code_is_not_called_an_outage() -> None:
    client = Client(raise_request_exception=False)
    with failing(ZeroDivisionError("division by zero")):
        response = client.post("/console/login/", {"username": "ada", "password": "x"})
    assert response.status_code == 500
    assert "<h1>Something went wrong on our side</h1>" in response.content.decode()
    assert "Retry-After" not in response.headers
