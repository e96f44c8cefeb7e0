"""What a program does with a study and around it, by the client, in the server itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from annotation.models import Review, Study
from hitserver_client import Client, NotFound
from hitserver_client.command import main
from tests.annotation.images import image_file
from tests.client.support.in_process import ADDRESS, client_of, with_token
from tests.client.support.server import TOKEN
from tests.factories import make_researcher, make_study, make_submission

pytestmark = pytest.mark.django_db
HOOK = "https://hooks.example.org/in"
DRAFT = {
    "slug": "mine",
    "title": "Two texts",
    "task_type": "likert",
    "config": {"statements": [{"topic": "liked", "question": "I like the text."}]},
}
TEXTS = [{"sample_id": "a", "text": "It rained."}, {"sample_id": "texts/b c", "text": "The sun came out."}]


@pytest.fixture(autouse=True)
def nothing_is_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    for method in ("celery.app.task.Task.apply_async", "celery.app.base.Celery.send_task"):
        monkeypatch.setattr(method, lambda *_, **__: None)


@pytest.fixture
def ada() -> User:
    return make_researcher("ada")


@pytest.fixture
def hits(ada: User) -> Iterator[Client]:
    with client_of(ada) as client:
        yield client


def live_study(owner: User, **terms: Any) -> Study:
    return make_study(slug="live", items=2, reward="0.18", owner=owner, **terms)


def test_a_draft_gets_arms_wording_images_and_a_preview(hits: Client, tmp_path: Path) -> None:
    study = hits.create_study(DRAFT, TEXTS)
    assert study.item("texts/b c")["columns"]["text"] == "The sun came out."
    study.arms.create("plain", reward="0.20")
    study.arms.change("plain", name="with help", reward="0.30")
    assert [(arm["name"], arm["reward"]) for arm in study.arms.all()][-1] == ("with help", "0.300")
    assert study.arms.get("with help")["name"] == "with help"
    study.arms.delete("with help")
    assert "with help" not in [arm["name"] for arm in study.arms.all()]
    picture = tmp_path / "dot.png"
    picture.write_bytes(image_file())
    image = study.images.upload(picture, alt="A dot")
    assert [row["alt"] for row in study.images.all()] == ["A dot"]
    study.images.delete(image["id"])
    assert study.images.all() == []
    assert [page["number"] for page in study.preview(item="a")["pages"]][:2] == [0, 1]
    assert "<html" in study.preview_page(0)


def test_people_are_added_to_a_study_and_to_a_team(hits: Client) -> None:
    make_researcher("bob")
    study = hits.create_study(DRAFT)
    study.members.put("bob", "viewer")
    study.members.put("bob", "editor")
    assert {row["user"]: row["role"] for row in study.members.all()} == {"ada": "owner", "bob": "editor"}
    study.members.remove("bob")
    hits.teams.create("lab", "The lab")
    hits.teams.rename("lab", "Our lab")
    hits.teams.members("lab").put("bob", "viewer")
    assert hits.teams.get("lab")["members"] == 2 and hits.teams.get("lab")["name"] == "Our lab"
    study.set_team("lab")
    assert study.team() == "lab"
    study.set_team(None)
    hits.teams.members("lab").remove("bob")
    hits.teams.delete("lab")
    assert hits.teams.all() == []


def test_a_token_makes_a_weaker_token_and_revokes_it(hits: Client) -> None:
    new = hits.tokens.create("reader")
    assert new["scopes"] == ["read"] and new["token"].startswith("hits_")
    hits.tokens.revoke(new["id"])
    assert new["id"] not in [row["id"] for row in hits.tokens.all()]


def test_a_webhook_is_made_tested_and_deleted(hits: Client) -> None:
    hooks = hits.create_study(DRAFT).webhooks
    new = hooks.create(HOOK, ["study.done"])
    assert hooks.replace_secret(new["id"]) != new["secret"]
    message = hooks.test(new["id"])
    assert [row["id"] for row in hooks.deliveries(new["id"])] == [message["id"]]
    hooks.change(new["id"], active=False)
    assert hooks.get(new["id"])["active"] is False
    hooks.delete(new["id"])
    with pytest.raises(NotFound):
        hooks.get(new["id"])


def test_people_are_invited_by_their_own_links(hits: Client) -> None:
    links = hits.create_study({**DRAFT, "access": "invited"}, TEXTS).links
    first, second = links.create(["Bob", "Cleo"])
    assert links.create(["Bob"]) == [first]
    links.revoke(second["id"])
    assert [row["name"] for row in links.all()] == ["Bob"]


def test_what_people_sent_is_reviewed_and_paid(hits: Client, ada: User, tmp_path: Path) -> None:
    submission = make_submission(study=live_study(ada))
    study = hits.study("live")
    assert study.payment_totals()["due"] == study.due()
    [payment] = study.payments()
    assert payment["worker"] == next(row["worker"] for row in study.workers())
    study.exclude_worker(payment["worker"], note="a test")
    study.include_worker(payment["worker"])
    assert list(Review.objects.filter(submission=submission).values_list("decision", flat=True)) != []
    owed = study.due()
    assert study.mark_paid(owed) == owed
    assert study.due()["hits"] == 0
    assert "worker" in study.payment_file(tmp_path / "paid.csv", progress=False).read_text(encoding="utf-8")
    assert set(study.quality_rules()) == {"quality_control", "exclude", "locked"}
    assert study.review_queue()["flagged"] == 0


def test_the_command_asks_about_people_links_and_money(
    hits: Client, ada: User, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    make_submission(study=live_study(ada))
    monkeypatch.setenv("HITSERVER_URL", ADDRESS)
    monkeypatch.setenv("HITSERVER_TOKEN", TOKEN)
    monkeypatch.setattr("hitserver_client.command.Client", lambda *_: with_token(hits.transport.access.token))
    make_researcher("bob")
    assert main(["members", "live", "--put", "bob", "viewer"]) == 0
    assert "bob" in capsys.readouterr().out
    owed = hits.study("live").due()
    assert main(["payments", "live", "--paid", "999"]) == 1
    assert f"Pay ${owed['total']}" in capsys.readouterr().err
    assert main(["payments", "live", "--paid", owed["total"]]) == 0
    assert "Recorded as paid." in capsys.readouterr().out
    assert main(["webhooks", "live", HOOK, "--event", "study.done"]) == 0
    assert "whsec_" in capsys.readouterr().out
    assert main(["upload", "live", str(tmp_path / "none.csv")]) == 1
    assert "There is no file" in capsys.readouterr().err
