"""The figures as metrics. Imported only by a process that answers ``/metrics``."""

from __future__ import annotations

import platform
from collections.abc import Iterator

import django
from django.conf import settings
from django.db import connection
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric

from hitserver.version import version
from hitserver.watch.figures import Figures, latest


def gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"hitserver_{name}", text, value=value)


def labelled(name: str, text: str, label: str, values: dict[str, float]) -> Metric:
    family = GaugeMetricFamily(f"hitserver_{name}", text, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


class FiguresCollector:
    """Yields what is known. A figure that could not be read is missing, and ``hitserver_database_up`` is 0."""

    def collect(self) -> Iterator[Metric]:
        figures = latest()
        yield InfoMetricFamily(
            "hitserver_version",
            "What runs here.",
            value={
                "version": version(),
                "python": platform.python_version(),
                "django": django.get_version(),
                "database": connection.vendor,
            },
        )
        yield gauge("database_up", "Whether the database answered.", float(figures.database_up))
        yield gauge("broker_up", "Whether the task queue answered.", float(figures.broker is not None))
        yield gauge("figures_seconds", "Seconds that it took to read these figures.", figures.seconds)
        yield gauge("disk_free_bytes", "Space left under HITSERVER_VAR.", figures.disk_free)
        yield gauge("disk_total_bytes", "Space under HITSERVER_VAR.", figures.disk_total)
        if figures.broker is not None:
            text = "Messages on the task queue that no worker has taken."
            yield labelled("tasks_waiting", text, "queue", dict(figures.broker))
        if figures.database_up:
            yield from _of_work(figures)
            yield from _of_processes(figures)


def _of_work(figures: Figures) -> Iterator[Metric]:
    text = "Submissions that were ever stored, by their highest number."
    yield CounterMetricFamily("hitserver_submissions", text, value=figures.submissions)
    yield CounterMetricFamily(
        "hitserver_ratings", "Ratings that were ever stored, by their highest number.", value=figures.ratings
    )
    yield labelled("studies", "Studies by status.", "status", dict(figures.studies))
    queues = figures.queues
    yield labelled("queue_waiting", "Work that waits, by kind.", "kind", {one.kind: one.waiting for one in queues})
    text = "Seconds for which the oldest waiting work of a kind has waited."
    yield labelled("queue_oldest_seconds", text, "kind", {one.kind: one.oldest for one in queues})
    text = "Tokens that a model wrote per second, in the last five minutes."
    yield labelled("model_tokens_per_second", text, "model", figures.tokens_per_second)
    waits = GaugeMetricFamily(
        "hitserver_suggestion_wait_seconds",
        "Seconds that writers waited for a suggestion, in the last five minutes.",
        labels=["suggester", "quantile"],
    )
    for suggester, (_, median, p95) in figures.waits.items():
        waits.add_metric([suggester, "0.5"], median)
        waits.add_metric([suggester, "0.95"], p95)
    yield waits
    spent = GaugeMetricFamily(
        "hitserver_spent_usd_this_month",
        "US dollars spent or promised on platforms in this month (UTC), with fees.",
        labels=["platform", "account"],
    )
    for (platform_name, account), amount in figures.spent.items():
        spent.add_metric([platform_name, account], amount)
    yield spent
    yield gauge(
        "monthly_budget_usd", "What one account may cost in a month; 0: no limit.", float(settings.MONTHLY_BUDGET)
    )


def _of_processes(figures: Figures) -> Iterator[Metric]:
    yield labelled("processes", "Processes seen in the last 100 seconds, by kind.", "kind", dict(figures.alive))
    if figures.scheduler_seen is not None:
        text = "When the scheduler last gave a sign of life."
        yield gauge("scheduler_seen_timestamp_seconds", text, figures.scheduler_seen.timestamp())
    yield gauge("database_bytes", "Size of the database.", figures.database_bytes)
    if figures.backup is not None:
        made_at = figures.backup.made_at.timestamp()
        yield gauge("backup_timestamp_seconds", "When the latest backup was made.", made_at)
        yield gauge("backup_bytes", "Size of the latest backup.", figures.backup.n_bytes)
    tried = figures.tried_backup
    if tried is not None and tried.tried_at is not None:
        text = "When a backup was last tried by restoring it."
        yield gauge("restore_test_timestamp_seconds", text, tried.tried_at.timestamp())
        yield gauge("restore_test_passed", "Whether that worked.", float(bool(tried.works)))
    yield labelled("alarm", "What needs a person, by cause.", "cause", dict.fromkeys(figures.alarms, 1.0))
