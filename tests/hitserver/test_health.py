import pytest
from django.db import OperationalError, connection
from django.test import Client


@pytest.mark.django_db
def test_a_healthy_server_says_ok(client: Client) -> None:
    response = client.get("/healthz")

    assert (response.status_code, response.content) == (200, b"ok\n")


@pytest.mark.django_db
def test_a_server_without_its_database_says_so(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(connection, "cursor", refuse)

    assert client.get("/healthz").status_code == 503
