"""What is announced, how messages are sent and tried again, and who may set webhooks up."""

from __future__ import annotations

import re
import smtplib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import AuditEntry, Hit, Membership, Study, Webhook, WebhookDelivery
from annotation.review.quality_control import check_quality
from annotation.studies.launching import publish
from annotation.webhooks import managing, sending
from annotation.webhooks.halfway import announce_progress
from annotation.webhooks.sending import deliver_due, pause_after, signature
from common.outbound import Answer, Unreachable
from common.problems import Invalid
from tests.annotation.console_helpers import as_role, make_user, signed_in
from tests.annotation.pages import WorkerBrowser
from tests.annotation.webhooks.support.receiver import Receiver, running_receiver
from tests.factories import make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db
EVERYTHING = list(Webhook.Event.values)


@pytest.fixture
def study(settings: LazySettings) -> Study:
    settings.WEBHOOKS_PRIVATE = True
    return make_study(items=2, ratings_per_item=1, slug="replies", title="Replies")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as receiver:
        yield receiver


def add(study: Study, receiver: Receiver, *events: str) -> managing.NewWebhook:
    return managing.create_webhook(study=study, address=receiver.address, events=events or EVERYTHING, actor="ann")


def stored() -> list[tuple[str, dict[str, Any]]]:
    return list(WebhookDelivery.objects.order_by("pk").values_list("event", "data"))


def answers(monkeypatch: pytest.MonkeyPatch, *given: int | str) -> list[str]:
    """Each message gets the next of these statuses; a text is why there was no answer. Returns the ids as sent."""
    left, ids = list(given), []

    def post(address: str, body: bytes, headers: dict[str, str], *, private: bool) -> Answer:
        ids.append(headers["webhook-id"])
        answer = left.pop(0)
        if isinstance(answer, str):
            raise Unreachable(answer)
        return Answer(answer, "As you say.\nMore", 0.2)

    monkeypatch.setattr(sending, "post", post)
    return ids


def make_due() -> None:
    WebhookDelivery.objects.filter(next_at__isnull=False).update(next_at=timezone.now())


# --- events


def test_a_submission_is_announced_in_the_transaction_that_stores_it(study: Study, receiver: Receiver) -> None:
    secret = add(study, receiver, "submission.arrived").secret
    participant = make_participant(study=study)
    WorkerBrowser(participant).finish()
    assert stored() == [("submission.arrived", {})]
    assert deliver_due() == 1
    [received] = receiver.received
    submission = study.submissions.get()
    assert received.message["type"] == "submission.arrived"
    assert received.message["data"] == {
        "study": "replies",
        "title": "Replies",
        "submission": submission.pk,
        "worker": participant.pseudonym,
        "simulated": False,
    }
    assert received.is_signed_with(secret)
    assert not received.is_signed_with("whsec_" + "A" * 44)
    delivery = WebhookDelivery.objects.get()
    assert (delivery.state, delivery.attempts, delivery.status, delivery.next_at) == ("delivered", 1, 204, None)
    assert delivery.message_id == received.headers["webhook-id"]


def test_a_flagged_submission_needs_a_review(study: Study, receiver: Receiver) -> None:
    Study.objects.update(quality_control={"too_fast": 600})
    add(study, receiver, "review.needed")
    WorkerBrowser(make_participant(study=study)).finish()
    assert stored() == [("review.needed", {})]


def test_a_check_that_finds_something_new_asks_for_a_review_once(study: Study, receiver: Receiver) -> None:
    make_submission(study=study)
    add(study, receiver, "review.needed")
    Study.objects.update(quality_control={"too_fast": 600})
    check_quality(study=Study.objects.get(), actor="ann")
    [(event, data)] = stored()
    assert (event, data["new_flags"] > 0) == ("review.needed", True)
    check_quality(study=Study.objects.get(), actor="ann")
    assert len(stored()) == 1


def test_a_launch_is_announced(settings: LazySettings, receiver: Receiver) -> None:
    settings.WEBHOOKS_PRIVATE = True
    draft = make_study(items=3, live=False)
    add(draft, receiver, "study.launched")
    publish(study=draft, actor="ann")
    assert stored() == [("study.launched", {"hits": 3, "items": 3})]


def test_half_and_all_of_a_study_are_announced_once(study: Study, receiver: Receiver) -> None:
    add(study, receiver, "study.half_done", "study.done")
    assert announce_progress() == 1
    assert stored() == []
    Hit.objects.filter(study=study, position=0).update(n_live=1, n_submitted=1)
    announce_progress()
    announce_progress()
    assert stored() == [("study.half_done", {"submitted": 1, "wanted": 2})]
    Hit.objects.filter(study=study).update(n_live=1, n_submitted=1)
    Study.objects.update(complete_at=timezone.now())
    announce_progress()
    assert stored()[1:] == [("study.done", {"submitted": 2, "wanted": 2})]
    assert announce_progress() == 0
    WebhookDelivery.objects.update(created_at=timezone.now() - timedelta(days=40), state="delivered")
    assert sending.forget_old() == 0


def test_only_active_webhooks_that_want_an_event_get_it(study: Study, receiver: Receiver) -> None:
    add(study, receiver, "study.done")
    paused = add(study, receiver, "submission.arrived").webhook
    managing.set_active(webhook=paused, active=False, actor="ann")
    add(make_study(items=1), receiver, "submission.arrived")
    WorkerBrowser(make_participant(study=study)).finish()
    assert stored() == []


def test_a_step_costs_no_query_more_for_webhooks_if_there_are_none(
    study: Study, receiver: Receiver, django_assert_max_num_queries: Any
) -> None:
    counts = []
    for hooked in (False, False, True):  # the first prepares statements on PostgreSQL
        if hooked:
            add(study, receiver, "submission.arrived")
        worker = WorkerBrowser(make_participant(study=make_study(items=1) if not hooked else study))
        form = worker.form()
        with django_assert_max_num_queries(20) as taken:
            worker.post(form, own="Yes.")
        counts.append(len(taken))
    assert counts[1] <= 5
    assert counts[2] <= counts[1] + 3


# --- sending


def test_the_signature_is_that_of_the_published_example() -> None:
    # The example of the Standard Webhooks specification and of Svix's documentation.
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
    expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body) == expected


def test_the_code_in_the_documentation_verifies_a_message(study: Study, receiver: Receiver) -> None:
    code = re.search(r"```python\n(.*?)```", Path("docs/webhooks.md").read_text(), re.S)
    assert code is not None
    names: dict[str, Any] = {}
    exec(code[1], names)  # noqa: S102 - our own page
    new = add(study, receiver)
    managing.send_test(webhook=new.webhook)
    deliver_due()
    [received] = receiver.received
    assert names["is_genuine"](received.headers, received.body, new.secret)
    assert not names["is_genuine"](received.headers, received.body + b" ", new.secret)
    old = received.headers | {"webhook-timestamp": "1614265330"}
    old["webhook-signature"] = signature(new.secret, old["webhook-id"], 1614265330, received.body)
    assert not names["is_genuine"](old, received.body, new.secret)


def test_a_message_is_tried_again_with_growing_pauses_under_the_same_id(
    study: Study, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    managing.send_test(webhook=add(study, receiver).webhook)
    ids = answers(monkeypatch, 500, "The connection failed.", 302, 200)
    minutes = []
    for _ in range(3):
        assert deliver_due() == 1
        delivery = WebhookDelivery.objects.get()
        assert delivery.next_at is not None
        assert delivery.tried_at is not None
        minutes.append((delivery.next_at - delivery.tried_at) / timedelta(minutes=1))
        assert deliver_due() == 0
        make_due()
    assert [least <= pause <= 1.3 * least for least, pause in zip((1, 3, 9), minutes, strict=True)] == [True] * 3
    assert Webhook.objects.get().failing_since is not None
    assert deliver_due() == 1
    assert WebhookDelivery.objects.get().state == "delivered"
    assert Webhook.objects.get().failing_since is None
    assert len(set(ids)) == 1


def test_all_pauses_together_are_about_a_day() -> None:
    least = timedelta(minutes=1 + 3 + 9 + 27 + 81 + 243 + 729)
    pauses = sum((pause_after(tried) for tried in range(1, sending.MOST_TRIES)), timedelta())
    assert least <= pauses <= 1.3 * least < timedelta(hours=25)


def test_a_message_that_is_given_up_gives_one_mail_to_the_owners(
    study: Study, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> None:
    settings.EMAIL_HOST = "mail.example.org"
    Membership.objects.create(study=study, user=make_user("ann", email="ann@example.org"), role="owner")
    Membership.objects.create(study=study, user=make_user("eve", email="eve@example.org"), role="editor")
    webhook = add(study, receiver).webhook
    answers(monkeypatch, 500, 500, 204, 500)
    for _ in range(2):
        managing.send_test(webhook=webhook)
        WebhookDelivery.objects.update(attempts=sending.MOST_TRIES - 1)
        deliver_due()
    assert set(WebhookDelivery.objects.values_list("state", "next_at")) == {("failed", None)}
    [message] = mail.outbox
    assert (message.subject, message.bcc) == ("A webhook does not answer: Replies", ["ann@example.org"])
    assert reverse("console_webhook", args=["replies", webhook.pk]) in message.body
    for _ in range(2):
        managing.send_test(webhook=webhook)
        WebhookDelivery.objects.filter(state="waiting").update(attempts=sending.MOST_TRIES - 1)
        deliver_due()
    assert len(mail.outbox) == 2


def test_a_mail_that_cannot_be_sent_is_tried_with_the_next_failure(
    study: Study, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> None:
    settings.EMAIL_HOST = "mail.example.org"
    Membership.objects.create(study=study, user=make_user("ann", email="ann@example.org"), role="owner")

    def refuse(*_: Any, **__: Any) -> None:
        raise smtplib.SMTPException("no")

    monkeypatch.setattr("django.core.mail.EmailMessage.send", refuse)
    managing.send_test(webhook=add(study, receiver).webhook)
    WebhookDelivery.objects.update(attempts=sending.MOST_TRIES - 1)
    answers(monkeypatch, 500)
    deliver_due()
    assert Webhook.objects.get().mailed_at is None


def test_a_receiver_that_is_gone_pauses_its_webhook(
    study: Study, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    managing.send_test(webhook=add(study, receiver).webhook)
    answers(monkeypatch, 410)
    deliver_due()
    assert (Webhook.objects.get().active, WebhookDelivery.objects.get().state) == (False, "failed")
    assert AuditEntry.objects.get(action="pause webhook").detail["reason"] == "gone"


def test_a_webhook_that_fails_does_not_hold_up_the_others(
    study: Study, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = add(study, receiver).webhook, add(study, receiver).webhook
    for webhook in (bad, bad, good):
        managing.send_test(webhook=webhook)
    answers(monkeypatch, 500, 200)
    assert deliver_due() == 2
    assert list(WebhookDelivery.objects.order_by("pk").values_list("attempts", "state")) == [
        (1, "waiting"),
        (0, "waiting"),
        (1, "delivered"),
    ]


def test_a_message_that_another_process_tries_is_left_alone_until_its_lease_ends(
    study: Study, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    managing.send_test(webhook=add(study, receiver).webhook)

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sending, "post", killed)
    with pytest.raises(KeyboardInterrupt):
        deliver_due()
    assert deliver_due() == 0
    make_due()  # the lease is over
    answers(monkeypatch, 200)
    assert deliver_due() == 1


def test_old_messages_are_forgotten(study: Study, receiver: Receiver) -> None:
    managing.send_test(webhook=add(study, receiver).webhook)
    WebhookDelivery.objects.update(created_at=timezone.now() - timedelta(days=31))
    assert sending.forget_old() == 0
    WebhookDelivery.objects.update(state="failed")
    assert sending.forget_old() == 1


# --- setting them up


def test_addresses_inside_and_events_that_do_not_exist_are_refused(study: Study, settings: LazySettings) -> None:
    settings.WEBHOOKS_PRIVATE = False
    with pytest.raises(Invalid) as refused:
        managing.create_webhook(study=study, address="https://127.0.0.1/", events=["study.dune"], actor="ann")
    assert [problem.where for problem in refused.value.problems] == ["address", "events"]
    assert "Did you mean “study.done”?" in str(refused.value)
    with pytest.raises(Invalid, match="would send nothing"):
        managing.create_webhook(study=study, address="https://127.0.0.1/", events=[], actor="ann")
    assert not Webhook.objects.exists()


def test_a_study_has_a_limited_number_of_webhooks(
    study: Study, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(managing, "MOST_WEBHOOKS", 1)
    add(study, receiver)
    with pytest.raises(Invalid, match="has 1 webhooks"):
        add(study, receiver)


def test_a_webhook_is_added_tested_and_changed_in_the_console(study: Study, receiver: Receiver) -> None:
    client = as_role("editor", study)
    form = {"address": receiver.address, "events": ["study.done"]}
    page = client.post(reverse("console_webhooks", args=["replies"]), form).content.decode()
    secret = page.split('id="new-secret" readonly value="')[1].split('"')[0]
    webhook = Webhook.objects.get()
    one = ["replies", webhook.pk]
    assert secret not in client.get(reverse("console_webhook", args=one)).content.decode()
    assert secret not in str(list(Webhook.objects.values())) + str(list(AuditEntry.objects.values()))
    client.post(reverse("console_webhook_test", args=one))
    receiver.status, receiver.text = 503, "Down for now\nand more"
    deliver_due()
    assert receiver.received[0].is_signed_with(secret)
    page = client.get(reverse("console_webhook", args=one)).content.decode()
    assert "Down for now" in page
    assert "and more" not in page
    assert "503" in page
    assert "Not answering" in page
    form["events"] = ["study.done", "study.launched"]
    client.post(reverse("console_webhook", args=one), form)
    assert Webhook.objects.get().events == ["study.launched", "study.done"]
    page = client.post(reverse("console_webhook_secret", args=one)).content.decode()
    assert page.split('id="new-secret" readonly value="')[1].split('"')[0] != secret
    for name in ("pause", "resume", "delete"):
        client.post(reverse(f"console_webhook_{name}", args=one))
    assert not Webhook.objects.exists()
    actions = AuditEntry.objects.filter(study=study, action__contains="webhook").order_by("pk")
    assert "?study=1" not in str(list(actions.values("detail")))
    assert list(actions.values_list("action", flat=True)) == [
        *("add webhook", "change webhook", "replace webhook secret"),
        *("pause webhook", "resume webhook", "delete webhook"),
    ]


def test_a_message_can_be_sent_again_and_a_paused_webhook_cannot_be_tested(study: Study, receiver: Receiver) -> None:
    client, webhook = as_role("owner", study), add(study, receiver).webhook
    delivery = managing.send_test(webhook=webhook)
    deliver_due()
    client.post(reverse("console_webhook_redeliver", args=["replies", webhook.pk, delivery.pk]))
    deliver_due()
    assert [received.headers["webhook-id"] for received in receiver.received] == [delivery.message_id] * 2
    managing.set_active(webhook=webhook, active=False, actor="ann")
    page = client.post(reverse("console_webhook_test", args=["replies", webhook.pk]), follow=True).content.decode()
    assert "This webhook is paused. Resume it first." in page


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"address": "", "events": ["study.done"]}, "This field is required"),
        ({"address": "example.org", "events": ["study.done"]}, "This is not an https address"),
        ({"address": "https://example.org/" + "x" * 500, "events": ["study.done"]}, "at most 500 characters"),
        ({"address": "https://[::1/", "events": ["study.done"]}, "This is not an address"),
        ({"address": "https://127.0.0.1/", "events": []}, "Choose at least one event"),
        ({"address": "https://127.0.0.1/", "events": ["all"]}, "Select a valid choice"),
    ],
)
def test_a_form_that_is_wrong_makes_no_webhook(study: Study, form: dict[str, Any], message: str) -> None:
    response = as_role("editor", study).post(reverse("console_webhooks", args=["replies"]), form)
    assert response.status_code == 422
    assert message in response.content.decode()
    assert not Webhook.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "payer", "outsider"])
def test_only_who_edits_the_study_sees_its_webhooks(study: Study, receiver: Receiver, role: str) -> None:
    webhook, client = add(study, receiver).webhook, as_role(role, study)
    delivery = managing.send_test(webhook=webhook)
    one = ["replies", webhook.pk]
    assert client.get(reverse("console_webhooks", args=["replies"])).status_code == 404
    assert client.get(reverse("console_webhook", args=one)).status_code == 404
    for name in ("pause", "resume", "secret", "test", "delete"):
        assert client.post(reverse(f"console_webhook_{name}", args=one)).status_code == 404
    assert client.post(reverse("console_webhook_redeliver", args=[*one, delivery.pk])).status_code == 404
    assert Client().get(reverse("console_webhook", args=one)).status_code == 302


def test_the_webhooks_of_another_study_are_not_found(study: Study, receiver: Receiver) -> None:
    theirs = add(make_study(items=1), receiver).webhook
    own, user = add(study, receiver).webhook, make_user("ann")
    Membership.objects.create(study=study, user=user, role="owner")
    client, delivery = signed_in(user), managing.send_test(webhook=theirs)
    assert client.get(reverse("console_webhook", args=["replies", theirs.pk])).status_code == 404
    again = reverse("console_webhook_redeliver", args=["replies", own.pk, delivery.pk])
    assert client.post(again).status_code == 404
