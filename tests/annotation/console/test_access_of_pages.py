"""Who can open what. For anybody without a role in a study, that study does not exist."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Item, Membership, Review, Study, Submission
from tests.annotation.console_helpers import PASSWORD, as_role, make_user, settings_form, signed_in
from tests.factories import make_study, make_submission

pytestmark = pytest.mark.django_db

READ = [
    "console_study",
    "console_progress",
    "console_activity",
    "console_type",
    "console_settings",
    "console_arms",
    "console_sample_items",
    "console_items",
    "console_item",
    "console_preview",
    "console_preview_page",
    "console_submissions",
    "console_submission",
    "console_submission_page",
    "console_members",
]
EDITORS_ONLY = ["console_links"]
EDITORS_WRITE = [
    "console_settings",
    "console_type",
    "console_pause",
    "console_close",
    "console_review",
    "console_links",
]
OWNERS_WRITE = ["console_members", "console_remove_member", "console_delete"]


@pytest.fixture
def study() -> Study:
    study = make_study(items=2)
    make_submission(study=study)
    return study


def address(name: str, study: Study) -> str:
    pk = {
        "console_item": Item.objects.filter(study=study).values_list("pk", flat=True).first(),
        "console_submission": Submission.objects.filter(study=study).values_list("pk", flat=True).first(),
        "console_remove_member": 1,
    }
    pk["console_review"] = pk["console_submission_page"] = pk["console_submission"]
    return reverse(name, args=[study.slug, pk[name]] if name in pk else [study.slug])


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("role", ["viewer", "editor", "owner", "superuser"])
def test_members_see_every_page(name: str, role: str, study: Study) -> None:
    assert as_role(role, study).get(address(name, study)).status_code == 200


@pytest.mark.parametrize("name", [*READ, *EDITORS_ONLY])
def test_an_outsider_reads_that_there_is_no_such_study(name: str, study: Study) -> None:
    assert as_role("outsider", study).get(address(name, study)).status_code == 404


@pytest.mark.parametrize("name", [*READ, *EDITORS_ONLY])
def test_an_anonymous_visitor_is_sent_to_sign_in(name: str, study: Study) -> None:
    response = Client().get(address(name, study))
    assert response.status_code == 302
    assert response.headers["Location"].startswith(reverse("console_login") + "?next=/console/studies/")


@pytest.mark.parametrize("name", EDITORS_ONLY)
def test_a_viewer_is_not_shown_what_only_editors_may_do(name: str, study: Study) -> None:
    assert as_role("viewer", study).get(address(name, study)).status_code == 404


@pytest.mark.parametrize("role", ["viewer", "outsider"])
@pytest.mark.parametrize("name", [*EDITORS_WRITE, *OWNERS_WRITE])
def test_people_who_cannot_write_get_404_for_every_form(name: str, role: str, study: Study) -> None:
    client = as_role(role, study)
    before = Study.objects.values().get(pk=study.pk)
    assert client.post(address(name, study), {"decision": "exclude"} | settings_form()).status_code == 404
    assert Study.objects.values().get(pk=study.pk) == before
    assert not Review.objects.exists()


@pytest.mark.parametrize("name", OWNERS_WRITE)
def test_an_editor_does_not_manage_members_nor_delete(name: str, study: Study) -> None:
    assert as_role("editor", study).post(address(name, study)).status_code == 404


@pytest.mark.parametrize("name", ["console_upload", "console_publish"])
@pytest.mark.parametrize("role", ["viewer", "outsider"])
def test_people_who_cannot_write_never_reach_upload_and_publish(name: str, role: str) -> None:
    draft = make_study(live=False)
    client = as_role(role, draft)
    assert client.get(address(name, draft)).status_code == 404
    assert client.post(address(name, draft)).status_code == 404
    draft.refresh_from_db()
    assert draft.status == Study.Status.DRAFT


def test_a_viewer_sees_no_buttons_that_would_write(study: Study) -> None:
    client = as_role("viewer", study)
    for name in ("console_study", "console_submission", "console_members", "console_items"):
        page = client.get(address(name, study)).content.decode()
        forms = page.split("<form")[1:]
        assert all(reverse("console_logout") in form or 'method="get"' in form for form in forms), name


def test_another_studys_item_or_submission_is_not_shown_under_my_study(study: Study) -> None:
    mine = make_study(items=1)
    client = as_role("owner", mine)
    other_item, other = Item.objects.filter(study=study).first(), Submission.objects.get(study=study)
    assert other_item
    assert client.get(reverse("console_item", args=[mine.slug, other_item.pk])).status_code == 404
    assert client.get(reverse("console_submission", args=[mine.slug, other.pk])).status_code == 404
    url = reverse("console_review", args=[mine.slug, other.pk])
    assert client.post(url, {"decision": "exclude"}).status_code == 404


def test_the_list_holds_my_studies_alone(study: Study) -> None:
    mine = make_study(title="Mine alone", items=1)
    page = as_role("owner", mine).get(reverse("console_studies")).content.decode()
    assert "Mine alone" in page
    assert study.title not in page


def test_the_list_shows_somebody_without_studies_what_to_do() -> None:
    page = signed_in(make_user("new")).get(reverse("console_studies")).content.decode()
    assert "No studies yet" in page
    assert reverse("console_new") in page


def test_an_inactive_member_has_no_access(study: Study) -> None:
    user = make_user("gone")
    Membership.objects.create(study=study, user=user, role="owner")
    client = signed_in(user)
    user.is_active = False
    user.save()
    assert client.get(reverse("console_study", args=[study.slug])).status_code in (302, 404)


# --- signing in ---


def test_signing_in_leads_back_to_the_requested_page() -> None:
    make_user("ada")
    client = Client()
    login = reverse("console_login")
    assert client.get("/", follow=True).redirect_chain[-1][0].startswith(login)
    response = client.post(
        f"{login}?next=/console/new/", {"username": "ada", "password": PASSWORD, "next": "/console/new/"}
    )
    assert response.headers["Location"] == "/console/new/"


def test_a_wrong_sign_in_does_not_reveal_which_part_was_wrong() -> None:
    make_user("ada")
    response = Client().post(reverse("console_login"), {"username": "ada", "password": "wrong"})
    assert response.status_code == 422
    assert "The user name or the password is wrong." in response.content.decode()


def test_signing_in_does_not_lead_to_another_site() -> None:
    make_user("ada")
    form = {"username": "ada", "password": PASSWORD, "next": "https://elsewhere.example/"}
    assert Client().post(reverse("console_login"), form).headers["Location"] == reverse("console_studies")


def test_signing_out_needs_a_form_and_ends_the_session() -> None:
    client = signed_in(make_user("ada"))
    assert client.get(reverse("console_logout")).status_code == 405
    assert client.post(reverse("console_logout")).headers["Location"] == reverse("console_login")
    assert client.get(reverse("console_studies")).status_code == 302


def test_forms_need_the_token_against_forged_requests(study: Study) -> None:
    user = make_user("owner")
    Membership.objects.create(study=study, user=user, role="owner")
    response = signed_in(user, csrf=True).post(reverse("console_close", args=[study.slug]))
    assert response.status_code == 403
    assert "Nothing was saved." in response.content.decode()
    study.refresh_from_db()
    assert study.status == Study.Status.LIVE


def test_a_polled_fragment_sends_who_is_signed_out_to_the_sign_in_page(study: Study) -> None:
    response = Client().get(reverse("console_progress", args=[study.slug]), headers={"HX-Request": "true"})
    assert (response.status_code, response.headers["HX-Redirect"]) == (204, reverse("console_login"))


def test_a_password_can_be_changed() -> None:
    user = make_user("ada")
    client = signed_in(user)
    new = "a quite different phrase"
    form = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert client.post(reverse("console_password"), form).status_code == 302
    user.refresh_from_db()
    assert user.check_password(new)


# --- users of this server ---


def test_a_superuser_adds_users_and_nobody_else_sees_the_page() -> None:
    url = reverse("console_users")
    admin = signed_in(make_user("admin", is_superuser=True))
    form = {"username": "eve", "password1": "a very long phrase", "password2": "a very long phrase"}
    assert admin.post(url, form).status_code == 302
    signed_in_by_form = Client().post(reverse("console_login"), {"username": "eve", "password": "a very long phrase"})
    assert signed_in_by_form.headers["Location"] == reverse("console_studies")
    assert signed_in(make_user("plain")).get(url).status_code == 404
    assert signed_in(make_user("plain2")).post(url, form | {"username": "mallory"}).status_code == 404
    assert Client().get(url).status_code == 302


def test_a_name_that_is_taken_and_a_short_password_are_refused() -> None:
    admin = signed_in(make_user("admin", is_superuser=True))
    form = {"username": "admin", "password1": "short", "password2": "short"}
    response = admin.post(reverse("console_users"), form)
    assert response.status_code == 422
    page = response.content.decode()
    assert "already exists" in page
    assert "too short" in page


def test_looking_at_the_console_writes_nothing_for_workers(study: Study) -> None:
    client = as_role("owner", study)
    before = Assignment.objects.count()
    client.get(reverse("console_preview_page", args=[study.slug]))
    client.get(reverse("console_preview_page", args=[study.slug]) + "?step=2")
    client.post(reverse("console_preview_page", args=[study.slug]), {"agree": "yes"})
    assert Assignment.objects.count() == before
