from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.db import OperationalError, connection
from django.test import Client

from hitserver import health
from tests.services import free_port

ALL_WELL = b"ok\ndatabase: ok\ndisk: ok\nbroker: ok\n"


@pytest.fixture(autouse=True)
def a_new_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One that has not asked the broker yet, with a folder as its broker and space on its disk."""
    monkeypatch.setattr(health, "_broker_seen", None)
    monkeypatch.setattr(health, "LITTLE_SPACE_BYTES", 1)
    monkeypatch.setattr(health, "current_app", queue("filesystem://localhost", folder=str(tmp_path / "broker")))


def queue(broker: str, **options: Any) -> Celery:
    return Celery(broker=broker, broker_transport_options=options, set_as_current=False)


@pytest.mark.django_db
def test_a_healthy_server_says_ok(client: Client) -> None:
    response = client.get("/healthz")

    assert (response.status_code, response.content) == (200, ALL_WELL)


@pytest.mark.django_db
def test_a_server_without_its_database_says_so(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(connection, "cursor", refuse)
    monkeypatch.setattr(connection, "close", lambda: None)
    response = client.get("/healthz")

    assert response.status_code == 503
    assert response.content.startswith(b"failed\ndatabase: does not answer\ndisk: ok\n")


@pytest.mark.django_db
def test_a_server_that_cannot_write_says_so(client: Client, settings: Any, tmp_path: Path) -> None:
    settings.VAR = tmp_path / "unmounted"
    response = client.get("/healthz")

    assert response.status_code == 503
    assert b"disk: cannot be written to (No such file or directory)\n" in response.content


@pytest.mark.django_db
def test_a_disk_that_is_almost_full_is_a_warning(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "LITTLE_SPACE_BYTES", 10**18)
    response = client.get("/healthz")

    assert response.status_code == 200
    assert response.content.startswith(b"degraded\ndatabase: ok\ndisk: almost full: ")


@pytest.mark.django_db
@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_a_broker_that_is_away_is_told_and_takes_no_server_out_of_service(
    client: Client, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setattr(health, "current_app", queue(f"{scheme}://127.0.0.1:{free_port()}/"))
    response = client.get("/healthz")

    assert response.status_code == 200
    assert response.content.startswith(b"degraded\ndatabase: ok\ndisk: ok\nbroker: does not answer")


def test_a_process_without_database_is_alive(client: Client) -> None:
    """Without ``django_db``, a test that asks the database fails."""
    assert client.get("/healthz/live").content == b"ok\n"
