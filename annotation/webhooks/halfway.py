"""Announces that half of a study is done, or all of it. Nobody who sends a page waits for these sums."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Exists, OuterRef, Sum

from annotation.models import Hit, Study, Webhook, WebhookDelivery
from annotation.webhook_events import announce

Event = Webhook.Event


def announce_progress() -> int:
    """Announce what has become true. Returns how many studies were looked at.

    Each webhook gets each of the two events once, even one that was added later.
    """
    announced = WebhookDelivery.objects.filter(webhook=OuterRef("pk"), event=Event.DONE)
    waiting = Webhook.objects.filter(~Exists(announced), active=True)
    wanting = [
        study for study, events in waiting.values_list("study", "events") if {Event.HALF_DONE, Event.DONE} & set(events)
    ]
    studies = Study.objects.filter(pk__in=wanting).exclude(status=Study.Status.DRAFT)
    for study in studies:
        sums = Hit.objects.filter(study=study).aggregate(wanted=Sum("wanted"), submitted=Sum("n_submitted"))
        wanted, submitted = sums["wanted"] or 0, sums["submitted"] or 0
        with transaction.atomic():
            for event, happened in (
                (Event.HALF_DONE, 0 < wanted <= 2 * submitted),
                (Event.DONE, study.complete_at is not None),
            ):
                if happened:
                    name = f"msg_study_{study.pk}_{event.partition('.')[2]}"
                    announce(study=study, event=event, message_id=name, submitted=submitted, wanted=wanted)
    return len(studies)
