"""The pages of platform accounts, and the choice of one for a study. No page ever shows a key."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import LogEntry
from annotation.models import Membership, PlatformAccount, Study
from annotation.platforms import connect
from annotation.platforms.account_keys import Keys, keys_of
from annotation.platforms.mturk import api as api_module
from annotation.recruiting import publishing
from marketplace.models import Hit as MarketHit
from tests.annotation.console_helpers import signed_in
from tests.annotation.recruiting.account_helpers import (
    MARKET,
    choose,
    in_process_client,
    mturk_account,
    requester_keys,
)
from tests.factories import make_researcher, make_study, make_team

pytestmark = pytest.mark.django_db
LIST, NEW = "/console/platform-accounts/", "/console/platform-accounts/new/mturk/"


@pytest.fixture(autouse=True)
def marketplace_in_process(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.MTURK_ENDPOINT, settings.MTURK_CALLS_PER_SECOND = MARKET, 0
    settings.MTURK_ACCESS_KEY_ID = settings.MTURK_SECRET_ACCESS_KEY = ""
    monkeypatch.setattr(api_module, "make_client", in_process_client)
    api_module.client_for.cache_clear()


@pytest.fixture
def keys() -> Keys:
    return requester_keys("lab", dollars="25.00")[1]


@pytest.fixture
def ann() -> User:
    return make_researcher("ann")


def form(keys: Keys, **values: str) -> dict[str, str]:
    return {
        "title": "Lab on MTurk",
        "owner": "-",
        "endpoint": MARKET,
        "region": "us-east-1",
        "access_key_id": keys.access_key_id,
        "secret": keys.secret,
        **values,
    }


def page(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200, address
    return response.content.decode()


def test_an_account_is_added_shown_and_used_without_its_key_on_any_page(ann: User, keys: Keys) -> None:
    client = signed_in(ann)
    assert "No accounts yet" in page(client, LIST)
    added = client.post(NEW, form(keys), follow=True)
    texts = [added.content.decode(), page(client, LIST), page(client, reverse("console_account"))]
    assert "The platform accepts the keys." in texts[0]
    assert "$25.00" in texts[1] and f"…{keys.access_key_id[-4:]}" in texts[1]
    study = make_study(items=2, reward="0.18", live=False)
    Membership.objects.create(study=study, user=ann, role="owner")
    on_mturk = reverse("console_platform", args=[study.slug, "mturk"])
    texts.append(page(client, on_mturk))
    assert "Lab on MTurk (…" in texts[-1]
    settings = {"lifetime_days": "7", "approve_after_hours": "72", "frame_height": "900", "account": "lab-on-mturk"}
    assert client.post(on_mturk, settings).status_code == 302
    texts.append(page(client, on_mturk))
    assert "Paid by “Lab on MTurk” (…" in texts[-1]
    texts.append(page(client, reverse("console_platform_balance", args=[study.slug, "mturk"])))
    assert "$25.00" in texts[-1]
    texts.append(page(client, reverse("console_platform_account", args=["lab-on-mturk"])))
    assert study.title in texts[-1]
    assert [text for text in texts if keys.secret in text or keys.access_key_id in text] == []


def test_a_mistake_keeps_what_was_typed_and_never_the_keys(ann: User, keys: Keys) -> None:
    response = signed_in(ann).post(NEW, form(keys, secret="wrong-secret-key", title="Our lab"))
    text = response.content.decode()
    assert response.status_code == 422
    assert "Nothing was saved." in text and "Check the secret access key of “Our lab”" in text
    assert "Our lab" in text
    assert keys.access_key_id not in text and "wrong-secret-key" not in text
    assert "Save the keys unchecked" not in text
    assert not PlatformAccount.objects.exists()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"title": ""}, "This field is required"),
        ({"secret": ""}, "This field is required"),
        ({"secret": "has a space in it"}, "Copy it again from the platform’s site"),
        ({"endpoint": "http://169.254.169.254/"}, "Select a valid choice"),
        ({"owner": "somebodys-team"}, "Select a valid choice"),
    ],
)
def test_each_wrong_field_has_a_message(ann: User, keys: Keys, change: dict[str, str], says: str) -> None:
    response = signed_in(ann).post(NEW, form(keys, **change))
    assert response.status_code == 422
    assert says in response.content.decode()


def test_without_a_network_the_page_offers_to_save_unchecked(
    ann: User, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    from botocore.exceptions import EndpointConnectionError

    def unreachable(account: Any, **_: Any) -> Any:
        client = in_process_client(account)

        def fail(**params: Any) -> None:
            raise EndpointConnectionError(endpoint_url=MARKET)

        client.get_account_balance = fail
        return client

    monkeypatch.setattr(api_module, "make_client", unreachable)
    client = signed_in(ann)
    response = client.post(NEW, form(keys))
    assert 'type="checkbox" name="unchecked"' in response.content.decode()
    saved = client.post(NEW, form(keys, unchecked="on"), follow=True).content.decode()
    assert "Saved, but not checked." in saved
    assert "Not checked" in page(client, LIST) or "Refused" in page(client, LIST)
    monkeypatch.setattr(api_module, "make_client", in_process_client)
    checked = client.post("/console/platform-accounts/lab-on-mturk/check/", follow=True).content.decode()
    assert "The platform accepts the keys." in checked and "$25.00" in checked


def test_keys_are_replaced_and_wrong_ones_leave_the_old_ones(ann: User, keys: Keys) -> None:
    account = mturk_account(ann, keys)
    client, address = signed_in(ann), "/console/platform-accounts/lab/keys/"
    response = client.post(address, {"access_key_id": "AKIAWRONG0000000", "secret": "x" * 40})
    assert response.status_code == 422
    assert "Check the access key ID of “Lab”" in response.content.decode()
    assert "AKIAWRONG0000000" not in response.content.decode()
    assert keys_of(PlatformAccount.objects.get()).secret == keys.secret
    _, others = requester_keys("other")
    client.post(address, {"access_key_id": others.access_key_id, "secret": others.secret})
    assert keys_of(PlatformAccount.objects.get(pk=account.pk)).secret == others.secret


@pytest.mark.parametrize("address", [NEW, "/console/platform-accounts/lab/keys/"])
def test_no_error_page_shows_a_key(
    ann: User, keys: Keys, address: str, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """Not even the one for developers, which shows the request and the variables of each function."""
    mturk_account(ann, keys)
    settings.DEBUG = True

    def break_down(*_: Any) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr("annotation.recruiting.platform_accounts._balance", break_down)
    client = Client(raise_request_exception=False)
    client.force_login(ann)
    response = client.post(address, form(keys))
    text = response.content.decode()
    assert response.status_code == 500
    assert "out of order" in text and "_take_keys" in text
    assert keys.secret not in text and keys.access_key_id not in text


# --- who may do what ---


@pytest.fixture
def people(ann: User, keys: Keys) -> dict[str, Client]:
    """A team's account: its members by role, an outsider, an administrator, and a visitor."""
    users = {role: make_researcher(role) for role in ("owner", "payer", "editor", "viewer", "outsider")}
    team = make_team(None, "writers", **{role: users[role] for role in ("owner", "payer", "editor", "viewer")})
    mturk_account(team, keys, title="Shared")
    users["admin"] = make_researcher("admin", is_superuser=True)
    return {name: signed_in(user) for name, user in users.items()} | {"nobody": Client()}


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("get", "", {"owner": 200, "payer": 200, "editor": 200, "viewer": 200, "outsider": 404, "admin": 200}),
        ("post", "", {"owner": 422, "payer": 422, "editor": 404, "viewer": 404, "outsider": 404, "admin": 404}),
        ("post", "keys/", {"owner": 422, "payer": 422, "editor": 404, "viewer": 404, "outsider": 404, "admin": 404}),
        ("post", "check/", {"owner": 302, "payer": 302, "editor": 404, "viewer": 404, "outsider": 404, "admin": 404}),
        ("post", "retire/", {"owner": 302, "payer": 302, "editor": 404, "viewer": 404, "outsider": 404, "admin": 302}),
        ("post", "delete/", {"payer": 302, "editor": 404, "viewer": 404, "outsider": 404, "admin": 404}),
    ],
)
def test_each_role_may_do_what_it_may(
    people: dict[str, Client], method: str, path: str, expected: dict[str, int]
) -> None:
    address = f"/console/platform-accounts/shared/{path}"
    for role in reversed(expected):
        answer = getattr(people[role], method)(address)
        assert (role, answer.status_code) == (role, expected[role])
    assert getattr(people["nobody"], method)(address).status_code == 302


def test_an_administrator_sees_whose_it_is_and_no_key(people: dict[str, Client], keys: Keys) -> None:
    text = page(people["admin"], LIST)
    assert "Team Writers" in text and "Only to look at" in text
    assert keys.access_key_id not in text
    assert "Replace the keys" not in page(people["admin"], "/console/platform-accounts/shared/")
    assert "Shared" not in page(people["outsider"], LIST)


def publish(client: Client, study: Study) -> str:
    address = reverse("console_platform", args=[study.slug, "mturk"])
    text = page(client, address)
    version = text.partition('name="version" value="')[2].partition('"')[0]
    answer = client.post(f"{address}publish/", {"version": version}, follow=True)
    return answer.content.decode()


def test_the_publish_button_works_for_those_who_may_spend(people: dict[str, Client], settings: Any) -> None:
    """The owner of the team and one of its editors both own the study; the account is the team's."""
    study = choose(make_study(items=2, reward="0.18", live=False), PlatformAccount.objects.get())
    for name in ("editor", "owner"):
        Membership.objects.create(study=study, user=User.objects.get(username=name), role="owner")
    refused = publish(people["editor"], study)
    assert "You cannot spend the money of the platform account “Shared”. Ask the team Writers to publish it" in refused
    assert MarketHit.objects.count() == 0
    assert "Publishing has started" in publish(people["owner"], study)
    assert "Paid by “Shared” (…" in page(people["editor"], reverse("console_platforms", args=[study.slug]))
    overview = page(people["editor"], reverse("console_study", args=[study.slug]))
    assert "It is paid by the account “Shared” of the team Writers" in overview


def test_an_editor_saves_other_settings_and_leaves_the_account(people: dict[str, Client]) -> None:
    study = choose(make_study(items=2, reward="0.18", live=False), PlatformAccount.objects.get())
    outsider = User.objects.get(username="outsider")
    Membership.objects.create(study=study, user=outsider, role="editor")
    address = reverse("console_platform", args=[study.slug, "mturk"])
    assert "shared, which you cannot use" in page(people["outsider"], address)
    settings = {"lifetime_days": "3", "approve_after_hours": "72", "frame_height": "900", "account": "shared"}
    people["outsider"].post(address, settings)
    study.refresh_from_db()
    assert (study.platforms["mturk"]["account"], study.platforms["mturk"]["lifetime_days"]) == ("shared", 3)


def test_others_studies_are_counted_and_not_named(people: dict[str, Client]) -> None:
    study = choose(make_study(items=1, live=False, title="A secret study"), PlatformAccount.objects.get())
    text = page(people["payer"], "/console/platform-accounts/shared/")
    assert study.title not in text
    assert "1 study that you are not a member of" in text


def test_every_change_is_in_the_servers_log(people: dict[str, Client], keys: Keys) -> None:
    address = "/console/platform-accounts/shared/"
    people["owner"].post(address, {"title": "Shared by all"})
    people["payer"].post(f"{address}retire/", {"retired": "on"})
    people["payer"].post(f"{address}delete/")
    rows = LogEntry.objects.filter(about="shared").order_by("pk").values_list("actor", "action")
    assert list(rows) == [
        ("test", "platform account added"),
        ("owner", "platform account changed"),
        ("payer", "platform account retired"),
        ("payer", "platform account deleted"),
    ]


@pytest.mark.parametrize("path", ["new/panel/", "new/link/", "new/nowhere/", "no-such-account/"])
def test_what_does_not_exist_is_not_found(ann: User, path: str) -> None:
    assert signed_in(ann).get(f"{LIST}{path}").status_code == 404


def test_workers_pages_need_no_key_and_no_query_about_accounts(ann: User, keys: Keys) -> None:
    """The keys cannot even be opened here; the worker's pages work, and no query reads the table."""
    study = choose(
        make_study(items=2, ratings_per_item=2, reward="0.18", hits_per_worker=None), mturk_account(ann, keys)
    )
    platform = connect("mturk", study)
    publishing.plan_postings(study=study, platform=platform, actor="test")
    publishing.post_all(study=study, platform=platform)
    PlatformAccount.objects.update(sealed="1.gone")
    posting = study.postings.first()
    assert posting is not None
    query = f"assignmentId={'3' * 30}&workerId=A1&hitId={posting.external_id}"
    with CaptureQueriesContext(connection) as captured:
        shown = Client().get(f"{urlsplit(posting.url).path}?{query}", follow=True)
    assert shown.status_code == 200
    assert captured.captured_queries
    assert [row["sql"] for row in captured.captured_queries if "platformaccount" in row["sql"]] == []
