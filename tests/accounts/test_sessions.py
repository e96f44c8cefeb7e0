"""Sessions: whose they are, when they end, and ending them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import Session
from accounts.users import open_sessions
from tests.annotation.console_helpers import PASSWORD, make_user, signed_in
from tests.factories import make_study

pytestmark = pytest.mark.django_db
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
CHROME = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"


@pytest.fixture
def ann() -> User:
    cache.clear()
    return make_user("ann")


def sign_in(device: str = FIREFOX, address: str = "192.0.2.7") -> Client:
    client = Client(REMOTE_ADDR=address, headers={"User-Agent": device})
    form = {"username": "ann", "password": PASSWORD}
    assert client.post(reverse("console_login"), form).status_code == 302
    return client


def is_in(client: Client) -> bool:
    return client.get(reverse("console_account")).status_code == 200


def make_older(by: timedelta) -> None:
    for session in Session.objects.all():
        session.seen_at -= by
        session.expire_date -= by
        session.save()


def test_a_session_has_its_user_browser_and_address(ann: User) -> None:
    sign_in()
    session = Session.objects.get()
    assert (session.user, session.entrance, session.address, session.device) == (ann, "console", "192.0.2.7", FIREFOX)


def test_it_ends_some_days_after_the_sign_in_however_often_it_is_used(ann: User) -> None:
    client = sign_in()
    Session.objects.update(created_at=timezone.now() - timedelta(days=7) + timedelta(minutes=1))
    assert is_in(client)
    Session.objects.update(created_at=timezone.now() - timedelta(days=7, seconds=1))
    assert open_sessions(ann) == []
    assert not is_in(client)
    assert not Session.objects.filter(user=ann).exists()


def test_a_new_password_does_not_make_a_session_younger(ann: User) -> None:
    client = sign_in()
    signed_in_at = Session.objects.get().created_at
    form = {"old_password": PASSWORD, "new_password1": "another-long-walk", "new_password2": "another-long-walk"}
    assert client.post(reverse("console_password"), form).status_code == 302
    assert Session.objects.get(user=ann).created_at == signed_in_at


def test_it_ends_after_the_idle_time_and_not_while_it_is_used(ann: User, settings: object) -> None:
    client = sign_in()
    for _ in range(3):
        make_older(timedelta(hours=11))
        assert is_in(client)
    make_older(timedelta(hours=12, seconds=1))
    assert not is_in(client)


def test_the_cookie_lives_as_long_as_the_session(ann: User, settings: object) -> None:
    client = sign_in()
    assert client.cookies["sessionid"]["max-age"] == 12 * 3600
    client.cookies["sessionid"]["max-age"] = ""
    make_older(timedelta(minutes=2))
    is_in(client)
    assert client.cookies["sessionid"]["max-age"] == 12 * 3600


def test_a_page_left_open_does_not_keep_it_alive(ann: User) -> None:
    client = signed_in(ann)
    study = make_study(items=1)
    study.memberships.create(user=ann, role="owner")
    make_older(timedelta(hours=11))
    before = Session.objects.values_list("expire_date", flat=True).get()
    polled = client.get(reverse("console_progress", args=[study.slug]), headers={"HX-Request": "true"})
    assert polled.status_code == 200
    assert Session.objects.values_list("expire_date", flat=True).get() == before
    is_in(client)
    assert Session.objects.values_list("expire_date", flat=True).get() > before


def test_it_is_written_once_a_minute_at_most(ann: User) -> None:
    client = signed_in(ann)
    is_in(client)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        is_in(client)
    assert not [query for query in queries if query["sql"].startswith(("UPDATE", "INSERT", "DELETE"))]


def test_signing_in_removes_sessions_that_have_ended(ann: User) -> None:
    sign_in()
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    sign_in()
    assert Session.objects.count() == 1


def test_your_account_lists_sessions_and_ends_them(ann: User) -> None:
    here, there, third = sign_in(), sign_in(CHROME, "198.51.100.4"), sign_in()
    page = here.get(reverse("console_account")).content.decode()
    assert "Firefox on Linux" in page and "Chrome on Windows" in page and "198.51.100.4" in page
    assert page.count("This browser") == 1
    assert not any(key in page for key in Session.objects.values_list("session_key", flat=True))
    chosen = Session.objects.get(address="198.51.100.4")
    here.post(reverse("console_end_session"), {"session": chosen.handle})
    assert [is_in(here), is_in(there), is_in(third)] == [True, False, True]
    here.post(reverse("console_end_session"))
    assert [is_in(here), is_in(third)] == [True, False]


def test_nobody_ends_the_session_of_another(ann: User) -> None:
    client = sign_in()
    other = signed_in(make_user("bob"))
    page = other.post(reverse("console_end_session"), {"session": Session.objects.get(user=ann).handle}, follow=True)
    assert "had already ended" in page.content.decode()
    other.post(reverse("console_end_session"))
    assert is_in(client)


def test_a_new_password_ends_the_other_sessions(ann: User) -> None:
    here, there = sign_in(), sign_in()
    new = "a quite different phrase"
    here.post(reverse("console_password"), {"old_password": PASSWORD, "new_password1": new, "new_password2": new})
    assert [is_in(here), is_in(there)] == [True, False]
    assert Session.objects.count() == 1


def test_signing_out_deletes_the_session(ann: User) -> None:
    sign_in().post(reverse("console_logout"))
    assert not Session.objects.exists()
