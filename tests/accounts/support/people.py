"""Users with a second factor, and what their apps show."""

from __future__ import annotations

import base64
import hmac
import struct
import time
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import second_factor
from accounts.models import Session
from tests.annotation.console_helpers import PASSWORD

SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"


def code_at(moment: float, secret: str = SECRET, digits: int = 6) -> str:
    """The code by the algorithm of RFC 6238 and RFC 4226, written here again."""
    counter = struct.pack(">Q", int(moment) // 30)
    digest = hmac.digest(base64.b32decode(secret), counter, "sha1")
    offset = digest[-1] & 0xF
    number = struct.unpack(">I", digest[offset : offset + 4])[0] & 0x7FFFFFFF
    return str(number % 10**digits).zfill(digits)


class Clock:
    """The time that codes depend on. It starts now, and moves only when a test moves it."""

    def __init__(self) -> None:
        self.now = time.time()

    def code(self, steps: int = 0) -> str:
        return code_at(self.now + 30 * steps)

    def later(self, steps: int = 1) -> Clock:
        self.now += 30 * steps
        return self


def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("accounts.second_factor.time.time", lambda: clock.now)
    return clock


def add_app(user: User, clock: Clock) -> list[str]:
    """Adds an app with ``SECRET``; its first code is used up. Returns the recovery codes."""
    codes = second_factor.add_app(user=user, secret=SECRET, code=clock.code(), name="phone")
    clock.later()
    return codes


def give_password(page: str, name: str, address: str = "192.0.2.7", to: str = "") -> Client:
    client = Client(REMOTE_ADDR=address)
    form = {"username": name, "password": PASSWORD} | ({"next": to} if to else {})
    response = client.post(reverse(page), form)
    assert response.status_code == 302, response.content.decode()
    return client


def is_in(client: Client) -> bool:
    return client.get(reverse("console_account")).status_code == 200


def make_sign_in_older(by: timedelta) -> datetime:
    """As if everybody had signed in that long ago."""
    for session in Session.objects.all():
        data = session.get_decoded()
        since = timezone.now() - by
        if "_origin" in data:
            data["_origin"]["since"] = since.isoformat()
        session.session_data = Session.objects.encode(data)
        session.created_at = since
        session.save()
    return timezone.now() - by
