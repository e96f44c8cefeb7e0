"""Makes webhooks, changes, pauses and deletes them. Each change leaves an entry in the study's log."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Collection
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotation.audit import record
from annotation.models import Study, Webhook, WebhookDelivery
from annotation.webhook_events import message_columns, wake_on_commit
from common.outbound import address_problems
from common.problems import Problem, invalid, refuse_if_any, unknown

MOST_WEBHOOKS = 10
#: What the button *Send a test* sends. No webhook can ask for it.
TEST = "webhook.test"
#: As the Standard Webhooks specification writes secrets.
PREFIX = "whsec_"
State = WebhookDelivery.State


@dataclass(frozen=True, slots=True)
class NewWebhook:
    """A webhook with its secret, which is shown this one time."""

    webhook: Webhook
    secret: str


def create_webhook(*, study: Study, address: str, events: Collection[str], actor: str) -> NewWebhook:
    """Make a webhook. Raises Invalid for an address that must not be reached, unknown events, or too many webhooks."""
    refuse_if_any(_problems(address, events))
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if Webhook.objects.filter(study=study).count() >= MOST_WEBHOOKS:
            raise invalid("address", f"This study has {MOST_WEBHOOKS} webhooks.", "Delete one that you do not need.")
        webhook = Webhook.objects.create(
            study=study, address=address, events=_in_order(events), nonce=secrets.token_hex(16), created_by=actor
        )
        record(study=study, actor=actor, action="add webhook", address=without_query(address), events=webhook.events)
    return NewWebhook(webhook, secret_of(webhook))


def change_webhook(*, webhook: Webhook, address: str, events: Collection[str], actor: str) -> None:
    """Change where messages go, or for which events. Raises Invalid, as `create_webhook` does."""
    refuse_if_any(_problems(address, events))
    with transaction.atomic():
        old = {"address": webhook.address, "events": webhook.events}
        new = {"address": address, "events": _in_order(events)}
        if old != new:
            Webhook.objects.filter(pk=webhook.pk).update(**new)
            logged = [values | {"address": without_query(str(values["address"]))} for values in (old, new)]
            record(study=webhook.study, actor=actor, action="change webhook", old=logged[0], new=logged[1])


@transaction.atomic
def set_active(*, webhook: Webhook, active: bool, actor: str) -> None:
    """Pause or resume. What happens while a webhook is paused is never sent; what waited before is sent afterwards."""
    if Webhook.objects.filter(pk=webhook.pk).exclude(active=active).update(active=active):
        action = "resume webhook" if active else "pause webhook"
        record(study=webhook.study, actor=actor, action=action, address=without_query(webhook.address))
        if active:
            wake_on_commit()


@transaction.atomic
def replace_secret(*, webhook: Webhook, actor: str) -> str:
    """Make a new secret, which signs every message from now on. Returns it, this one time."""
    webhook.nonce = secrets.token_hex(16)
    webhook.save(update_fields=["nonce"])
    record(study=webhook.study, actor=actor, action="replace webhook secret", address=without_query(webhook.address))
    return secret_of(webhook)


@transaction.atomic
def delete_webhook(*, webhook: Webhook, actor: str) -> None:
    """Delete the webhook with all its messages, sent or not."""
    record(study=webhook.study, actor=actor, action="delete webhook", address=without_query(webhook.address))
    webhook.delete()


@transaction.atomic
def send_test(*, webhook: Webhook) -> WebhookDelivery:
    """Queue a message that says only that it is a test. Raises Invalid if the webhook is paused."""
    if not webhook.active:
        raise invalid("webhook", "This webhook is paused.", "Resume it first.")
    columns = message_columns(webhook.pk, TEST, timezone.now())
    wake_on_commit()
    return WebhookDelivery.objects.create(**columns)


@transaction.atomic
def redeliver(*, delivery: WebhookDelivery, actor: str) -> None:
    """Send the same message again, under the same id. Does nothing to one that is waiting."""
    due = {"state": State.WAITING, "attempts": 0, "next_at": timezone.now()}
    if WebhookDelivery.objects.filter(pk=delivery.pk).exclude(state=State.WAITING).update(**due):
        study, message = delivery.webhook.study, delivery.message_id
        record(study=study, actor=actor, action="redeliver webhook message", message=message, event=delivery.event)
        wake_on_commit()


def secret_of(webhook: Webhook) -> str:
    """The webhook's secret, made of the server's secret key and the webhook's nonce. It is not in the database."""
    key = salted_hmac("annotation.webhooks", webhook.nonce, algorithm="sha256").digest()
    return PREFIX + base64.b64encode(key).decode()


def without_query(address: str) -> str:
    """The address as the log shows it, which viewers read: a query often holds a key."""
    return address.partition("?")[0]


def _problems(address: str, events: Collection[str]) -> list[Problem]:
    problems = address_problems(address, private=settings.WEBHOOKS_PRIVATE)
    if len(address) > 500:
        problems = [Problem("address", "The address is longer than 500 characters.", "Use a shorter one.")]
    problems += [unknown("events", name, Webhook.Event.values) for name in events if name not in Webhook.Event.values]
    if not events:
        problems.append(Problem("events", "This webhook would send nothing.", "Choose at least one event."))
    return problems


def _in_order(events: Collection[str]) -> list[str]:
    return [name for name in Webhook.Event.values if name in events]
