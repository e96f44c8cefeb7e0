"""Webhooks, images, personal links, decision files, platform accounts and audiences through the API."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.models import ApiAnswer, AuditEntry, Invitation, Media, Membership, PlatformAccount, Study, Webhook
from annotation.platforms.calls import PlatformTrouble
from annotation.recruiting import platform_accounts as account_service
from annotation.webhooks.managing import secret_of
from tests.annotation.api.running_helpers import get, post, program, reasons, send
from tests.annotation.api_helpers import fits_schema
from tests.annotation.console_helpers import make_user
from tests.annotation.images import image_file
from tests.factories import make_study, make_submission, make_team

pytestmark = pytest.mark.django_db
HOOK = "https://hooks.example.org/in?key=hush"


@pytest.fixture(autouse=True)
def nothing_is_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    for method in ("celery.app.task.Task.apply_async", "celery.app.base.Celery.send_task"):
        monkeypatch.setattr(method, lambda *_, **__: None)


@pytest.fixture
def client() -> Client:
    return program(make_user("ann"))


def owned(**terms: Any) -> Study:
    from django.contrib.auth.models import User

    study = make_study(**{"items": 1, **terms})
    Membership.objects.create(study=study, user=User.objects.get(username="ann"), role="owner")
    return study


# --- webhooks


def test_a_webhook_is_made_changed_tested_and_deleted(client: Client) -> None:
    study = owned()
    new = post(client, "api_webhooks", study.slug, address=HOOK, events=["study.done"]).json()
    hook = Webhook.objects.get()
    assert new["secret"] == secret_of(hook)
    [listed] = get(client, "api_webhooks", study.slug)["results"]
    assert "secret" not in listed
    changed = send(client, "PATCH", "api_webhook", study.slug, hook.pk, events=["study.launched"], active=False).json()
    assert (changed["address"], changed["events"], changed["active"]) == (HOOK, ["study.launched"], False)
    assert post(client, "api_webhook_test", study.slug, hook.pk).status_code == 422  # paused
    send(client, "PATCH", "api_webhook", study.slug, hook.pk, active=True)
    message = post(client, "api_webhook_test", study.slug, hook.pk).json()
    assert get(client, "api_webhook_deliveries", study.slug, hook.pk)["results"] == [message]
    hook.deliveries.update(state="failed", next_at=None)
    again = post(client, "api_webhook_redeliver", study.slug, hook.pk, message["id"]).json()
    assert (again["state"], again["message"]) == ("waiting", message["message"])
    fresh = post(client, "api_webhook_secret", study.slug, hook.pk, key="k").json()["secret"]
    assert fresh != new["secret"] and fresh not in ApiAnswer.objects.get().body
    assert send(client, "DELETE", "api_webhook", study.slug, hook.pk).status_code == 204
    assert "hush" not in str(list(AuditEntry.objects.values_list("detail", flat=True)))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"address": "http://127.0.0.1/", "events": ["study.done"]}, "address"),
        ({"address": "https://10.0.0.1/", "events": ["study.done"]}, "address"),
        ({"address": "nowhere", "events": ["study.done"]}, "address"),
        ({"address": HOOK, "events": []}, "events"),
        ({"address": HOOK, "events": ["study.paused"]}, "events.1"),
        ({"events": ["study.done"]}, "address"),
    ],
    ids=str,
)
def test_a_wrong_webhook_is_refused_with_its_field(body: dict[str, Any], field: str, client: Client) -> None:
    refused = post(client, "api_webhooks", owned().slug, **body)
    assert refused.status_code == 422
    assert field in [name for name, _ in reasons(refused)]
    assert not Webhook.objects.exists()


def test_a_webhook_of_another_study_does_not_exist(client: Client) -> None:
    one, other = owned(), owned(slug="other")
    hook = post(client, "api_webhooks", one.slug, address=HOOK, events=["study.done"]).json()
    assert send(client, "GET", "api_webhook", other.slug, hook["id"]).status_code == 404


# --- images


def upload(client: Client, study: Study, name: str, data: bytes, alt: str = "A door.") -> Any:
    address = reverse("api_images", args=[study.slug])
    response = client.post(address, {"file": SimpleUploadedFile(name, data), "alt": alt})
    fits_schema("post", address, response)
    return response


def test_an_image_is_uploaded_listed_and_deleted(client: Client) -> None:
    study = owned(live=False)
    made = upload(client, study, "door.png", image_file(size=(60, 30)))
    assert made.status_code == 201
    [row] = get(client, "api_images", study.slug)["results"]
    assert row == made.json()
    assert (row["name"], row["alt"], row["width"], row["height"], row["items"]) == ("door.png", "A door.", 60, 30, 0)
    assert send(client, "DELETE", "api_image", study.slug, row["id"]).status_code == 204
    assert not Media.objects.exists()


def test_wrong_images_are_refused_with_a_reason(client: Client) -> None:
    study = owned(live=False)
    assert reasons(upload(client, study, "door.png", b"no image"))[0][0] == "image"
    assert reasons(upload(client, study, "door.png", image_file(), alt=" "))[0][0] == "image_alt"
    address = reverse("api_images", args=[study.slug])
    assert reasons(client.post(address, {"alt": "A door."}))[0] == ("file", "The form has no file.")
    assert client.post(address, "{}", content_type="application/json").status_code == 415
    launched = owned(slug="live")
    assert upload(client, launched, "door.png", image_file()).status_code == 409


# --- personal links


def test_links_are_made_once_for_each_name_and_revoked_while_nobody_has_begun(client: Client) -> None:
    study = owned(access="invited")
    ada, grace = post(client, "api_links", study.slug, names=["Ada", "Grace"]).json()["results"]
    assert post(client, "api_links", study.slug, names=["Grace"]).json() == {"results": [grace]}
    assert (ada["name"], ada["started"]) == ("Ada", False)
    opened = Client().get(ada["link"])
    assert opened.status_code == 200
    assert send(client, "DELETE", "api_link", study.slug, ada["id"]).status_code == 204
    assert [row["name"] for row in get(client, "api_links", study.slug)["results"]] == ["Grace"]
    assert Client().get(ada["link"]).content != opened.content
    assert AuditEntry.objects.filter(action="revoke link").count() == 1


def test_a_link_that_was_used_stays(client: Client) -> None:
    study = owned()
    [link] = post(client, "api_links", study.slug, names=["Ada"]).json()["results"]
    invitation = Invitation.objects.get()
    participant = make_submission(study=study).assignment.participant
    type(participant).objects.filter(pk=participant.pk).update(worker=invitation.worker)
    assert get(client, "api_links", study.slug)["results"][0]["started"] is True
    refused = send(client, "DELETE", "api_link", study.slug, link["id"])
    assert (refused.status_code, reasons(refused)[0][0]) == (422, "link")


def test_participants_of_another_study_get_links(client: Client) -> None:
    source, study = owned(slug="source"), owned(slug="next")
    make_submission(study=source)
    [link] = post(client, "api_links", "next", participants_of="source").json()["results"]
    assert link["name"] == source.participants.get().pseudonym
    assert post(client, "api_links", "next", participants_of="nothing").status_code == 404
    assert study.invitations.count() == 1


@pytest.mark.parametrize(
    "body",
    [{}, {"names": []}, {"names": "Ada"}, {"names": ["x" * 101]}, {"names": ["A"], "participants_of": "b"}],
    ids=str,
)
def test_wrong_links_are_refused_with_their_field(body: dict[str, Any], client: Client) -> None:
    refused = post(client, "api_links", owned().slug, **body)
    assert refused.status_code == 422
    assert reasons(refused)[0][0].startswith("names")


# --- decision files


def batch_rows(client: Client, study: Study) -> list[dict[str, str]]:
    response = client.get(reverse("api_decision_file", args=[study.slug]))
    text = b"".join(response.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    return list(csv.DictReader(io.StringIO(text)))


def test_a_file_of_decisions_is_counted_and_then_carried_out(client: Client) -> None:
    study = owned(reward="0.10")
    make_submission(study=study)
    [row] = batch_rows(client, study)
    address = reverse("api_decisions", args=[study.slug])
    rows = [row | {"Reject": "Too fast.", "Exclude": "x"}]
    counted = client.post(f"{address}?dry_run=true", {"rows": rows}, content_type="application/json")
    assert counted.json() == {"approve": 0, "reject": 1, "exclude": 1}
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    file = SimpleUploadedFile("batch.csv", text.getvalue().encode())
    job = client.post(address, {"file": file})
    fits_schema("post", address, job)
    assert (job.status_code, job.json()["kind"]) == (202, "file")
    assert study.bulk_actions.get().rows[0]["decision"] == "reject"


def test_a_problem_in_the_file_stops_everything_and_has_its_row(client: Client) -> None:
    study = owned()
    rows = [{"AssignmentId": "nothing", "Approve": "x", "Reject": ""}]
    refused = post(client, "api_decisions", study.slug, rows=rows)
    [error] = refused.json()["errors"]
    assert (refused.status_code, error["row"], error["column"]) == (422, 1, "AssignmentId")
    missing = post(client, "api_decisions", study.slug, rows=[{"AssignmentId": "x"}])
    assert {error["column"] for error in missing.json()["errors"]} == {"Approve", "Reject"}
    assert not study.bulk_actions.exists()


# --- platform accounts


@pytest.fixture
def accepting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The platform accepts every key. Its list says why it refuses the next one."""
    refusals: list[str] = []

    def balance(account: PlatformAccount) -> None:
        if refusals:
            raise PlatformTrouble(refusals.pop(), "Enter others.", may_be_done=False)

    monkeypatch.setattr(account_service, "_balance", balance)
    return refusals


KEYS = {"access_key_id": "AKIAEXAMPLE00001", "secret": "s" * 40}


def test_an_account_is_added_and_its_keys_come_out_nowhere(client: Client, accepting: list[str]) -> None:
    study = owned(live=False)
    added = post(client, "api_platform_accounts", key="once", platform="mturk", title="Our lab", **KEYS)
    assert (added.status_code, added.json()["slug"], added.json()["ends_with"]) == (201, "our-lab", "0001")
    again = post(client, "api_platform_accounts", key="once", platform="mturk", title="Our lab", **KEYS)
    assert again.json() == added.json() and PlatformAccount.objects.count() == 1
    chosen = send(client, "PATCH", "api_study", study.slug, platforms={"mturk": {"account": "our-lab"}})
    assert chosen.status_code == 200
    row = get(client, "api_platform_account", "our-lab")
    assert row["studies"] == [study.slug] and row["usable"]
    texts = [added.content, str(row).encode(), str(list(ApiAnswer.objects.values())).encode()]
    assert not any(KEYS["secret"].encode() in text or KEYS["access_key_id"].encode() in text for text in texts)
    assert send(client, "DELETE", "api_platform_account", "our-lab").status_code == 422  # a study uses it
    send(client, "PATCH", "api_study", study.slug, platforms={"mturk": {"account": ""}})
    assert send(client, "PATCH", "api_platform_account", "our-lab", retired=True).json()["retired"] is True
    assert send(client, "DELETE", "api_platform_account", "our-lab").status_code == 204


def test_keys_that_the_platform_refuses_are_not_saved(client: Client, accepting: list[str]) -> None:
    accepting.append("The platform does not accept these keys.")
    refused = post(client, "api_platform_accounts", platform="mturk", title="Our lab", **KEYS)
    assert (refused.status_code, refused.json()["errors"][0]["fix"]) == (502, "Enter others.")
    assert not PlatformAccount.objects.exists()


def test_keys_are_replaced_and_checked(client: Client, accepting: list[str]) -> None:
    post(client, "api_platform_accounts", platform="mturk", title="Our lab", **KEYS)
    fresh = KEYS | {"access_key_id": "AKIAEXAMPLE00002"}
    assert send(client, "PUT", "api_platform_account_keys", "our-lab", **fresh).json()["ends_with"] == "0002"
    accepting.append("The keys were revoked.")
    assert post(client, "api_platform_account_check", "our-lab").status_code == 502
    assert get(client, "api_platform_account", "our-lab")["trouble"].startswith("The keys were revoked.")
    assert post(client, "api_platform_account_notices", "our-lab").status_code == 422  # only Prolific has them


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"platform": "link"}, "platform"),
        ({"secret": ""}, "secret"),
        ({"access_key_id": "short"}, "access_key_id"),
        ({"endpoint": "https://evil.example/"}, "endpoint"),
        ({"team": "others"}, "team"),
        ({"title": ""}, "title"),
        ({"keys": "x"}, "keys"),
    ],
    ids=str,
)
def test_a_wrong_account_is_refused_with_its_field(
    body: dict[str, Any], field: str, client: Client, accepting: list[str]
) -> None:
    make_team(owner=make_user("ben"), slug="others")
    refused = post(client, "api_platform_accounts", **{"platform": "mturk", "title": "Lab", **KEYS, **body})
    assert (refused.status_code, [name for name, _ in reasons(refused)]) == (422, [field])
    assert KEYS["secret"] not in refused.content.decode()


def test_somebody_elses_account_does_not_exist(client: Client, accepting: list[str]) -> None:
    post(client, "api_platform_accounts", platform="mturk", title="Our lab", **KEYS)
    ben = program(make_user("ben"))
    assert get(ben, "api_platform_accounts") == []
    assert send(ben, "GET", "api_platform_account", "our-lab").status_code == 404
    assert post(ben, "api_platform_account_check", "our-lab").status_code == 404


# --- audience


def test_only_platforms_with_filters_have_an_audience(client: Client) -> None:
    study = owned()
    assert send(client, "GET", "api_audience", study.slug, "mturk").status_code == 404
    refused = send(client, "GET", "api_audience", study.slug, "prolific")
    assert (refused.status_code, reasons(refused)[0][0]) == (422, "platform")  # this server has no token
