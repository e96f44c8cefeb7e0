"""Guessing passwords is slowed down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from annotation.views.console.sign_in import MOST_FOR_A_NAME, MOST_FOR_AN_ADDRESS
from tests.annotation.console_helpers import PASSWORD, make_user

pytestmark = pytest.mark.django_db
TOO_MANY = "There were too many wrong passwords."


@pytest.fixture(autouse=True)
def no_failures_before() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def sign_in(name: str = "ada", password: str = PASSWORD, **request: Any) -> bool | str:
    """Whether it worked; the page where it did not."""
    response = Client().post(reverse("console_login"), {"username": name, "password": password}, **request)
    return response.status_code == 302 or response.content.decode()


def fail(times: int, **request: Any) -> None:
    for _ in range(times):
        assert TOO_MANY not in str(sign_in(password="wrong", **request))


def test_after_some_wrong_passwords_even_the_right_one_has_to_wait() -> None:
    make_user("ada")
    make_user("eve")
    fail(MOST_FOR_A_NAME)
    assert TOO_MANY in str(sign_in())
    assert TOO_MANY in str(sign_in("ADA"))
    assert sign_in("eve") is True
    assert sign_in(REMOTE_ADDR="192.0.2.7") is True


def test_the_right_password_in_time_forgets_the_wrong_ones() -> None:
    make_user("ada")
    for _ in range(3):
        fail(MOST_FOR_A_NAME - 1)
        assert sign_in() is True


def test_an_address_that_tries_many_names_has_to_wait() -> None:
    make_user("ada")
    for number in range(MOST_FOR_AN_ADDRESS):
        assert TOO_MANY not in str(sign_in(f"user-{number}"))
    assert TOO_MANY in str(sign_in())


def test_behind_a_web_server_the_address_is_the_one_it_names() -> None:
    make_user("ada")
    fail(MOST_FOR_A_NAME, HTTP_X_FORWARDED_FOR="203.0.113.1, 192.0.2.7")
    assert TOO_MANY in str(sign_in(HTTP_X_FORWARDED_FOR="203.0.113.2, 192.0.2.7"))
    assert sign_in(HTTP_X_FORWARDED_FOR="192.0.2.7, 192.0.2.8") is True


def test_nobody_else_may_name_an_address() -> None:
    make_user("ada")
    for number in range(MOST_FOR_A_NAME):
        fail(1, REMOTE_ADDR="192.0.2.7", HTTP_X_FORWARDED_FOR=f"203.0.113.{number}")
    assert TOO_MANY in str(sign_in(REMOTE_ADDR="192.0.2.7", HTTP_X_FORWARDED_FOR="203.0.113.99"))
