"""Who can download exports."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404
from django.test import RequestFactory
from django.urls import reverse

from annotation.models import Item, Membership, Study
from annotation.results.pages.exports import export_view
from tests.annotation.results.exports.helpers import exported
from tests.factories import make_participant, make_researcher, make_study, make_submission


def get(study: Study | str, user: Any, kind: str = "long", format: str = "csv", **query: str) -> Any:
    request = RequestFactory().get("/", query)
    request.user = user
    return export_view(request, study if isinstance(study, str) else study.slug, kind, format)


def member(study: Study, role: str) -> User:
    user = make_researcher(role)
    Membership.objects.create(study=study, user=user, role=role)
    return user


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["viewer", "editor", "owner"])
def test_members_download_and_outsiders_find_nothing(role: str) -> None:
    study = make_study(items=1, ratings_per_item=1)
    make_submission(study=study)
    answer = get(study, member(study, role))
    assert answer.status_code == 200
    assert b"".join(answer.streaming_content).decode() == exported(study, "long")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"] == f'attachment; filename="{study.slug}-long.csv"'
    assert "no-store" in answer["Cache-Control"]
    outsider = make_researcher("outsider")
    for slug in (study, "no-such-study"):
        with pytest.raises(Http404):
            get(slug, outsider)
        visitor = get(slug, AnonymousUser())
        assert (visitor.status_code, visitor["Location"].split("?")[0]) == (302, reverse("console_login"))


@pytest.mark.django_db
def test_only_owners_may_have_worker_ids() -> None:
    study = make_study(items=1, ratings_per_item=1)
    make_submission(study=study, participant=make_participant(study=study, name="A2SECRET"))
    for role in ("viewer", "editor"):
        with pytest.raises(Http404):
            get(study, member(study, role), worker_ids="1")
    owner = member(study, "owner")
    assert b"A2SECRET" in b"".join(get(study, owner, worker_ids="1").streaming_content)
    assert b"A2SECRET" not in b"".join(get(study, owner).streaming_content)


@pytest.mark.django_db
def test_unknown_exports_are_not_found_and_impossible_ones_say_why() -> None:
    study = make_study(items=1)
    owner = member(study, "owner")
    for kind, format in (("broad", "csv"), ("long", "xlsx")):
        with pytest.raises(Http404):
            get(study, owner, kind, format)
    refused = get(study, owner, "wide", worker_ids="1")
    assert (refused.status_code, b"never says who" in refused.content) == (400, True)
    assert get(study, owner, simulated="maybe").status_code == 400
    request = RequestFactory().post("/")
    request.user = owner
    assert export_view(request, study.slug, "long", "csv").status_code == 405
    assert Item.objects.count() == 1
