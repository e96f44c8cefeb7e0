"""Arms, wording, lists and identity on the console's pages."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils.html import escape, strip_tags

from annotation.models import Study
from annotation.studies.launching import publish
from annotation.studies.spec import ArmSpec
from annotation.studies.storing import change_study
from annotation.task_types.registry import all_types, get_type
from tests.annotation.console_helpers import as_role, hidden, make_user, settings_form, signed_in
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return make_user("ada")


@pytest.fixture
def client(ada: User) -> Client:
    return signed_in(ada)


def draft(owner: User, **values: Any) -> Study:
    return make_study(live=False, owner=owner, **values)


def send(client: Client, study: Study, name: str, *more: object, **form: str) -> Any:
    """Send the page's form as it is, except for the values in ``form``."""
    url = reverse(name, args=[study.slug, *more])
    version = hidden(client.get(url).content.decode())["version"]
    return client.post(url, {"version": version} | form)


def with_arms(study: Study) -> Study:
    arms: list[dict[str, Any]] = [{"name": "solo", "reward": "0.5", "config": {"max_words": 9}}, {"name": "pair"}]
    return change_study(study=study, arms=[ArmSpec.of(arm) for arm in arms], actor="ada")


# --- the list of arms ---


def test_what_differs_in_an_arm_is_said_in_words(ada: User, client: Client) -> None:
    study = draft(ada)
    arms: list[dict[str, Any]] = [{"name": "none"}, {"name": "short", "config": {"max_words": 9}}]
    change_study(study=study, arms=[ArmSpec.of(arm) for arm in arms], actor="ada")
    page = " ".join(strip_tags(client.get(reverse("console_arms", args=[study.slug])).content.decode()).split())
    assert "none: same as the study" in page and "short: 1 setting" in page


def test_arms_are_added_renamed_and_removed(ada: User, client: Client) -> None:
    study = draft(ada)
    rows = {"arms-0-name": "solo", "arms-0-reward": "1.25", "arms-0-wanted": "130", "arms-1-name": "pair"}
    assert send(client, study, "console_arms", **rows).status_code == 302
    assert list(study.arms.values_list("name", "reward", "wanted")) == [
        ("solo", Decimal("1.25"), 130),
        ("pair", None, None),
    ]
    study = with_arms(study)
    renamed = {"arms-0-name": "alone", "arms-1-name": "pair", "arms-4-name": "third"}
    send(client, study, "console_arms", **renamed)
    assert list(study.arms.values_list("name", "config")) == [("alone", {"max_words": 9}), ("pair", {}), ("third", {})]
    send(client, study, "console_arms", **{"arms-0-name": "pair", "arms-1-name": "alone"})
    assert list(study.arms.values_list("name", "config")) == [("pair", {}), ("alone", {"max_words": 9})]
    send(client, study, "console_arms")
    assert not study.arms.exists()


def test_errors_in_the_arms_are_shown_and_nothing_typed_is_lost(ada: User, client: Client) -> None:
    study = draft(ada)
    rows = {"arms-0-name": "solo", "arms-0-reward": "much", "arms-1-name": "Solo"}
    response = send(client, study, "console_arms", **rows)
    page = response.content.decode()
    assert response.status_code == 422
    assert "“much”: Enter a number." in page
    assert "Arms 1 and 2 have the same name “Solo”." in page
    assert 'value="much"' in page
    assert not study.arms.exists()


def test_an_arm_without_a_name_is_refused(ada: User, client: Client) -> None:
    response = send(client, draft(ada), "console_arms", **{"arms-0-reward": "1"})
    assert "Entry 1, name is empty." in response.content.decode()


def test_a_study_that_somebody_else_changed_is_not_overwritten(ada: User, client: Client) -> None:
    study = draft(ada)
    url = reverse("console_arms", args=[study.slug])
    version = hidden(client.get(url).content.decode())["version"]
    with_arms(study)
    response = client.post(url, {"version": version, "arms-0-name": "mine"})
    assert "Somebody else changed this study" in response.content.decode()
    assert list(study.arms.values_list("name", flat=True)) == ["solo", "pair"]


def test_only_the_participants_wanted_are_editable_in_a_live_study(ada: User, client: Client) -> None:
    study = with_arms(draft(ada))
    publish(study=study, actor="ada")
    page = client.get(reverse("console_arms", args=[study.slug])).content.decode()
    sent = {name: value for name, value in hidden(page).items() if name.startswith("arms-")}
    assert send(client, study, "console_arms", **(sent | {"arms-1-wanted": "40"})).status_code == 302
    assert list(study.arms.values_list("name", "wanted")) == [("solo", None), ("pair", 40)]
    response = send(client, study, "console_arms", **(sent | {"arms-0-name": "other"}))
    assert response.status_code == 422
    assert "come from the same instrument" in response.content.decode()


@pytest.mark.parametrize(("role", "get", "post"), [("viewer", 200, 404), ("outsider", 404, 404), ("editor", 200, 302)])
def test_the_role_decides_who_can_change_arms(role: str, get: int, post: int, ada: User) -> None:
    study = with_arms(draft(ada))
    person = as_role(role, study)
    for name, more in (("console_arms", []), ("console_arm", [1])):
        url = reverse(name, args=[study.slug, *more])
        seen = person.get(url)
        assert seen.status_code == get
        version = hidden(seen.content.decode()).get("version", "")
        assert person.post(url, {"version": version, "arms-0-name": "new"}).status_code == post


# --- one arm ---


def test_an_arm_gets_its_own_settings_and_texts(ada: User, client: Client) -> None:
    study = with_arms(draft(ada))
    form = {
        "differs-generation_task": "1",
        "config-generation_task": "story",
        "config-max_words": "15",
        "text-instructions": "For pairs.",
    }
    assert send(client, study, "console_arm", 2, **form).status_code == 302
    pair = study.arms.get(name="pair")
    assert (pair.config, pair.texts) == ({"generation_task": "story"}, {"instructions": "For pairs."})
    assert study.arms.get(name="solo").config == {"max_words": 9}
    page = client.get(reverse("console_arm", args=[study.slug, 2])).content.decode()
    assert 'name="differs-generation_task" value="1" checked' in page
    assert 'name="differs-max_words" value="1">' in page
    send(client, study, "console_arm", 2)
    pair = study.arms.get(name="pair")
    assert (pair.config, pair.texts) == ({}, {})


def test_a_setting_that_is_changed_but_not_ticked_is_not_silently_ignored(ada: User, client: Client) -> None:
    study = with_arms(draft(ada))
    response = send(client, study, "console_arm", 2, **{"config-max_words": "77"})
    assert response.status_code == 422
    assert "You changed this but did not tick the box above it." in response.content.decode()
    assert 'value="77"' in response.content.decode()


def test_a_checkbox_can_be_switched_off_in_one_arm(ada: User, client: Client) -> None:
    study = with_arms(draft(ada))
    assert study.config["write_first"] is True
    send(client, study, "console_arm", 2, **{"differs-write_first": "1"})
    assert study.arms.get(name="pair").config == {"write_first": False}


def test_settings_that_all_arms_share_are_not_offered(ada: User, client: Client) -> None:
    study = with_arms(draft(ada))
    page = client.get(reverse("console_arm", args=[study.slug, 1])).content.decode()
    assert "config-empty_responses" not in page
    assert "config-max_words" in page


def test_errors_in_an_arm_are_shown_beside_their_field(ada: User, client: Client) -> None:
    study = with_arms(draft(ada))
    form = {"differs-max_words": "1", "config-max_words": "1", "text-instructions": "x" * 20_001}
    response = send(client, study, "console_arm", 2, **form)
    assert response.status_code == 422
    assert "greater than or equal to 3" in response.content.decode()
    response = send(client, study, "console_arm", 2, **{"text-instructions": "x" * 20_001})
    assert "20,001 characters long" in response.content.decode()
    assert study.arms.get(name="pair").config == {}


def test_an_arm_shows_the_studys_text_where_it_has_none(ada: User, client: Client) -> None:
    study = with_arms(draft(ada, texts={"instructions": "As the study says."}))
    page = client.get(reverse("console_arm", args=[study.slug, 2])).content.decode()
    assert "In the study:" in page
    assert "As the study says." in page


def test_there_is_no_third_of_two_arms(ada: User, client: Client) -> None:
    study = with_arms(draft(ada))
    assert client.get(reverse("console_arm", args=[study.slug, 3])).status_code == 404
    assert client.get(reverse("console_arm", args=[study.slug, 0])).status_code == 404


def test_the_preview_shows_each_arm(ada: User, client: Client) -> None:
    study = with_arms(draft(ada))
    change_study(
        study=study,
        arms=[
            ArmSpec("solo", texts={"instructions": "Alone."}),
            ArmSpec("pair", texts={"instructions": "Both."}),
        ],
        actor="ada",
    )
    url = reverse("console_preview_page", args=[study.slug])
    assert "Alone." in client.get(url, {"arm": "1"}).content.decode()
    assert "Both." in client.get(url, {"arm": "2"}).content.decode()
    assert "Both." in client.get(url, {"arm": "2", "step": "1"}).content.decode()
    assert "arm=2" in client.get(url, {"arm": "2"}).content.decode()


# --- going live ---


def test_the_cost_is_shown_by_arm_and_in_total(ada: User, client: Client) -> None:
    study = draft(ada, items=3, ratings_per_item=4, reward=Decimal("0.1"), hits_per_worker=1)
    arms: list[dict[str, Any]] = [
        {"name": "low"},
        {"name": "high", "reward": "2.25"},
        {"name": "few", "reward": "1", "wanted": 5},
    ]
    change_study(study=study, arms=[ArmSpec.of(arm) for arm in arms], actor="ada")
    page = client.get(reverse("console_publish", args=[study.slug])).content.decode()
    # 3 hits × 4 ratings = 12 submissions an arm; 12 × 0.10, 12 × 2.25, and 5 people at 1.00 each
    for text in ("$1.20", "$27.00", "$5.00", "$33.20"):
        assert f">{text}<" in page, text
    assert "At most 29" in page or "at most 29" in page


def test_an_open_link_that_cannot_tell_people_apart_is_pointed_out(ada: User, client: Client) -> None:
    study = draft(ada)
    url = reverse("console_publish", args=[study.slug])
    warning = "The open link cannot tell people apart"
    assert warning in client.get(url).content.decode()
    for change in ({"access": "invited"}, {"access": "open", "identity": "browser"}):
        change_study(study=study, values=change, actor="ada")
        assert warning not in client.get(url).content.decode()


def test_a_panels_id_that_nobody_checks_is_pointed_out(ada: User, client: Client) -> None:
    study = draft(ada)
    url = reverse("console_publish", args=[study.slug])
    warning = "whoever knows somebody&#x27;s id can start in their place"
    assert warning not in client.get(url).content.decode()
    panel = {"identity": "parameter", "identity_parameter": "PROLIFIC_PID", "panel": "prolific"}
    change_study(study=study, values=panel, actor="ada")
    assert warning in client.get(url).content.decode()


def test_texts_of_simulated_workers_are_pointed_out(ada: User, client: Client) -> None:
    study = draft(ada)
    study.items.filter(position__lt=2).update(source={"study": "x", "outputs": [1], "simulated": True})
    page = client.get(reverse("console_publish", args=[study.slug])).content.decode()
    assert "2 items were written by simulated workers." in page


# --- settings: identity, excluded studies, lists, wording ---


def test_identity_is_explained_where_access_is_chosen(ada: User, client: Client) -> None:
    page = client.get(reverse("console_settings", args=[draft(ada).slug])).content.decode()
    assert "Without a check, the same person can use the open link again" in page
    assert (
        page.index('name="access"')
        < page.index("Without a check, the same person can use the open link again")
        < page.index('name="feedback_box"')
    )


def test_a_panels_id_is_saved(ada: User, client: Client) -> None:
    study = draft(ada)
    form = settings_form(slug=study.slug, identity="parameter", identity_parameter="PROLIFIC_PID", panel="prolific")
    assert send(client, study, "console_settings", **form).status_code == 302
    study.refresh_from_db()
    assert (study.identity, study.identity_parameter, study.panel) == ("parameter", "PROLIFIC_PID", "prolific")


def test_studies_are_excluded_among_those_one_may_see(ada: User, client: Client) -> None:
    for slug in ("first", "second"):
        make_study(slug=slug, owner=ada)
    make_study(slug="theirs")
    study = draft(ada)
    change_study(study=study, exclude_studies=["theirs"], actor="admin")
    page = client.get(reverse("console_settings", args=[study.slug])).content.decode()
    assert 'value="first"' in page
    assert 'value="theirs"' not in page
    send(client, study, "console_settings", **settings_form(slug=study.slug, exclude_studies=["first", "second"]))
    assert {each.slug for each in study.exclude_studies.all()} == {"first", "second", "theirs"}
    send(client, study, "console_settings", **settings_form(slug=study.slug))
    assert {each.slug for each in study.exclude_studies.all()} == {"theirs"}


def likert_form(**changes: Any) -> dict[str, Any]:
    """The settings page of a likert study as a browser sends it, its lists row by row."""
    form = settings_form("likert", **changes)
    for name in [name for name, value in form.items() if isinstance(value, list)]:
        del form[name]
    return form


def test_lists_and_records_are_sent_row_by_row(ada: User, client: Client) -> None:
    rows = {
        "config-statements-0-topic": "creative",
        "config-statements-0-question": "It is creative.",
        "config-statements-3-topic": "dull",
        "config-statements-3-question": "It is dull.",
    }
    assert client.post(reverse("console_new_settings", args=["likert"]), likert_form(**rows)).status_code == 302
    study = Study.objects.get()
    assert [row["topic"] for row in study.config["statements"]] == ["creative", "dull"]
    page = client.get(reverse("console_settings", args=[study.slug])).content.decode()
    assert 'name="config-statements-1-question" value="It is dull."' in page
    assert 'name="config-statements-3-topic"' in page  # without JavaScript there are rows to spare


def test_errors_in_a_list_are_shown_beside_it_and_the_entries_kept(ada: User, client: Client) -> None:
    rows = {"config-statements-0-topic": "creative"}
    response = client.post(reverse("console_new_settings", args=["likert"]), likert_form(**rows))
    page = response.content.decode()
    assert response.status_code == 422
    assert "Entry 1, question is empty." in page
    assert 'name="config-statements-0-topic" value="creative"' in page


@pytest.mark.parametrize("task_type", sorted(all_types()))
def test_every_text_of_a_type_can_be_reworded(task_type: str, ada: User, client: Client) -> None:
    study = make_study(task_type=task_type, live=False, owner=ada, items=1)
    page = client.get(reverse("console_settings", args=[study.slug])).content.decode()
    texts = get_type(task_type).texts(study.config)
    for text in texts:
        assert f'name="text-{text.name}"' in page
        assert escape(text.label) in page
    for group in {text.group for text in texts}:
        assert f"<summary>{escape(group)}</summary>" in page


def test_a_scale_point_is_reworded(ada: User, client: Client) -> None:
    study = draft(ada)
    name = next(text.name for text in get_type("abs_hds").texts(study.config) if text.name.endswith(".label"))
    form = settings_form(slug=study.slug, **{f"text-{name}": "Renamed"})
    assert send(client, study, "console_settings", **form).status_code == 302
    study.refresh_from_db()
    assert study.texts == {name: "Renamed"}
