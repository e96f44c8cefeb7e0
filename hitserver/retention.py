"""Old data to delete: what it is, where it is, and how long it stays.

Answers, payments and the ledger are never deleted because of their age. This is the only place that switches off the
triggers that protect rows from deletion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Model, Q, QuerySet
from django.utils import timezone

from annotation.api import job_files
from annotation.studies import image_files, images, staged_uploads

#: The marketplace gives up a notification after this many tries.
MOST_TRIES = 10


@dataclass(frozen=True)
class Rule:
    """Old rows of one table. ``old`` selects those from before a moment; ``setting`` is the name of the Django setting
    with the number of days to keep them."""

    name: str
    model: str
    setting: str
    old: Callable[[datetime], Q]

    @property
    def days(self) -> int:
        """0 keeps them forever."""
        return int(getattr(settings, self.setting))

    def rows(self, now: datetime) -> QuerySet[Any]:
        rows: QuerySet[Any] = apps.get_model(self.model)._default_manager.all()
        return rows.filter(self.old(now - timedelta(days=self.days))) if self.days else rows.none()


RULES: tuple[Rule, ...] = (
    Rule(
        "drafts of tasks that were given back or ran out of time",
        "annotation.Draft",
        "KEEP_DRAFTS_DAYS",
        lambda before: Q(saved_at__lt=before) & ~Q(assignment__state="accepted"),
    ),
    Rule("entries of studies' logs", "annotation.AuditEntry", "KEEP_LOG_DAYS", lambda before: Q(created_at__lt=before)),
    Rule(
        "entries of the marketplace's log, except those about money",
        "marketplace.AuditRow",
        "KEEP_LOG_DAYS",
        lambda before: Q(at__lt=before) & ~Q(kind="money"),
    ),
    Rule(
        "notifications that were delivered or given up",
        "marketplace.NotificationDelivery",
        "KEEP_NOTIFICATIONS_DAYS",
        lambda before: Q(created_at__lt=before) & (Q(delivered_at__isnull=False) | Q(tries__gte=MOST_TRIES)),
    ),
    Rule(
        "edits that were recorded while workers typed",
        "annotation.EventBatch",
        "KEEP_EDITS_DAYS",
        lambda before: Q(received_at__lt=before) & ~Q(assignment__state="accepted"),
    ),
    Rule(
        "images that no item shows",
        "annotation.Media",
        "KEEP_MEDIA_DAYS",
        lambda before: Q(uploaded_at__lt=before) & images.unused(),
    ),
    Rule("workers' sign-in links", "marketplace.LoginLink", "KEEP_LINKS_DAYS", lambda before: Q(expires_at__lt=before)),
    Rule(
        "invitations to the console", "accounts.AccessLink", "KEEP_LINKS_DAYS", lambda before: Q(expires_at__lt=before)
    ),
    Rule("requesters' links", "marketplace.RequesterLink", "KEEP_LINKS_DAYS", lambda before: Q(expires_at__lt=before)),
    Rule(
        "answers of the API that a repeated request would get",
        "annotation.ApiAnswer",
        "KEEP_API_ANSWERS_DAYS",
        lambda before: Q(created_at__lt=before),
    ),
    Rule(
        "jobs of the API that have ended",
        "annotation.ApiJob",
        "KEEP_API_JOBS_DAYS",
        lambda before: Q(asked_at__lt=before) & ~Q(state__in=["queued", "running"]),
    ),
    Rule("sessions in the console", "accounts.Session", "KEEP_LINKS_DAYS", lambda before: Q(expire_date__lt=before)),
)


@dataclass(frozen=True)
class OldRows:
    """How many rows of a rule are old enough to be deleted, or were deleted."""

    rule: Rule
    count: int


def find(rules: Sequence[Rule] = RULES) -> list[OldRows]:
    """What is old enough to be deleted."""
    now = timezone.now()
    return [OldRows(rule, rule.rows(now).count()) for rule in rules]


def delete(rules: Sequence[Rule] = RULES) -> list[OldRows]:
    """Deletes what is old enough and returns how many rows of each rule that was. Each rule is one transaction.

    Also removes image files that no study uses any more, the files of deleted jobs, and uploads that nobody has
    imported.
    """
    now = timezone.now()
    deleted = []
    for rule in rules:
        rows = rule.rows(now)
        with transaction.atomic(), unprotected(rows.model):
            _, counts = rows.delete()
        deleted.append(OldRows(rule, counts.get(rows.model._meta.label, 0)))
    image_files.remove_files(images.files_without_rows())
    job_files.remove_forgotten()
    staged_uploads.remove_old_uploads()
    return deleted


@contextmanager
def unprotected(model: type[Model]) -> Iterator[None]:
    """Disables the table's triggers during a transaction. No other connection notices."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Foreign key checks that wait for the commit would prevent this.
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute(f'ALTER TABLE "{table}" DISABLE TRIGGER USER')
            yield
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute(f'ALTER TABLE "{table}" ENABLE TRIGGER USER')
            return
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [table])
        triggers = cursor.fetchall()
        for name, _ in triggers:
            cursor.execute(f'DROP TRIGGER "{name}"')
        yield
        for _, statement in triggers:
            cursor.execute(statement)
