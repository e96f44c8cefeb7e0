"""What is deleted when it is old enough, and what never is."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from annotation.models import Assignment, AuditEntry, Draft, Rating, Step, Submission
from hitserver import retention
from hitserver.retention import unprotected
from marketplace.models import AuditRow
from tests.factories import make_assignment, make_study, make_submission

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("retention", *arguments, stdout=out)
    return out.getvalue()


def make_draft(*, days: int, state: str = "returned", number: int = 0) -> Draft:
    assignment = make_assignment()
    Assignment.objects.filter(pk=assignment.pk).update(state=state)
    saved = timezone.now() - timedelta(days=days)
    return Draft.objects.create(assignment=assignment, number=number, answers={"a": "typed"}, saved_at=saved)


def test_a_dry_run_lists_and_deletes_nothing() -> None:
    make_draft(days=91)
    said = run()
    assert "1  drafts of tasks that were given back or ran out of time" in said
    assert "older than 90 days" in said
    assert "Nothing was deleted.\nTo delete 1 row, run: manage.py retention --delete" in said
    assert Draft.objects.count() == 1


def test_old_drafts_go_and_those_of_tasks_in_progress_stay() -> None:
    old, young, open_task = make_draft(days=91), make_draft(days=89), make_draft(days=400, state="accepted")
    assert "Deleted: 1 row." in run("--delete")
    assert set(Draft.objects.all()) == {young, open_task}
    assert old.assignment_id in Assignment.objects.values_list("pk", flat=True)


def test_logs_stay_for_good_unless_the_settings_say_otherwise(settings: LazySettings) -> None:
    study = make_study(items=1)
    AuditEntry.objects.create(study=study, actor="a", action="b")
    before = AuditEntry.objects.count()
    with_age = timezone.now() - timedelta(days=4000)
    with transaction.atomic(), unprotected(AuditEntry):
        AuditEntry.objects.filter(action="b").update(created_at=with_age)
    run("--delete")
    assert AuditEntry.objects.count() == before
    settings.KEEP_LOG_DAYS = 3650
    run("--delete")
    assert AuditEntry.objects.count() == before - 1


def test_protected_rows_are_deleted_and_stay_protected(settings: LazySettings) -> None:
    settings.KEEP_LOG_DAYS = 10
    old: dict[str, Any] = {"at": timezone.now() - timedelta(days=11), "actor": "op"}
    AuditRow.objects.create(**old, kind="access", action="key created")
    AuditRow.objects.create(**old, kind="money", action="deposit")
    triggers = _triggers("marketplace_auditrow")
    assert triggers
    run("--delete")
    assert [row.action for row in AuditRow.objects.all()] == ["deposit"]
    assert _triggers("marketplace_auditrow") == triggers


def _triggers(table: str) -> list[Any]:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = %s::regclass ORDER BY 1", [table])
        else:
            cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [table])
        return list(cursor.fetchall())


def test_answers_are_never_deleted_by_age(settings: LazySettings) -> None:
    make_submission()
    before = [model.objects.count() for model in (Submission, Step, Rating)]
    assert all(before)
    for rule in retention.RULES:
        setattr(settings, rule.setting, 1)
    assert not {"annotation.Submission", "annotation.Step", "annotation.Rating"} & {r.model for r in retention.RULES}
    run("--delete")
    assert [model.objects.count() for model in (Submission, Step, Rating)] == before
