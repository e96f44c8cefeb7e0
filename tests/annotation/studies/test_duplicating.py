"""A study duplicated as a draft: what is copied, what is not, and who may do it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import ItemAuthor, Membership, Study
from annotation.studies.duplicating import duplicate_study
from annotation.studies.identical_items import identical_in_words
from annotation.studies.launching import publish
from annotation.studies.spec import spec_of
from common.problems import Refused
from tests.annotation.console_helpers import as_role, make_user
from tests.factories import make_author, make_study, make_submission, make_worker

pytestmark = pytest.mark.django_db
ARMS: list[dict[str, Any]] = [
    {"name": "low"},
    {"name": "high", "reward": "1.25", "wanted": 7, "config": {"max_words": 9}},
]


def copy(study: Study, *, with_items: bool = True, slug: str = "again") -> Study:
    owner = make_user(f"owner-of-{slug}")
    return duplicate_study(study=study, slug=slug, title="Again", with_items=with_items, actor="test", owner=owner)


def test_a_duplicate_is_a_draft_with_the_same_settings_texts_and_arms() -> None:
    other = make_study()
    study = make_study(items=3, arms=ARMS, config={"max_words": 12}, texts={"instructions": "Read."}, reward="0.5")
    study.refresh_from_db()
    study.exclude_studies.add(other)
    make_submission(study=study)
    made = copy(study)
    was, now = spec_of(study), spec_of(made)
    assert (now.config, now.texts, now.arms, now.exclude_studies) == (
        was.config,
        was.texts,
        was.arms,
        was.exclude_studies,
    )
    differing = {name for name, value in now.values.items() if value != was.values[name]}
    assert differing == {"slug", "title"}
    assert (made.status, made.duplicated_from, made.complete_at, made.live_at) == ("draft", study, None, None)
    assert made.submissions.count() == made.hits.count() == 0
    assert [each.role for each in Membership.objects.filter(study=made)] == ["owner"]


def test_items_are_copied_with_where_they_came_from_and_can_be_launched() -> None:
    study = make_study(items=3)
    worker = make_worker()
    make_author(item=study.items.all()[1], worker=worker)
    study.items.update(source={"file": "sets.csv", "rows": [1]})
    study.refresh_from_db()
    made = copy(study)
    columns = ("external_id", "payload", "role", "source", "position")
    assert list(made.items.values_list(*columns)) == list(study.items.values_list(*columns))
    author = ItemAuthor.objects.get(item__study=made)
    assert (author.item.external_id, author.worker, made.has_authors) == (
        study.items.all()[1].external_id,
        worker,
        True,
    )
    publish(study=made, actor="test")
    assert made.hits.count() == 3


def test_items_may_be_left_out() -> None:
    assert copy(make_study(items=3), with_items=False).items.count() == 0


def test_a_name_that_is_taken_is_refused() -> None:
    study = make_study()
    with pytest.raises(Refused, match="Another study"):
        copy(study, slug=study.slug)
    assert Study.objects.count() == 1


def test_deleting_the_first_study_leaves_the_duplicate() -> None:
    study = make_study(live=False)
    made = copy(study)
    study.delete()
    made.refresh_from_db()
    assert made.duplicated_from is None


# --- in the console ---


@pytest.mark.parametrize("role", ["viewer", "editor", "owner", "superuser"])
def test_every_member_may_duplicate_a_study_and_owns_the_draft(role: str) -> None:
    study = make_study(title="Replies", items=2)
    client = as_role(role, study)
    url = reverse("console_duplicate", args=[study.slug])
    page = client.get(url).content.decode()
    assert "This study has 2 items." in page
    assert 'value="Replies (copy)"' in page
    response = client.post(url, {"title": "Replies, round 2", "slug": "", "with_items": "on"})
    assert response.headers["Location"] == reverse("console_settings", args=["replies-round-2"])
    made = Study.objects.get(slug="replies-round-2")
    assert (made.items.count(), made.memberships.get().role) == (2, "owner")


def test_a_title_is_required_and_a_name_that_is_taken_is_reported_beside_its_field() -> None:
    study = make_study()
    client = as_role("owner", study)
    url = reverse("console_duplicate", args=[study.slug])
    response = client.post(url, {"title": "", "slug": ""})
    assert response.status_code == 422
    taken = client.post(url, {"title": "Again", "slug": study.slug})
    assert taken.status_code == 422
    assert "Another study" in taken.content.decode()
    assert Study.objects.count() == 1


def test_nobody_else_can_duplicate_a_study() -> None:
    study = make_study()
    url = reverse("console_duplicate", args=[study.slug])
    assert as_role("outsider", study).post(url, {"title": "Mine"}).status_code == 404
    assert Client().post(url, {"title": "Mine"}).status_code == 302
    assert Study.objects.count() == 1


# --- identical items ---


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ([], ""),
        ([["a", "b"]], "Some items are identical: a and b."),
        ([["a", "b", "c"], ["d", "e"]], "a, b and c; d and e."),
        ([["a", "b"]] * 4, "a and b; a and b; a and b; and 1 more group."),
        ([["a", "b"]] * 5, "; and 2 more groups."),
        ([list("abcdefgh")], "a, b, c, d, e and 3 more."),
    ],
)
def test_identical_items_in_words(groups: list[list[str]], told: str) -> None:
    assert told in identical_in_words(groups)
