"""What is appended never changes: audit entries, reviews, flags and the server's log refuse UPDATE and DELETE."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, models, transaction

from accounts.log import record
from accounts.models import LogEntry
from annotation.models import AuditEntry, Flag, Item, Review, Study
from annotation.studies.storing import delete_draft
from annotation.work.excluding import review_submission
from tests.factories import make_researcher, make_study, make_submission

pytestmark = pytest.mark.django_db


@pytest.fixture
def rows() -> dict[type[models.Model], Any]:
    submission = make_submission(study=make_study())
    review_submission(submission=submission, decision="exclude", note="A script.", user=make_researcher("rev"))
    return {
        Flag: Flag.objects.create(submission=submission, reason="copied"),
        Review: Review.objects.get(),
        AuditEntry: AuditEntry.objects.get(action="review"),
        LogEntry: record(kind="users", actor="root", action="deactivated", about="eve"),
    }


CHANGES = {
    Flag: {"reason": "none"},
    Review: {"decision": "include"},
    AuditEntry: {"actor": "eve"},
    LogEntry: {"actor": ""},
}


@pytest.mark.parametrize("model", CHANGES)
def test_the_database_refuses_update_and_delete(model: type[models.Model], rows: Any) -> None:
    found = model._default_manager.filter(pk=rows[model].pk)
    before = found.values().get()
    with pytest.raises(IntegrityError, match="never changed after they are written"), transaction.atomic():
        found.update(**CHANGES[model])
    with pytest.raises(IntegrityError, match="never changed after they are written"), transaction.atomic():
        found.delete()
    assert found.values().get() == before


def test_a_user_who_reviewed_is_not_deleted(rows: Any) -> None:
    with pytest.raises(models.ProtectedError):
        rows[Review].user.delete()


def test_deleting_a_draft_keeps_its_entries_and_says_so_in_the_log() -> None:
    draft, other = make_study(live=False, items=2, title="Replies"), make_study(live=False)
    for study in (draft, other):
        AuditEntry.objects.create(study=study, actor="ann", action="create")
    number, slug = draft.pk, draft.slug
    delete_draft(study=draft, actor="bob")
    assert set(Study.objects.all()) == {other}
    assert not Item.objects.filter(study_id=number).exists()
    entries = AuditEntry.objects.filter(study_id=number).order_by("pk").values_list("actor", "action")
    assert list(entries) == [("ann", "create"), ("bob", "delete")]
    entry = LogEntry.objects.get(kind="studies")
    assert (entry.actor, entry.action, entry.about) == ("bob", "draft deleted", slug)
    assert entry.detail == {"title": "Replies", "task_type": draft.task_type, "items": 2, "number": number}
