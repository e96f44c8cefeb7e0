"""The settings page: what every study needs first, the rest folded under headings that say what it is about."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Study
from tests.annotation.console_helpers import as_role, make_user, settings_form, signed_in
from tests.factories import make_study

pytestmark = pytest.mark.django_db


class _Order(HTMLParser):
    """The names of the fields in page order, each with the summary of the fold around it (empty: always in sight)."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.folds: list[str] = []
        self.open: set[str] = set()
        self._opens: list[bool] = []
        self._in_summary = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "details":
            self.folds.append("")
            self._opens.append("open" in found)
        self._in_summary = tag == "summary" or (self._in_summary and tag != "details")
        name = found.get("name") or ""
        if tag in ("input", "select", "textarea") and name and found.get("type") != "hidden":
            self.fields.setdefault(name, self.folds[-1] if self.folds else "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "summary":
            self._in_summary = False
            self.folds[-1] = " ".join(self.folds[-1].split())
            if self._opens[-1]:
                self.open.add(self.folds[-1])
        if tag == "details":
            self.folds.pop()
            self._opens.pop()

    def handle_data(self, data: str) -> None:
        if self._in_summary:
            self.folds[-1] += data


def settings_of(study: Study, client: Client | None = None) -> _Order:
    client = client or as_role("editor", study)
    return _Order(client.get(reverse("console_settings", args=[study.slug])).content.decode())


def test_the_first_fields_are_what_workers_see_do_and_get() -> None:
    page = settings_of(make_study(live=False))
    shown = [name for name, fold in page.fields.items() if not fold]
    assert shown[:3] == ["title", "contact", "consent"]
    assert [name for name in shown if name.startswith("config-")]
    assert max(shown.index(name) for name in shown if name.startswith("config-")) < shown.index("reward")
    assert {"ratings_per_item", "items_per_hit", "reward", "time_limit_minutes"} <= set(shown)


def test_what_few_studies_change_is_folded_and_closed() -> None:
    page = settings_of(make_study(live=False))
    folds = {
        name: page.fields[name] for name in ("slug", "seed", "identity_parameter", "panel", "exam_study", "part_pay")
    }
    assert all(folds.values()), folds
    assert not page.open


def test_a_fold_with_a_changed_value_or_an_error_is_open() -> None:
    changed = make_study(live=False, panel="prolific", identity="parameter", identity_parameter="PROLIFIC_PID")
    shown = settings_of(changed)
    assert shown.open == {shown.fields["panel"]}
    client = signed_in(make_user("ada"))
    response = client.post(reverse("console_new_settings", args=["abs_hds"]), settings_form(slug="Not valid!"))
    page = _Order(response.content.decode())
    assert response.status_code == 422
    assert page.fields["slug"] in page.open


def test_arms_and_rules_come_after_the_settings() -> None:
    study = make_study(live=False)
    html = as_role("editor", study).get(reverse("console_settings", args=[study.slug])).content.decode()
    heads = re.findall(r'<h2 id="h-([a-z]+)"', html)
    assert heads[0] == "study"
    assert set(heads[-5:]) == {"arms", "factors", "stopping", "quality", "questionnaires"}
