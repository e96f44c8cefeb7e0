"""From nothing to a live study: type, settings, preview, going live; and everything that can prevent it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEntry, Item, Membership, Posting, Study
from annotation.studies import storing as service
from annotation.studies.pages.launch_plan import plan_of
from tests.annotation.console_helpers import as_role, hidden, make_user, settings_form, signed_in
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return signed_in(make_user("ada"))


def draft(**values: object) -> tuple[Study, Client]:
    study = make_study(live=False, **({"items": 4} | values))  # type: ignore[arg-type]
    return study, as_role("owner", study)


def text_of(client: Client, name: str, *args: object) -> str:
    response = client.get(reverse(name, args=args))
    assert response.status_code == 200
    return response.content.decode()


# --- a new study ---


def test_every_type_is_offered_with_what_it_asks(client: Client) -> None:
    page = text_of(client, "console_new")
    for name in ("abs_hds", "asp_hds", "rnk_hds", "sim_hds"):
        assert reverse("console_new_settings", args=[name]) in page


def test_types_are_listed_under_their_groups(client: Client) -> None:
    page = text_of(client, "console_new")
    places = [page.index(f"<h2>{group}</h2>") for group in ("Judging texts", "Writing", "Diversity of sets", "Coding")]
    assert places == sorted(places)
    assert places[0] < page.index("<h3>Likert scales") < places[1] < places[2] < page.index("<h3>conTest") < places[3]
    assert "<h2>Other</h2>" not in page


@pytest.mark.parametrize("method", ["get", "post"])
def test_an_unknown_type_is_not_found(client: Client, method: str) -> None:
    response = getattr(client, method)(reverse("console_new_settings", args=["no_such_type"]))
    assert response.status_code == 404


def test_a_new_study_belongs_to_its_creator_and_continues_to_the_items(client: Client) -> None:
    response = client.post(reverse("console_new_settings", args=["abs_hds"]), settings_form())
    study = Study.objects.get()
    assert response.headers["Location"] == reverse("console_upload", args=[study.slug])
    assert (study.slug, study.title, study.status) == ("replies-round-1", "Replies, round 1", "draft")
    assert study.reward == Decimal("0.18")
    assert study.config["generation_task"] == "response"
    assert Membership.objects.get(study=study).role == "owner"
    assert Membership.objects.get(study=study).user.username == "ada"


def test_the_wording_of_the_type_is_shown_and_can_be_changed(client: Client) -> None:
    url = reverse("console_new_settings", args=["abs_hds"])
    page = client.get(url).content.decode()
    assert "Standard text" in page
    assert "how diverse the set is" in page
    client.post(url, settings_form(**{"text-instructions": "Read all.\r\n\r\nThen judge."}))
    assert Study.objects.get().texts == {"instructions": "Read all.\n\nThen judge."}


def test_the_standard_wording_follows_the_settings_in_the_form(client: Client) -> None:
    url = reverse("console_wording", args=["abs_hds"])
    form = {name: value for name, value in settings_form().items() if name.startswith("config-")}
    assert "one reply of your own" in client.get(url, form).content.decode()
    assert "one ending of your own" in client.get(url, form | {"config-generation_task": "story"}).content.decode()
    assert client.get(url, form | {"config-max_words": "many"}).status_code == 204


def test_a_short_name_that_is_taken_is_reported_beside_the_field_and_nothing_typed_is_lost(client: Client) -> None:
    make_study(slug="taken")
    form = settings_form(slug="taken", consent="A long consent text.", **{"text-instructions": "Typed with care."})
    response = client.post(reverse("console_new_settings", args=["abs_hds"]), form)
    assert response.status_code == 422
    page = response.content.decode()
    assert "Another study already has this name." in page
    assert "A long consent text." in page
    assert "Typed with care." in page
    assert Study.objects.count() == 1


def test_two_studies_may_share_a_title_and_get_short_names_of_their_own(client: Client) -> None:
    url = reverse("console_new_settings", args=["abs_hds"])
    for _ in range(3):
        client.post(url, settings_form())
    slugs = set(Study.objects.values_list("slug", flat=True))
    assert slugs == {"replies-round-1", "replies-round-1-2", "replies-round-1-3"}


def test_all_fields_that_are_wrong_are_named_at_the_head_of_the_page(client: Client) -> None:
    form = settings_form(ratings_per_item="0", **{"config-max_words": "1"})
    page = client.post(reverse("console_new_settings", args=["abs_hds"]), form).content.decode()
    assert "Nothing was saved. Please check 2 fields." in page
    for name in ("id_ratings_per_item", "id_config-max_words"):
        assert f'href="#{name}"' in page
        assert f'id="{name}"' in page


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"title": ""}, "This field is required."),
        ({"title": "", "slug": "named"}, "This field is required."),
        ({"title": "日本語"}, "No short name can be made from this title"),
        ({"slug": "Not A Slug"}, "lower-case letters"),
        ({"ratings_per_item": "0"}, "greater than or equal to 1"),
        ({"ratings_per_item": "ten"}, "Enter a whole number."),
        ({"reward": "-1"}, "greater than or equal to 0"),
        ({"reward": "0.12345"}, "3 decimal places"),
        ({"config-max_words": "999"}, "less than or equal to 200"),
        ({"config-generation_task": "haiku"}, "Select a valid choice."),
        ({"text-instructions": "x" * 20_001}, "20,001 characters long"),
        ({"consent": "a\x00b"}, "Null characters are not allowed."),
    ],
)
def test_errors_are_shown_beside_their_field(client: Client, changes: dict[str, str], message: str) -> None:
    response = client.post(reverse("console_new_settings", args=["abs_hds"]), settings_form(**changes))
    assert response.status_code == 422
    assert message in response.content.decode()
    assert not Study.objects.exists()


def test_html_in_a_title_is_text_everywhere() -> None:
    study, client = draft(title="<script>alert(1)</script>", contact="<b>me</b>", consent="<i>yes</i>")
    for name in ("console_study", "console_settings", "console_publish", "console_preview", "console_items"):
        page = text_of(client, name, study.slug)
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "<script>alert" not in page
        assert "<b>me" not in page
    assert "<script>alert" not in text_of(client, "console_studies")


# --- changing a draft ---


def test_settings_are_saved_and_the_next_step_opens() -> None:
    study, client = draft()
    url = reverse("console_settings", args=[study.slug])
    version = hidden(client.get(url).content.decode())["version"]
    form = settings_form(slug=study.slug, title="Another title", version=version, next="1")
    response = client.post(url, form)
    assert response.headers["Location"] == reverse("console_upload", args=[study.slug])
    study.refresh_from_db()
    assert study.title == "Another title"


def test_a_renamed_draft_is_found_at_its_new_address() -> None:
    study, client = draft()
    url = reverse("console_settings", args=[study.slug])
    version = hidden(client.get(url).content.decode())["version"]
    response = client.post(url, settings_form(slug="renamed", version=version))
    assert response.headers["Location"] == reverse("console_settings", args=["renamed"])


def test_the_later_of_two_editors_sees_a_message_and_loses_nothing() -> None:
    study, client = draft()
    url = reverse("console_settings", args=[study.slug])
    version = hidden(client.get(url).content.decode())["version"]
    service.change_study(study=study, values={"title": "Their title", "reward": "2"}, actor="other")
    form = settings_form(slug=study.slug, title="My title", consent="My consent", version=version)

    response = client.post(url, form)
    assert response.status_code == 409
    page = response.content.decode()
    assert "Somebody else changed this study" in page
    assert "Title is now “Their title”" in page
    assert "My consent" in page
    study.refresh_from_db()
    assert (study.title, study.consent) == ("Their title", "")

    again = client.post(url, form | {"version": hidden(page)["version"]})
    assert again.status_code == 302
    study.refresh_from_db()
    assert (study.title, study.consent) == ("My title", "My consent")


def test_a_draft_can_change_its_type_and_keeps_its_general_settings() -> None:
    study, client = draft(reward=Decimal("0.5"))
    response = client.post(reverse("console_type", args=[study.slug]), {"task_type": "sim_hds"})
    assert response.headers["Location"] == reverse("console_settings", args=[study.slug])
    study.refresh_from_db()
    assert (study.task_type, study.reward) == ("sim_hds", Decimal("0.5"))
    assert not Item.objects.filter(study=study).exists()


def test_a_draft_cannot_change_to_a_missing_type() -> None:
    study, client = draft()
    page = client.post(reverse("console_type", args=[study.slug]), {"task_type": "nope"}, follow=True)
    assert "There is no task type “nope”" in page.content.decode()
    study.refresh_from_db()
    assert study.task_type == "abs_hds"


def test_a_draft_can_be_deleted_and_a_live_study_cannot() -> None:
    study, client = draft()
    assert client.post(reverse("console_delete", args=[study.slug])).headers["Location"] == reverse("console_studies")
    assert not Study.objects.filter(pk=study.pk).exists()
    live = make_study()
    page = as_role("owner", live).post(reverse("console_delete", args=[live.slug]), follow=True).content.decode()
    assert "only a draft can be deleted" in page
    assert Study.objects.filter(pk=live.pk).exists()


# --- a live study's settings ---


def test_a_live_study_keeps_its_instrument_whatever_is_sent() -> None:
    study = make_study(consent="As agreed.")
    client = as_role("owner", study)
    url = reverse("console_settings", args=[study.slug])
    version = hidden(client.get(url).content.decode())["version"]
    form = settings_form(
        version=version,
        title="A better title",
        consent="Something else",
        ratings_per_item=study.ratings_per_item + 1,
        **{"config-max_words": "3", "text-instructions": "Changed"},
    )
    assert client.post(url, form).status_code == 302
    before = study
    study = Study.objects.get(pk=study.pk)
    assert (study.title, study.ratings_per_item) == ("A better title", before.ratings_per_item + 1)
    assert (study.consent, study.config, study.texts) == ("As agreed.", before.config, before.texts)


def test_fewer_ratings_than_were_promised_are_refused_with_the_reason() -> None:
    study = make_study(ratings_per_item=3)
    client = as_role("editor", study)
    url = reverse("console_settings", args=[study.slug])
    version = hidden(client.get(url).content.decode())["version"]
    response = client.post(url, settings_form(version=version, title=study.title, ratings_per_item=2))
    assert response.status_code == 422
    assert "You can only raise it from 3" in response.content.decode()


# --- preview ---


def test_the_preview_shows_the_start_page_and_every_step_of_a_draft() -> None:
    study, client = draft(consent="You agree to this.", reward=Decimal("0.18"), title="Seen by workers")
    url = reverse("console_preview_page", args=[study.slug])
    start = client.get(url).content.decode()
    assert "You agree to this." in start
    assert "$0.18" in start
    assert client.post(url).headers["Location"] == f"{url}?step=1"
    steps = [client.get(f"{url}?step={number}").content.decode() for number in (1, 2, 3)]
    assert ["Step 1 of 3" in steps[0], "Step 2 of 3" in steps[1], "Step 3 of 3" in steps[2]] == [True] * 3
    assert "fieldset disabled" not in steps[0]


@pytest.mark.parametrize("step", ["0", "99", "-1", "²", "1e3", ""])
def test_a_missing_step_shows_the_start_page(step: str) -> None:
    study, client = draft()
    url = reverse("console_preview_page", args=[study.slug])
    response = client.get(url, {"step": step})
    assert response.status_code == 200
    assert "What you will do" in response.content.decode()


def test_only_the_previewed_pages_may_be_framed_and_only_by_this_server() -> None:
    study, client = draft()
    outer = client.get(reverse("console_preview", args=[study.slug]))
    inner = client.get(reverse("console_preview_page", args=[study.slug]))
    other = client.get(reverse("console_study", args=[study.slug]))
    header = "Content-Security-Policy"
    assert "frame-src 'self'" in outer.headers[header]
    assert "frame-ancestors 'none'" in outer.headers[header]
    assert "frame-ancestors 'self'" in inner.headers[header]
    assert inner.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert "frame-ancestors 'none'" in other.headers[header]
    assert "frame-src" not in other.headers[header]


def test_the_policy_is_the_servers_except_for_frames() -> None:
    study, client = draft()
    usual = client.get(reverse("console_study", args=[study.slug])).headers["Content-Security-Policy"]
    eased = client.get(reverse("console_preview", args=[study.slug])).headers["Content-Security-Policy"]
    assert eased.replace("; frame-src 'self'", "") == usual


def test_a_preview_without_items_shows_the_start_page_and_says_so() -> None:
    study, client = draft(items=0)
    assert "There are no items yet" in text_of(client, "console_preview", study.slug)
    assert "What you will do" in text_of(client, "console_preview_page", study.slug)


# --- going live ---


def test_the_cost_is_hits_times_ratings_times_reward_to_the_cent() -> None:
    # 7 items, 2 a hit: 4 hits; × 3 ratings: 12 submissions; × 0.125: 1.50. Nobody does more than 5 hits.
    study, client = draft(items=7, items_per_hit=2, ratings_per_item=3, reward=Decimal("0.125"), hits_per_worker=5)
    plan = plan_of(study)
    assert (plan.n_hits, plan.n_submissions, plan.cost) == (4, 12, Decimal("1.50"))
    assert plan.least_workers == 3
    page = text_of(client, "console_publish", study.slug)
    assert "$1.50" in page


@pytest.mark.parametrize(
    ("items", "ratings", "per_worker", "least"),
    [(4, 10, 1, 40), (4, 10, None, 10), (4, 10, 3, 14), (4, 2, 100, 2), (0, 10, 1, 0)],
)
def test_the_least_number_of_workers(items: int, ratings: int, per_worker: int | None, least: int) -> None:
    study, _ = draft(items=items, ratings_per_item=ratings, hits_per_worker=per_worker)
    assert plan_of(study).least_workers == least


def test_the_launch_says_how_many_different_workers_are_needed() -> None:
    study, client = draft(items=4, ratings_per_item=3, hits_per_worker=2)
    sentence = (
        "This study needs at least 6 different workers: nobody rates the same item twice, and each does at most 2 hits."
    )
    assert sentence in text_of(client, "console_publish", study.slug)


def test_the_launch_of_a_writing_study_says_that_nobody_writes_twice_for_an_item() -> None:
    study, client = draft(task_type="production", items=2, ratings_per_item=3)
    page = text_of(client, "console_publish", study.slug)
    assert "nobody writes for the same item twice" in page
    assert "rates the same item" not in page


def test_half_a_cent_is_rounded_up() -> None:
    study, _ = draft(items=1, ratings_per_item=1, reward=Decimal("0.125"))
    assert plan_of(study).cost == Decimal("0.13")


def test_launching_twice_makes_one_live_study() -> None:
    study, client = draft()
    url = reverse("console_publish", args=[study.slug])
    version = hidden(client.get(url).content.decode())["version"]
    assert client.post(url, {"version": version}).headers["Location"] == reverse("console_study", args=[study.slug])
    second = client.post(url, {"version": version}, follow=True)
    assert "has already been launched" in second.content.decode()
    assert Posting.objects.filter(study=study).count() == 1
    assert AuditEntry.objects.filter(study=study, action="publish").count() == 1
    assert study.hits.count() == 4


def test_without_items_nothing_goes_live() -> None:
    study, client = draft(items=0)
    url = reverse("console_publish", args=[study.slug])
    page = client.get(url).content.decode()
    assert "The study has no items." in page
    assert "disabled" in page.rpartition("Launch the study")[0].rpartition("<button")[2]
    response = client.post(url, {"version": hidden(page)["version"]}, follow=True)
    assert "The study has no items." in response.content.decode()
    study.refresh_from_db()
    assert study.status == Study.Status.DRAFT


def test_what_goes_live_is_what_the_page_showed() -> None:
    study, client = draft()
    url = reverse("console_publish", args=[study.slug])
    version = hidden(client.get(url).content.decode())["version"]
    service.change_study(study=study, values={"reward": "9"}, actor="other")
    response = client.post(url, {"version": version})
    assert response.status_code == 409
    assert "The study changed since you opened this page" in response.content.decode()
    study.refresh_from_db()
    assert study.status == Study.Status.DRAFT


def test_a_missing_consent_text_is_pointed_out_but_does_not_stop_the_launch() -> None:
    study, client = draft(consent="", contact="")
    page = text_of(client, "console_publish", study.slug)
    assert "No consent text" in page
    assert "No contact" in page
    assert not plan_of(study).blocked


def test_steps_can_be_revisited_while_the_study_is_a_draft() -> None:
    study, client = draft()
    pages = ("console_type", "console_settings", "console_upload", "console_preview", "console_publish")
    for name in pages:
        page = text_of(client, name, study.slug)
        others = [reverse(other, args=[study.slug]) for other in pages if other != name]
        assert all(f'href="{url}"' in page for url in others), name
        assert page.count('aria-current="step"') == 1
