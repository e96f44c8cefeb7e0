"""A client of the server in this process: no socket, no other process, the test's own database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from accounts import tokens
from hitserver_client import Client

ADDRESS = "http://testserver"


def with_token(token: str) -> Client:
    return Client(ADDRESS, token, transport=httpx.WSGITransport(app=WSGIHandler()))


@contextmanager
def client_of(user: User) -> Iterator[Client]:
    """Whoever has a token of the user. As in Django's own client, the connection to the database stays open."""
    text = tokens.create_token(user=user, name="notebook", scopes=["read", "collect", "pay"]).text
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    try:
        with with_token(text) as hits:
            yield hits
    finally:
        for signal in signals:
            signal.connect(close_old_connections)
