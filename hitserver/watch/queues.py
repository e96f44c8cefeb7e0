"""What waits to be done, kind by kind: how much, for how long, and what a person can do about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from celery import current_app
from django.apps import apps
from django.conf import settings
from django.db.models import Count, Max, Min, Q, QuerySet

from annotation.models import ApiJob, BulkAction, PlatformJob, WebhookDelivery
from annotation.recruiting.job_requests import LEASE
from generation.models import Chunk, GenerationRun, Suggestion

WORKERS_FIX = "Check that script/server runs its task workers and the scheduler, and read its log."
MODELS_FIX = "Check on the page Models that a process which runs models is alive; script/setup --models installs them."


@dataclass(frozen=True, slots=True)
class Queue:
    """One kind of waiting work. ``kind`` is its name in metrics, ``oldest`` the seconds that the first has waited."""

    kind: str
    title: str
    waiting: int
    oldest: float
    fix: str


def _chunks(now: datetime) -> tuple[int, datetime | None]:
    """Chunks do not note when they were asked for: they wait since the last one of these runs was done."""
    runs = GenerationRun.objects.filter(state__in=["waiting", "running"])
    begin = runs.aggregate(since=Max("started_at"), asked=Min("created_at"))
    of_runs = Chunk.objects.filter(run__in=list(runs.values_list("pk", flat=True)))
    figures = of_runs.aggregate(n=Count("pk", filter=Q(state="waiting")), last=Max("ended_at"))
    moments = [moment for moment in (begin["since"], begin["asked"], figures["last"]) if moment]
    return figures["n"], max(moments, default=None) if figures["n"] else None


def _since(field: str, waiting: QuerySet[Any]) -> tuple[int, datetime | None]:
    figures = waiting.aggregate(n=Count("pk"), since=Min(field))
    return figures["n"], figures["since"]


#: Name in metrics, title, what counts it, and what to do when it is late.
KINDS: tuple[tuple[str, str, Callable[[datetime], tuple[int, datetime | None]], str], ...] = (
    (
        "suggestions",
        "Live suggestions",
        lambda now: _since("asked_at", Suggestion.objects.filter(state="waiting", deadline__gt=now)),
        MODELS_FIX,
    ),
    ("chunks", "Chunks of generation runs", _chunks, MODELS_FIX),
    (
        "api_jobs",
        "Jobs of the API",
        lambda now: _since("asked_at", ApiJob.objects.filter(state="queued")),
        WORKERS_FIX,
    ),
    (
        "platform_jobs",  # also those that a process left behind
        "Work on platforms",
        lambda now: _since(
            "asked_at",
            PlatformJob.objects.filter(Q(state="waiting") | Q(state="running", seen_at__lt=now - LEASE)),
        ),
        WORKERS_FIX,
    ),
    (
        "decisions",
        "Confirmed decisions",
        lambda now: _since("confirmed_at", BulkAction.objects.filter(state="running")),
        WORKERS_FIX,
    ),
    (
        "webhooks",  # messages whose time has come, not those that wait for their next try
        "Messages to webhooks",
        lambda now: _since("next_at", WebhookDelivery.objects.filter(next_at__lte=now)),
        WORKERS_FIX,
    ),
    (
        "notifications",
        "The marketplace’s notifications",
        lambda now: _since(
            "created_at",
            apps.get_model("marketplace.NotificationDelivery")._default_manager.filter(
                delivered_at__isnull=True, given_up=False
            ),
        ),
        WORKERS_FIX,
    ),
)


def read_queues(now: datetime) -> list[Queue]:
    """Asks the database, one short query for each kind (two for chunks)."""
    queues = []
    for kind, title, counts, fix in KINDS:
        waiting, since = counts(now)
        oldest = max(0.0, (now - since).total_seconds()) if since and waiting else 0.0
        queues.append(Queue(kind, title, waiting, oldest, fix))
    return queues


def tasks_on_the_broker() -> dict[str, int] | None:
    """How many messages wait in each queue of the broker; None if it does not answer."""
    names = sorted({"default", "gpu", *settings.WORKER_QUEUES})
    try:
        if settings.BROKER_IS_FOLDER:
            folder = Path(settings.VAR) / "broker" / "queue"
            files = [path.name for path in folder.iterdir()] if folder.is_dir() else []
            return {name: sum(file.endswith(f".{name}.msg") for file in files) for name in names}
        with current_app.connection_for_read() as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, interval_step=0, interval_max=0)
            channel = connection.default_channel
            if urlsplit(settings.CELERY_BROKER_URL).scheme.startswith("redis"):
                return {name: int(channel.client.llen(name)) for name in names}
            counts = {}
            for name in names:
                try:
                    counts[name] = int(channel.queue_declare(queue=name, passive=True).message_count)
                except connection.channel_errors:  # no worker has made the queue yet
                    channel, counts[name] = connection.channel(), 0
            return counts
    except Exception:  # each transport has its own errors; none may hide the other figures
        return None


#: How long something may wait before the page shows it as late. People wait for suggestions.
LATE_AFTER = {"suggestions": timedelta(seconds=15)}
