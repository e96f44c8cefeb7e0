"""People and requests for the console's tests."""

from __future__ import annotations

from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from annotation.models import Membership, Study
from annotation.task_types.registry import get_type
from tests.factories import default_config, make_researcher

PASSWORD = "correct horse battery"


def make_user(name: str, *, researcher: bool = True, **values: Any) -> User:
    make = make_researcher if researcher else User.objects.create_user
    return make(name, password=PASSWORD, **values)


def signed_in(user: User, *, csrf: bool = False) -> Client:
    client = Client(enforce_csrf_checks=csrf)
    client.force_login(user)
    return client


def as_role(role: str, study: Study) -> Client:
    """A client of somebody with this role; ``outsider`` has another study, ``anonymous`` has not signed in."""
    if role == "anonymous":
        return Client()
    user = make_user(f"{role}-of-{study.slug}", is_superuser=role == "superuser")
    if role in Membership.Role.values:
        Membership.objects.create(study=study, user=user, role=role)
    return signed_in(user)


def settings_form(task_type: str = "abs_hds", **changes: Any) -> dict[str, Any]:
    """The settings page as a browser sends it after only ``changes`` were made."""
    config = {f"config-{name}": value for name, value in default_config(get_type(task_type)).items()}
    values = {
        "title": "Replies, round 1",
        "slug": "",
        "contact": "lab@example.org",
        "language": "en",
        "consent": "",
        "ratings_per_item": 10,
        "items_per_hit": 1,
        "hits_per_worker": 1,
        "reward": "0.18",
        "time_limit_minutes": 30,
        "access": "open",
        "identity": "none",
        "exam_percent": 80,
        "feedback_box": "on",
        "part_pay": "none",
        "seed": 1,
    }
    form = values | {name: value for name, value in config.items() if value is not False} | changes
    return {name: "on" if value is True else value for name, value in form.items() if value is not None}


class _Fields(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "input" and found.get("type") == "hidden" and found.get("name"):
            self.values[str(found["name"])] = found.get("value") or ""


def hidden(page: str) -> Mapping[str, str]:
    """The hidden fields of a page; the last wins where a name repeats."""
    parser = _Fields()
    parser.feed(page)
    return parser.values
